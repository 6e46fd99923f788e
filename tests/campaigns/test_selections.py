"""Selections and retrainings that are interrupted, resumed and run on several engines give one result."""

import copy
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

import mutiny
import toys
from campaigns.interrupting import Counting, interrupted, plain
from mutiny.campaigns.stores.memory import MemoryStore
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.subjects.data import Noise
from mutiny.subjects.training import Recipe
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.parsing import as_methods

METHODS = "deepgini,dsa,mc-dropout,random,nss,kill-rate,deepgini+lsa"


def build():
    return nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 3))


def subject_of(**more):
    return toys.blob_subject(2, name="blobs", **more)


def select(store=None, engine=None, subject=None, **more):
    settings = {"method": METHODS, "budget": 9, "repeats": 2, "seed": 5, **more}
    return mutiny.select(subject or subject_of(), store=store, engine=engine, **settings)


def retrain(store=None, engine=None, subject=None, **more):
    recipe = Recipe(build, epochs=2, batch_size=16, learning_rate=0.01)
    settings = {"method": "deepgini,mc-dropout", "budget": 6, "epochs": 1, "repeats": 2, "seed": 5, **more}
    subject = subject or subject_of(recipe=recipe, pool=toys.blobs(90, seed=7))
    return mutiny.accuracy_after_retraining(subject, store=store, engine=engine, **settings)


@pytest.mark.parametrize(
    ("step", "more"), [(3, {}), (4, {"diverse": True, "method": "deepgini,dsa,mc-dropout,random"})]
)
def test_an_interrupted_selection_ends_as_an_undisturbed_one(tmp_path, step, more):
    count = len(more.get("method", METHODS).split(","))
    whole = Counting()
    undisturbed = select(engine=whole, **more)
    done, result = interrupted(partial(select, tmp_path / "a.mutiny", **more), step)
    assert plain(result) == plain(undisturbed)
    assert sorted(done) == sorted(whole.done)
    assert len(done) == (count - 1) * 2 + 1  # there is no dropout, which one job finds out
    assert list(result.skipped) == ["mc-dropout"]


def test_an_interrupted_retraining_ends_as_an_undisturbed_one(tmp_path):
    whole = Counting()
    undisturbed = retrain(engine=whole)
    done, result = interrupted(partial(retrain, tmp_path / "a.mutiny"), 3)
    assert plain(result) == plain(undisturbed)
    assert str(result) == str(undisturbed)
    assert sorted(done) == sorted(whole.done)
    assert len(done) == 2 * (1 + 3 + 3)
    again = Counting()
    assert plain(retrain(tmp_path / "a.mutiny", again)) == plain(undisturbed)
    assert again.done == []


def test_processes_and_serial_have_one_answer(one_thread, two_workers):
    assert plain(select(engine=two_workers)) == plain(select())


def test_processes_go_on_with_retraining_that_was_begun_here(tmp_path, one_thread, two_workers):
    with pytest.raises(KeyboardInterrupt):
        retrain(tmp_path / "a.mutiny", Counting(3))
    assert plain(retrain(tmp_path / "a.mutiny", two_workers)) == plain(retrain())


def test_one_method_says_the_same_whoever_came_before():
    """Evidence that methods share in one process must not change their scores."""
    together = {ranking.method: ranking for ranking in select(repeats=1, pool=toys.blobs(60)[0]).rankings}
    for name in [describe for describe in together if describe != "mc-dropout"]:
        alone = select(repeats=1, method=name, pool=toys.blobs(60)[0]).rankings[0]
        np.testing.assert_array_equal(alone.order, together[name].order)
        np.testing.assert_array_equal(alone.scores, together[name].scores)
        assert alone.notes == together[name].notes


def test_outputs_are_the_same_with_features_and_without():
    images = torch.rand(30, 1, 12, 12, generator=torch.Generator().manual_seed(0))
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(400, 3)).eval()
    made = [
        Evidence([model], mutiny.Classification(3, "logits"), mutiny.subjects.data.as_pool(images), batch_size=7)
        for _ in range(2)
    ]
    made[0].traces("pool", made[0].all_read_points.automatic("hidden"), "neuron")
    assert torch.equal(made[0].outputs(), made[1].outputs())


def test_a_finished_selection_is_shown_and_not_done_again(tmp_path):
    first, again = select(tmp_path / "a.mutiny"), Counting()
    second = select(tmp_path / "a.mutiny", again)
    assert again.done == []
    assert second.to_json() == first.to_json()
    assert repr(second) == repr(first)


def test_a_further_method_finds_what_the_others_did():
    store, engine = MemoryStore(), Counting()
    select(store, method="deepgini,random")
    both = select(store, engine, method="deepgini,dsa,random")
    assert engine.done == ["dsa, repeat 1", "dsa, repeat 2"]
    assert plain(both) == plain(select(method="deepgini,dsa,random"))


def test_another_budget_needs_no_new_ranking_unless_it_is_diverse():
    store, engine = MemoryStore(), Counting()
    quick = partial(select, store, method="deepgini,random")
    quick()
    assert quick(engine, budget=10).budget == 10
    assert engine.done == []
    quick(diverse=True)
    quick(engine, diverse=True, budget=10)
    assert "deepgini, repeat 1" in engine.done


@pytest.fixture(scope="module")
def done():
    store = MemoryStore()
    select(store, method="dsa", repeats=1)
    return store


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 6},
        {"method": "dsa(by=coverage)"},
        {"layers": "0"},
        {"mutate": Noise(sd=0.3)},
        {"batch_size": 7},
        {"originals": 1},
        {"subject": subject_of(train=toys.blobs(200))},
        {"subject": subject_of(test=toys.blobs(120, seed=2))},
        {"subject": subject_of(forward=lambda model, x: model(x) * 1.0)},
    ],
    ids=["seed", "method", "layers", "mutate", "batches", "originals", "train", "pool", "forward"],
)
def test_what_decides_a_result_makes_another_task(other, done):
    store, engine = copy.deepcopy(done), Counting()
    select(store, engine, **{"method": "dsa", "repeats": 1, **other})
    assert len(engine.done) == 1
    assert len(store.campaigns()) == 2


@dataclass(frozen=True)
class Crashing(mutiny.Selector):
    code: ClassVar[str] = "crashing"
    title: ClassVar[str] = "crashing"
    source: ClassVar[str] = "here"

    def score(self, evidence):
        raise MemoryError("no room")


def test_a_crash_costs_one_method_and_is_tried_again(tmp_path):
    file, methods = tmp_path / "a.mutiny", [*as_methods("deepgini"), Crashing(), *as_methods("random")]
    found = select(file, method=methods, repeats=1)
    assert [ranking.method for ranking in found.rankings] == ["deepgini", "random"]
    assert "MemoryError: no room" in found.skipped["crashing"]
    with SqliteStore(file, write=False) as store:
        (campaign,) = store.campaigns()
        assert not store.tally(campaign.id).finished
    engine = Counting()
    select(file, engine, method=methods, repeats=1)
    assert engine.done == ["crashing"]


def test_the_campaign_knows_its_verb(tmp_path):
    select(tmp_path / "a.mutiny", method="deepgini")
    retrain(tmp_path / "a.mutiny", method="deepgini", repeats=1)
    with SqliteStore(tmp_path / "a.mutiny", write=False) as store:
        assert [each.verb for each in store.campaigns()] == ["select", "accuracy_after_retraining"]
        assert all(store.tally(each.id).finished for each in store.campaigns())
