"""Campaigns of `strengthen`: the assessment is found, nothing is done twice, every engine has one answer."""

from dataclasses import replace
from functools import partial

import pytest
import torch

import mutiny
import toys
from campaigns.interrupting import Counting, interrupted, plain
from mutiny.campaigns.engines.processes import Processes
from mutiny.campaigns.stores.base import Campaign
from mutiny.campaigns.stores.memory import MemoryStore
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.verbs.strengthen.stored_assessment import finished
from reports.page.handmade import rated
from verbs.strengthen.tables import strengthen, weak_subject

OPERATORS = "NEB"


def begun(store=None, engine=None, **more):
    settings = {"assessment": None, "operators": OPERATORS, "seeds": 2, "budget": 6, "batch_size": 64, **more}
    return strengthen(1, store=store, engine=engine, **settings)


def test_a_finished_assessment_is_taken_whatever_its_settings():
    store = MemoryStore()
    result = mutiny.assess(weak_subject(1), OPERATORS, store=store, seeds=2, judge=mutiny.PairedTest(0.04))
    assessment = finished(store, weak_subject(1), None, None, 0, None)
    assert assessment.to_json() == result.to_json()
    engine = Counting()
    strengthened = begun(store, engine, operators=None, minimize=True)
    assert not [name for name in engine.done if name.startswith("harmless")]
    assert strengthened.notice.rate == result.notice.rate
    assert strengthened.settings["assessment"]["alpha"] == 0.04
    assert strengthened.settings["operators"] == [OPERATORS]


@pytest.mark.parametrize(
    ("subject", "labels", "originals", "seed"),
    [
        ({}, None, None, 1),
        ({}, ["GF"], None, 0),
        ({"originals": 2}, None, 2, 0),
        ({"name": "other"}, None, None, 0),
        ({"train": weak_subject(1).test}, None, None, 0),
        ({"validation": weak_subject(1).train}, None, None, 0),
    ],
    ids=["seed", "operators", "originals", "name", "train", "validation"],
)
def test_an_assessment_of_something_else_is_not(subject, labels, originals, seed):
    store = MemoryStore()
    mutiny.assess(weak_subject(1), OPERATORS, store=store, seeds=1)
    other = weak_subject(**{"originals": 1, **subject})
    assert finished(store, other, labels, originals, seed, None) is None


def test_an_interrupted_call_ends_as_an_undisturbed_one(tmp_path):
    whole = Counting()
    undisturbed = begun(engine=whole, minimize=True)
    done, result = interrupted(partial(begun, tmp_path / "a.mutiny", minimize=True), 9)
    assert plain(result) == plain(undisturbed)
    assert sorted(done) == sorted(whole.done)
    again = Counting()
    assert plain(begun(tmp_path / "a.mutiny", again, minimize=True)) == plain(undisturbed)
    assert again.done == []
    with SqliteStore(tmp_path / "a.mutiny", write=False) as store:
        assert [each.verb for each in store.campaigns()] == ["assess", "strengthen"]
        assert all(store.tally(each.id).finished for each in store.campaigns())


@pytest.mark.slow
def test_processes_and_serial_have_one_answer():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        whole = {"budget": 6, "seeds": 1, "minimize": True, "synthesize": 5}
        assert plain(strengthen(1, engine=Processes(2), **whole)) == plain(strengthen(1, **whole))
    finally:
        torch.set_num_threads(threads)


def test_another_budget_needs_no_new_faults():
    store, engine = MemoryStore(), Counting()
    begun(store)
    begun(store, engine)
    assert engine.done == []
    begun(store, engine, budget=7)
    assert [name for name in engine.done if "on original" in name] == []


@pytest.mark.parametrize("settings", [{}, {"seed": 0}, {"seed": 0, "alpha": "x", "exact": None}])
@pytest.mark.parametrize("of_result", [{}, {"operators": 5, "seeds": 1}, {"operators": ["WI"], "seeds": "x"}])
def test_an_assessment_whose_settings_mutiny_did_not_write_is_passed_over(settings, of_result):
    store = MemoryStore()
    store.open(Campaign("c1", "assess", "blobs", settings))
    store.finish("c1", replace(rated({"WI": [(3.0, True)]}, originals=1), settings=of_result))
    assert finished(store, toys.blob_subject(1), ["WI"], None, 0, None) is None
