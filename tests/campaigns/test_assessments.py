"""Assessments that are interrupted, resumed and run on several engines give one result."""

import copy
import shutil
import sqlite3
from contextlib import closing

import pytest
from torch import nn

import mutiny
from campaigns.interrupting import LastFirst
from mutiny.campaigns.engines.serial import Serial
from mutiny.campaigns.stores.memory import MemoryStore
from mutiny.campaigns.stores.salvage import salvage
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.faults.evaluation import Screening
from mutiny.subjects.training import Recipe
from mutiny.verbs.assess.muff.judge import MutantJudge
from toys import blobs, classifier

QUICK = mutiny.Search(max_probes=4, k_max=2)
TEXT = "WI,NI,GF,LA"
SCREENED = {
    "operators": "WI",
    "search": QUICK,
    "screening": Screening(fewest=1000, least_work=0),
    "batch_size": 256,
}


def subject_of(count=3, **more):
    models = [classifier(seed) for seed in range(count)]
    return mutiny.Subject(
        models, task=mutiny.Classification(3), train=blobs(), test=blobs(120, seed=1), name="blobs", **more
    )


def screened(**more):
    return mutiny.Subject(
        [classifier(seed) for seed in range(5)],
        task=mutiny.Classification(3),
        train=blobs(8000),
        test=blobs(7000, seed=1),
        **more,
    )


def build_classifier():
    return nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 3))


def plain(result):
    told = result.to_json()
    return {name: value for name, value in told.items() if name != "timing"}


class Counting(Serial):
    """Counts jobs, and is interrupted after a given number of them."""

    def __init__(self, most=10**9):
        self.done, self.most = [], most

    def run(self, work, jobs):
        def counted(job):
            if len(self.done) >= self.most:
                raise KeyboardInterrupt
            self.done.append(str(job))
            return work(job)

        yield from super().run(counted, jobs)


