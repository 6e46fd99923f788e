"""Attacks that are interrupted, resumed and run on several engines give one result."""

import copy
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

import mutiny
import toys
from campaigns.interrupting import Counting, interrupted, plain
from mutiny.campaigns.stores.memory import MemoryStore
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.verbs.attack.ensemble import Ensemble
from mutiny.verbs.attack.mutants import Choice
from mutiny.verbs.attack.pgd import Pgd
from mutiny.verbs.attack.result import MUTANTS

TEAM = Choice(2, iterations=4, ratios=(0.2, 0.4))
SETTINGS = {
    "attack": "pgd(iterations=4, step=0.1, random_start=true)",
    "eps": (0.05, 0.2),
    "mutants": TEAM,
    "count": 50,
    "low": -6.0,
    "high": 6.0,
    "batch_size": 33,
    "seed": 3,
}


def subject_of(**more):
    return toys.blob_subject(1, name="blobs", **more)


def attack(store=None, engine=None, subject=None, **more):
    return mutiny.attack(subject or subject_of(), store=store, engine=engine, **{**SETTINGS, **more})


def assert_same(one, other):
    assert plain(one) == plain(other)
    np.testing.assert_array_equal(one.indices, other.indices)
    assert torch.equal(one.inputs, other.inputs)
    for mine, theirs in zip(one.levels, other.levels, strict=True):
        assert list(mine.ways) == list(theirs.ways)
        for name, way in mine.ways.items():
            assert torch.equal(way.inputs, theirs.ways[name].inputs)
            np.testing.assert_array_equal(way.said, theirs.ways[name].said)


def test_an_interrupted_attack_ends_as_an_undisturbed_one(tmp_path):
    whole = Counting()
    undisturbed = attack(engine=whole)
    done, result = interrupted(partial(attack, tmp_path / "a.mutiny"), 3)
    assert_same(result, undisturbed)
    assert sorted(done) == sorted(whole.done)  # nothing twice, nothing left out
    assert len(done) == 2 + 2 * 4


@pytest.mark.slow
def test_processes_and_serial_have_one_answer(one_thread, two_workers):
    more = {"beside": ("fgsm",)}
    assert_same(attack(engine=two_workers, **more), attack(**more))


def test_processes_go_on_with_what_was_begun_here(tmp_path, one_thread, two_workers):
    more = {
        "attack": "carlini(iterations=3, searches=2)",
        "beside": ("carlini(iterations=2, searches=2)",),
        "count": 20,
    }
    file = tmp_path / "a.mutiny"
    with pytest.raises(KeyboardInterrupt):
        attack(file, Counting(3), **more)
    assert_same(attack(file, two_workers, **more), attack(**more))


def test_members_that_attack_as_one_network_do_so_everywhere(tmp_path, one_thread, monkeypatch):
    """The way to compute an ensemble is decided once, even if another process or machine would decide differently."""
    from mutiny.verbs.attack import ensemble as ensembles

    found = {}
    for joined in (True, False):
        monkeypatch.setattr(ensembles, "remembered", lambda *_, joined=joined: {"joined": joined})
        file = tmp_path / f"{joined}.mutiny"
        with pytest.raises(KeyboardInterrupt):
            attack(file, Counting(3))
        monkeypatch.setattr(ensembles, "remembered", lambda *_, joined=joined: {"joined": not joined})
        found[joined] = attack(file)
        with SqliteStore(file, write=False) as store:
            names = {each.id: store.tally(each.id).done for each in store.campaigns()}
        assert list(names.values()) == [{"mutants": 1, "clean": 1, "attack": 8}]
    monkeypatch.setattr(ensembles, "remembered", lambda *_: {"joined": True})
    assert_same(found[True], attack())
    monkeypatch.setattr(ensembles, "remembered", lambda *_: {"joined": False})
    assert_same(found[False], attack())


def test_a_finished_attack_is_shown_and_not_done_again(tmp_path):
    first, again = attack(tmp_path / "a.mutiny"), Counting()
    second = attack(tmp_path / "a.mutiny", again)
    assert again.done == []
    assert second.to_json() == first.to_json()
    assert repr(second) == repr(first)
    assert_same(second, first)


