"""`locate` and `repair`, interrupted, resumed, and on other engines: one answer."""

from functools import partial

import numpy as np
import pytest
import torch

import mutiny
import toys
from campaigns.interrupting import Counting, interrupted, plain
from mutiny.campaigns.stores.memory import MemoryStore
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import BadInput
from verbs.repair.spoilt import QUICK, data, faulty


def subject_of(**more):
    return toys.blob_subject(1, **{"models": [faulty()[0]], "test": data(300), "name": "blobs", **more})


def locate(store=None, engine=None, subject=None, **more):
    settings = {"k": 3, "validate": 5, "by_class": True, "seed": 2, **more}
    return mutiny.locate(subject or subject_of(), store=store, engine=engine, **settings)


def repair(store=None, engine=None, subject=None, **more):
    settings = {"method": QUICK["scale"], "seed": 2, **more}
    return mutiny.repair(subject or subject_of(), store=store, engine=engine, **settings)


@pytest.mark.parametrize(
    ("step", "more"), [(1, {}), (3, {"label": 1, "active": "quantile(share=0.6)"})], ids=["all", "class"]
)
def test_an_interrupted_location_ends_as_an_undisturbed_one(tmp_path, step, more):
    whole = Counting()
    undisturbed = locate(engine=whole, **more)
    done, result = interrupted(partial(locate, tmp_path / "a.mutiny", **more), step)
    assert plain(result) == plain(undisturbed)
    assert result.ablation is not None
    np.testing.assert_array_equal(result.spectrum.active, undisturbed.spectrum.active)
    assert sorted(done) == sorted(whole.done)
    assert len(done) == 1 + 1 + 1 + 5
    again = Counting()
    second = locate(tmp_path / "a.mutiny", again, **more)
    assert again.done == []
    assert second.to_json() == result.to_json()
    assert second.ranked("tarantula") == undisturbed.ranked("tarantula")


@pytest.mark.parametrize("method", QUICK)
def test_a_repair_is_kept(tmp_path, method):
    file, undisturbed = tmp_path / "a.mutiny", repair(method=QUICK[method])
    with pytest.raises(KeyboardInterrupt):
        repair(file, Counting(0), method=QUICK[method])
    first = repair(file, method=QUICK[method])
    again = Counting()
    second = repair(file, again, method=QUICK[method])
    assert again.done == []
    assert plain(first) == plain(second) == plain(undisturbed)
    assert second.to_json() == first.to_json()
    for mine, theirs in zip(second.model().parameters(), undisturbed.model().parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_what_a_store_has_of_a_repair_knows_no_model(tmp_path):
    repair(tmp_path / "a.mutiny")
    with SqliteStore(tmp_path / "a.mutiny", write=False) as store:
        (campaign,) = store.campaigns()
        kept = store.outcome(campaign.id)
    assert kept.patch.edits
    with pytest.raises(BadInput, match="stores and JSON hold no models"):
        kept.model()


@pytest.mark.parametrize("verb", [locate, repair])
def test_processes_and_serial_have_one_answer(one_thread, two_workers, verb):
    assert plain(verb(engine=two_workers)) == plain(verb())


def even(inputs, outputs):
    return outputs.argmax(1) == 0


def odd(inputs, outputs):
    return outputs.argmax(1) == 1


@pytest.mark.parametrize(
    ("other", "new"),
    [
        ({"seed": 3}, 8),
        ({"oracle": odd}, 8),
        ({"at": "output"}, 8),
        ({"active": 0.2}, 8),
        ({"batch_size": 7}, 8),
        ({"subject": subject_of(test=data(290))}, 8),
        ({"subject": subject_of(models=[toys.classifier()])}, 8),
        ({"validate": 6}, 1),
        ({"measure": "tarantula", "validate": 0}, 0),
    ],
    ids=["seed", "oracle", "at", "active", "batches", "data", "weights", "draws", "measure"],
)
def test_what_decides_a_location_makes_other_tasks(other, new):
    store, engine = MemoryStore(), Counting()
    locate(store, oracle=even)
    locate(store, engine, **{"oracle": even, **other})
    assert len(engine.done) == new
    assert len(store.campaigns()) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 3},
        {"method": "scale(generations=24)"},
        {"target": "confusion"},
        {"shares": (0.4, 0.3, 0.3)},
        {"layers": "0"},
        {"subject": subject_of(test=data(290))},
    ],
    ids=["seed", "method", "target", "shares", "layers", "data"],
)
def test_what_decides_a_repair_makes_another_task(other):
    store, engine = MemoryStore(), Counting()
    repair(store)
    repair(store, engine, **other)
    assert len(engine.done) == 1