def interrupted(subject, store, step, **more):
    """Assesses with an interrupt after every ``step`` jobs; returns all jobs that were run, and the result."""
    done = []
    while True:
        engine = Counting(step)
        try:
            result = mutiny.assess(subject, store=store, engine=engine, **more, method="muff")
        except KeyboardInterrupt:
            done += engine.done
            continue
        return done + engine.done, result


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished campaign of `SCREENED`: its file, the jobs that were done, and the result."""
    file, whole = tmp_path_factory.mktemp("finished") / "finished.mutiny", Counting()
    undisturbed = mutiny.assess(screened(), store=file, engine=whole, **SCREENED, method="muff")
    return file, whole.done, undisturbed


@pytest.mark.parametrize(("step", "operators"), [(1, "WI"), (7, TEXT)])
def test_an_interrupted_assessment_ends_as_an_undisturbed_one(tmp_path, step, operators):
    more, whole = {"operators": operators, "search": QUICK}, Counting()
    undisturbed = mutiny.assess(subject_of(), engine=whole, **more, method="muff")
    done, result = interrupted(subject_of(), tmp_path / "a.mutiny", step, **more)
    assert_same(result, undisturbed)
    assert sorted(done) == sorted(whole.done)  # nothing twice, nothing left out


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 7])
def test_an_interrupted_screening_ends_as_an_undisturbed_one(tmp_path, finished, step):
    _, all_jobs, undisturbed = finished
    done, result = interrupted(screened(), tmp_path / "a.mutiny", step, **SCREENED)
    assert_same(result, undisturbed)
    assert sorted(done) == sorted(all_jobs)


def assert_same(result, undisturbed):
    assert plain(result) == plain(undisturbed)
    assert result.kills.keys() == undisturbed.kills.keys()
    for key, bits in undisturbed.kills.items():
        assert (result.kills[key].kills() == bits.kills()).all()


def test_screening_depends_on_what_it_remembers(monkeypatch, finished):
    """Ensures that the tests of interrupts cover stored memories."""
    _, _, remembering = finished
    monkeypatch.setattr(MutantJudge, "pieces", lambda *_: ())
    assert plain(mutiny.assess(screened(), **SCREENED, method="muff"))["evaluation"] != plain(remembering)["evaluation"]


def test_faults_before_training_survive_as_well(tmp_path):
    recipe = Recipe(build_classifier, epochs=2, batch_size=16, learning_rate=0.01)

    def make():
        return mutiny.Subject(recipe=recipe, task=mutiny.Classification(3), train=blobs(90), test=blobs(90, seed=1))

    more = {"operators": "HNE,OCH(optimizer=sgd),WI", "search": QUICK, "originals": 3}
    undisturbed = mutiny.assess(make(), folder=tmp_path / "one", **more, method="muff")
    _, result = interrupted(make(), tmp_path / "a.mutiny", 7, folder=tmp_path / "two", **more)
    assert plain(result) == plain(undisturbed)
    assert result.trainings == undisturbed.trainings > 0


def test_processes_and_serial_have_one_answer(tmp_path, one_thread, two_workers):
    recipe = Recipe(build_classifier, epochs=2, batch_size=16, learning_rate=0.01)
    subject = mutiny.Subject(recipe=recipe, task=mutiny.Classification(3), train=blobs(90), test=blobs(90, seed=1))
    more = {"operators": "LA,HNE", "search": QUICK, "originals": 3, "method": "muff"}
    here = mutiny.assess(subject, folder=tmp_path / "one", **more)
    more |= {"store": tmp_path / "a.mutiny", "folder": tmp_path / "two"}
    with pytest.raises(KeyboardInterrupt):
        mutiny.assess(subject, engine=Counting(4), **more)
    assert plain(mutiny.assess(subject, engine=two_workers, **more)) == plain(here)


def test_the_order_in_which_jobs_end_changes_nothing(tmp_path):
    recipe = Recipe(build_classifier, epochs=2, batch_size=16, learning_rate=0.01)
    subject = mutiny.Subject(recipe=recipe, task=mutiny.Classification(3), train=blobs(90), test=blobs(90, seed=1))
    for number, operators in enumerate(("TCL,HBS,HNE", "WI,LA")):
        more = {"operators": operators, "search": QUICK, "originals": 3, "method": "muff"}
        here = mutiny.assess(subject, folder=tmp_path / f"{number} one", **more)
        there = mutiny.assess(subject, folder=tmp_path / f"{number} two", engine=LastFirst(), **more)
        assert plain(there) == plain(here)


def test_a_finished_assessment_is_shown_and_not_done_again(tmp_path):
    first = mutiny.assess(subject_of(), TEXT, search=QUICK, store=tmp_path / "a.mutiny", method="muff")
    again = Counting()
    second = mutiny.assess(subject_of(), TEXT, search=QUICK, store=tmp_path / "a.mutiny", engine=again, method="muff")
    assert second.to_json() == first.to_json()
    assert again.done == []


def test_a_further_operator_finds_what_the_others_did(tmp_path):
    store = MemoryStore()
    mutiny.assess(subject_of(), "WI", search=QUICK, store=store, method="muff")
    engine = Counting()
    both = mutiny.assess(subject_of(), "WI,GF", search=QUICK, store=store, engine=engine, method="muff")
    assert engine.done
    assert all(name.startswith("GF at") for name in engine.done)
    assert plain(both) == plain(mutiny.assess(subject_of(), "WI,GF", search=QUICK, method="muff"))
    assert len(store.campaigns()) == 2


@pytest.fixture(scope="module")
def inhibited():
    store = MemoryStore()
    mutiny.assess(subject_of(), "WI", search=QUICK, store=store, method="muff")
    return store


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 1},
        {"rule": mutiny.KillRule(alpha=0.01)},
        {"search": mutiny.Search(max_probes=5, k_max=2)},
        {"batch_size": 7},
        {"subject": subject_of(4)},
        {"subject": subject_of(forward=lambda model, x: model(x) * 1.0)},
    ],
    ids=["seed", "rule", "search", "batches", "originals", "forward"],
)
def test_what_decides_a_result_makes_another_task(other, inhibited):
    store = copy.deepcopy(inhibited)
    engine, settings = Counting(), {"subject": subject_of(), "search": QUICK, **other}
    mutiny.assess(settings.pop("subject"), "WI", store=store, engine=engine, **settings, method="muff")
    assert any(name.startswith("WI at") for name in engine.done)


def test_a_failure_costs_one_operator_and_is_tried_again(tmp_path):
    class Fails(Counting):
        def run(self, work, jobs):
            def fragile(job):
                if job.kind == "probe" and job.arguments[0] == "GF":
                    raise MemoryError("no room")
                return work(job)

            yield from super().run(fragile, jobs)

    file = tmp_path / "a.mutiny"
    result = mutiny.assess(subject_of(), TEXT, search=QUICK, store=file, engine=Fails(), method="muff")
    status = {record.code: record.status for record in result.operators}
    assert status["GF"] == "failed"
    assert status["WI"] != "failed" != status["LA"]
    with SqliteStore(file, write=False) as store:
        (campaign,) = store.campaigns()
        tally = store.tally(campaign.id)
    assert tally.finished
    assert "MemoryError: no room" in tally.failed[0].reason
    engine = Counting()
    again = mutiny.assess(subject_of(), TEXT, search=QUICK, store=file, engine=engine, method="muff")
    assert all(name.startswith("GF at") for name in engine.done)
    assert plain(again) == plain(mutiny.assess(subject_of(), TEXT, search=QUICK, method="muff"))


def test_a_search_that_failed_half_way_goes_on_with_what_it_remembers(tmp_path, finished):
    class FailsOnce(Counting):
        def run(self, work, jobs):
            def fragile(job):
                if job.kind == "probe" and len(job.arguments[3]) == 3:
                    raise MemoryError("no room")
                return work(job)

            yield from super().run(fragile, jobs)

    more = SCREENED
    file = tmp_path / "a.mutiny"
    records = mutiny.assess(screened(), store=file, engine=FailsOnce(), **more, method="muff").operators
    assert [record.status for record in records] == ["failed"]
    told = salvage(file, tmp_path / "new.mutiny")
    assert told.lost == told.notes == ()
    again = mutiny.assess(screened(), store=file, **more, method="muff")
    assert plain(again) == plain(finished[2])
    with SqliteStore(tmp_path / "new.mutiny", write=False) as store:
        tally = store.tally(store.campaigns()[0].id)
    assert (tally.finished, sum(tally.done.values())) == (False, told.results)  # what failed is still to be done
    engine = Counting()
    assert plain(
        mutiny.assess(screened(), store=tmp_path / "new.mutiny", engine=engine, **more, method="muff")
    ) == plain(again)
    with SqliteStore(file, write=False) as store:
        assert len(engine.done) == sum(store.tally(store.campaigns()[0].id).done.values()) - told.results


def lose(file, name):
    """A finished campaign as a salvage may leave it: without one result and without an outcome."""
    with closing(sqlite3.connect(file)) as connection:
        (number,) = connection.execute("SELECT number FROM tasks WHERE name = ?", (name,)).fetchone()
        connection.execute("DELETE FROM results WHERE task = ?", (number,))
        connection.execute("UPDATE tasks SET seconds = NULL WHERE number = ?", (number,))
        connection.execute("DELETE FROM outcomes")
        connection.commit()


@pytest.mark.parametrize(("split", "place"), [("train", 0), ("train", 3), ("test", 1)])
def test_a_lost_result_costs_what_its_own_search_did_before(tmp_path, finished, split, place):
    more, file = SCREENED, tmp_path / "a.mutiny"
    whole, done, undisturbed = finished
    shutil.copyfile(whole, file)
    search = [name for name in done if name.startswith("WI at") and name.endswith(f"on {split}")]
    lose(file, search[place])
    engine = Counting()
    again = mutiny.assess(screened(), store=file, engine=engine, **more, method="muff")
    assert plain(again) == plain(undisturbed)
    assert engine.done == search[: place + 1]
    lose(file, search[place])
    done, resumed = interrupted(screened(), file, 1, **more)
    assert plain(resumed) == plain(undisturbed)
    assert done == search[: place + 1]  # what was made once more survives as well


def test_originals_whose_files_are_gone_are_trained_by_the_workers_again(tmp_path, one_thread, two_workers):
    recipe = Recipe(build_classifier, epochs=2, batch_size=16, learning_rate=0.01)
    subject = mutiny.Subject(recipe=recipe, task=mutiny.Classification(3), train=blobs(), test=blobs(90, seed=1))
    file = tmp_path / "a.mutiny"
    more = {"operators": "WI", "search": mutiny.Search(max_probes=2, k_max=3), "originals": 2, "store": file}
    first = mutiny.assess(subject, engine=two_workers, folder=tmp_path / "one", **more, method="muff")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DELETE FROM outcomes")
        connection.commit()
    again = mutiny.assess(subject, engine=two_workers, folder=tmp_path / "two", **more, method="muff")
    assert plain(again) == plain(first)
    with closing(sqlite3.connect(file)) as connection:
        query = "SELECT kind, sum(attempts) FROM wanted JOIN tasks ON task = number GROUP BY kind"
        attempts = dict(connection.execute(query))
    assert attempts["original"] == 4
    assert attempts["clean"] == 4  # train and test of two originals, once