def test_a_further_distance_finds_what_the_others_did():
    store, engine = MemoryStore(), Counting()
    attack(store, eps=0.05)
    both = attack(store, engine, eps=(0.05, 0.2))
    assert sorted(engine.done) == sorted(f"{name} at 0.2" for name in both.levels[0].ways)
    assert_same(both, attack(eps=(0.05, 0.2)))


def test_other_mutants_leave_the_baselines(done):
    store, engine = copy.deepcopy(done), Counting()
    attack(store, engine, mutants=Choice(2, iterations=5, ratios=(0.2, 0.4)))
    assert sorted(engine.done) == ["2 mutants", "mutants at 0.05", "mutants at 0.2"]


class Doubled(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return 2 * self.inner(x)


@pytest.fixture(scope="module")
def done():
    store = MemoryStore()
    attack(store)
    return store


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 4},
        {"attack": "pgd(iterations=4, step=0.11, random_start=true)"},
        {"combine": "logits"},
        {"count": 49},
        {"high": 6.5},
        {"batch_size": 32},
        {"subject": subject_of(models=[toys.classifier(1)])},
        {"subject": subject_of(models=[Doubled(toys.classifier()).eval()])},
        {"subject": subject_of(test=toys.blobs(120, seed=2))},
        {"subject": subject_of(forward=lambda model, x: model(x) * 1.0)},
    ],
    ids=["seed", "attack", "combine", "count", "range", "batches", "weights", "code", "data", "forward"],
)
def test_what_decides_a_result_makes_another_task(other, done):
    store, engine = copy.deepcopy(done), Counting()
    attack(store, engine, **other)
    assert "mutants at 0.05" in engine.done
    assert len(store.campaigns()) == 2


def test_an_attack_of_ones_own_counts_by_its_code(tmp_path):
    def kind_of(sign):
        class Own(Pgd):
            def length(self, eps):
                return sign * super().length(eps)

        return Own(iterations=2)

    store, engine = MemoryStore(), Counting()
    one = attack(store, attack=kind_of(1.0))
    assert one.attack == attack(store, engine, attack=Pgd(iterations=2)).attack
    assert "mutants at 0.05" in engine.done


def test_a_model_without_a_subject_is_kept_too(tmp_path):
    x, y = toys.blobs(60)
    settings = {"data": (x, y), "attack": "fgsm", "eps": 0.1, "mutants": 0, "low": -9, "high": 9}
    first, engine = mutiny.attack(toys.classifier(), store=tmp_path / "a.mutiny", **settings), Counting()
    assert plain(mutiny.attack(toys.classifier(), store=tmp_path / "a.mutiny", engine=engine, **settings)) == plain(
        first
    )
    assert engine.done == []


def test_trying_which_way_is_faster_does_not_count(tmp_path, monkeypatch):
    """Non-finite gradients are counted in the attack only, not in the trial that finds the faster way to compute it."""
    monkeypatch.setenv("MUTINY_CACHE", str(tmp_path))
    model = toys.classifier()
    patches = [one.patch for one in mutiny.verbs.attack.attack.mutants_of(model, TEAM, data=toys.blobs(60))]
    x, y = toys.blobs(40)
    counts = []
    for _ in range(2):
        ensemble = Ensemble(model, patches)
        ensemble.slope(x, lambda said: said[:, 0] * torch.where(y == 0, torch.nan, 1.0))
        counts.append((ensemble.passes, ensemble.undefined))
    assert counts[0] == counts[1]
    assert counts[0][0] == 40 * 3


def test_the_store_keeps_new_inputs(tmp_path):
    found = attack(tmp_path / "a.mutiny")
    with SqliteStore(tmp_path / "a.mutiny", write=False) as store:
        (campaign,) = store.campaigns()
        assert campaign.verb == "attack"
        kept = store.outcome(campaign.id)
    assert torch.equal(kept.levels[0].ways[MUTANTS].inputs, found.levels[0].ways[MUTANTS].inputs)
