"""Notice rates that are interrupted, resumed and run on several engines are one result."""

import copy
import pickle

import numpy as np
import pytest

import mutiny
from campaigns.test_assessments import Counting, build_classifier, plain
from mutiny.campaigns.stores.memory import MemoryStore
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.subjects.training import Recipe
from toys import blob_subject, blobs

QUICK = {"operators": "GF,NEB,LR", "seeds": 2, "batch_size": 256}


def subject_of(**more):
    return blob_subject(**{"originals": 2, "validation": blobs(300, seed=7), "name": "blobs", **more})


def interrupted(subject, store, step, **more):
    """Assesses with an interrupt after every ``step`` jobs; returns all jobs that were run, and the result."""
    done = []
    while True:
        engine = Counting(step)
        try:
            result = mutiny.assess(subject, store=store, engine=engine, **more)
        except KeyboardInterrupt:
            done += engine.done
            continue
        return done + engine.done, result


def assert_same(result, other):
    assert plain(result) == plain(other)
    for name in ("fault", "position", "change", "weight", "inputs"):
        assert np.array_equal(getattr(result.changed, name), getattr(other.changed, name))


@pytest.fixture(scope="module")
def undisturbed():
    """The jobs that were done, and the result."""
    engine = Counting()
    return engine.done, mutiny.assess(subject_of(), engine=engine, **QUICK)


def test_an_interrupted_assessment_ends_as_an_undisturbed_one(tmp_path, undisturbed):
    jobs, whole = undisturbed
    done, result = interrupted(subject_of(), tmp_path / "a.mutiny", 5, **QUICK)
    assert_same(result, whole)
    assert sorted(done) == sorted(jobs)  # nothing twice, nothing left out
    loaded = mutiny.load_result(tmp_path / "a.mutiny")
    assert_same(loaded, whole)


def test_a_fault_search_is_a_small_job():
    """It carries what it searches, not networks, data or earlier faults."""
    sizes = []

    class Weighing(Counting):
        def run(self, work, jobs):
            yield from super().run(lambda job: sizes.append(len(pickle.dumps(job))) or work(job), jobs)

    mutiny.assess(subject_of(), engine=Weighing(), **QUICK)
    assert len(sizes) > 20
    assert max(sizes) < 4096


def test_processes_and_serial_have_one_answer_with_originals_that_hold_out_folds(tmp_path, one_thread, two_workers):
    recipe = Recipe(build_classifier, epochs=2, batch_size=64, learning_rate=0.02)
    subject = mutiny.Subject(recipe=recipe, task=mutiny.Classification(3), train=blobs(1300), test=blobs(90, seed=1))
    more = {**QUICK, "originals": 3}
    here = mutiny.assess(subject, folder=tmp_path / "one", **more)
    assert here.notice.reference.kind == "folds"
    more |= {"store": tmp_path / "a.mutiny", "folder": tmp_path / "two"}
    with pytest.raises(KeyboardInterrupt):
        mutiny.assess(subject, engine=Counting(8), **more)
    assert_same(mutiny.assess(subject, engine=two_workers, **more), here)


@pytest.fixture(scope="module")
def fuzzed():
    store = MemoryStore()
    return store, mutiny.assess(subject_of(), "GF", seeds=2, batch_size=256, store=store)


def test_a_finished_assessment_is_shown_and_not_done_again(fuzzed):
    store, first = copy.deepcopy(fuzzed[0]), fuzzed[1]
    engine = Counting()
    again = mutiny.assess(subject_of(), "GF", seeds=2, batch_size=256, store=store, engine=engine)
    assert again.to_json() == first.to_json()
    assert engine.done == []


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({"operators": "GF,NEB"}, {"NEB"}),
        ({"seed": 1}, {"original", "harmless", "GF"}),
        ({"judge": mutiny.PairedTest(alpha=0.01)}, {"original", "harmless", "GF"}),
        ({"exact": True}, {"original", "harmless", "GF"}),
        ({"batch_size": 7}, {"original", "harmless", "GF"}),
        ({"subject": subject_of(validation=blobs(300, seed=8))}, {"original", "harmless", "GF"}),
        ({"subject": subject_of(test=blobs(90, seed=1))}, {"original", "harmless", "GF"}),
        ({"subject": subject_of(forward=lambda model, x: model(x) * 1.0)}, {"original", "harmless", "GF"}),
    ],
    ids=["operators", "seed", "alpha", "exact", "batches", "validation", "test", "forward"],
)
def test_only_what_decides_a_job_makes_it_another(fuzzed, other, expected):
    settings = {"subject": subject_of(), "operators": "GF", "seeds": 2, "batch_size": 256, **other}
    store, engine = copy.deepcopy(fuzzed[0]), Counting()
    result = mutiny.assess(store=store, engine=engine, **settings)
    assert {name.split()[0] for name in engine.done} == expected
    assert_same(result, mutiny.assess(**settings))
    assert len(store.campaigns()) == 2


class Fails(Counting):
    """Fails the jobs of some faults."""

    def __init__(self, *arguments):
        super().__init__()
        self.arguments = arguments

    def run(self, work, jobs):
        def fragile(job):
            if job.kind == "faults" and tuple(job.arguments)[: len(self.arguments)] == self.arguments:
                raise MemoryError("no room")
            return work(job)

        yield from super().run(fragile, jobs)


def test_a_failed_harmless_change_is_told_and_tried_again(tmp_path, undisturbed):
    file = tmp_path / "a.mutiny"
    result = mutiny.assess(subject_of(), store=file, engine=Fails("", 1, 3), **QUICK)
    alarms = result.notice.false_alarms
    assert (alarms.changes, "MemoryError: no room" in alarms.failed) == (19, True)
    assert any("MemoryError: no room" in note for note in result.notes)
    assert mutiny.Assessment.from_json(result.to_json()) == result
    assert not result.complete
    engine = Counting()
    again = mutiny.assess(subject_of(), store=file, engine=engine, **QUICK)
    assert [name.split(" on ")[0] for name in engine.done] == ["harmless change"]
    assert_same(again, undisturbed[1])
    everything = mutiny.assess(subject_of(), engine=Fails(""), **QUICK).notice.false_alarms
    assert (everything.changes, everything.rate) == (0, None)


def test_a_failure_costs_one_operator_and_is_tried_again(tmp_path, undisturbed):
    file = tmp_path / "a.mutiny"
    result = mutiny.assess(subject_of(), store=file, engine=Fails("NEB"), **QUICK)
    operators = result.notice.operators
    assert {label for label, rate in operators.items() if rate.failed} == {"NEB"}
    assert "no room" in operators["NEB"].reason
    assert operators["GF"] == undisturbed[1].notice.operators["GF"]
    with SqliteStore(file, write=False) as store:
        (campaign,) = store.campaigns()
        tally = store.tally(campaign.id)
    assert "MemoryError: no room" in tally.failed[0].reason
    engine = Counting()
    again = mutiny.assess(subject_of(), store=file, engine=engine, **QUICK)
    assert engine.done
    assert all(name.startswith("NEB on") for name in engine.done)
    assert_same(again, undisturbed[1])
