"""Verbs in several threads: one at a time on a model, and the same results as one after the other."""

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
import torch
from torch import nn

import mutiny
import toys
from campaigns.interrupting import plain
from contracts.test_verbs import VERBS, subject, told, without_times
from mutiny.campaigns.engines.base import Engine, Intake, attempt
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.models import ModelState

ENOUGH = 60
"""Seconds after which a test that hangs fails."""


@pytest.fixture
def quick_switches():
    """Threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def as_arrays(x, y):
    return x, y


def together(calls):
    """The results of calls that start at the same time, each in a thread of its own."""
    start = threading.Barrier(len(calls))

    def run(call):
        start.wait(ENOUGH)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [job.result(ENOUGH) for job in [pool.submit(run, call) for call in calls]]


class Watched:
    """A forward function that records which thread runs a pass."""

    def __init__(self):
        self.threads = []

    def __call__(self, model, inputs):
        self.threads.append(threading.get_ident())
        return model(inputs)

    def turns(self):
        """Number of times that another thread went on."""
        return sum(first != second for first, second in pairwise(self.threads))


@pytest.mark.parametrize("verb", ["assess", "select", "locate", "repair by search", "attack", "strengthen"])
def test_two_calls_on_one_model_run_one_after_the_other(verb, quick_switches):
    model, forward = toys.classifier(), Watched()
    given = subject(as_arrays, model)
    given.forward = forward
    before, expected = ModelState.of(model), told(VERBS[verb](given))
    forward.threads.clear()
    results = together([lambda: VERBS[verb](given)] * 2)
    assert [told(result) for result in results] == [expected] * 2
    assert ModelState.of(model) == before
    assert forward.turns() <= 2 * 2  # the task is guessed before; then each call runs as a whole


def test_a_wrapper_and_subjects_that_share_an_original(quick_switches):
    first, second = toys.classifier(0), toys.classifier(1)
    calls = [
        lambda: mutiny.assess(subject(as_arrays, [first, second]), "GF", seeds=1),
        lambda: mutiny.assess(subject(as_arrays, [second, first]), "GF", seeds=1),
        lambda: mutiny.assess(subject(as_arrays, nn.Sequential(first).eval()), "GF", seeds=1),
        lambda: mutiny.select(first, "npc,kmnc", 5, pool=toys.blobs(100)[0], train=toys.blobs(240)),
    ]
    before, expected = [ModelState.of(first), ModelState.of(second)], [without_times(plain(call())) for call in calls]
    for _ in range(2):
        results = together(calls)
        assert [without_times(plain(result)) for result in results] == expected
        assert [ModelState.of(first), ModelState.of(second)] == before


def test_a_verb_waits_until_a_fault_is_undone():
    model, (x, _) = toys.classifier(), toys.blobs(60)
    (faulty,) = mutiny.mutants(model, "WS(ratio=1)", inputs=x, count=1)
    expected = mutiny.select(model, "deepgini", 10, pool=x).chosen.tolist()
    applied, waiting = threading.Event(), threading.Event()

    def hold():
        with faulty.applied() as call:
            applied.set()
            waiting.wait(0.2)  # before, the verb ran to its end in this time
            return call(x)

    with ThreadPoolExecutor(2) as pool:
        holding = pool.submit(hold)
        assert applied.wait(ENOUGH)
        selecting = pool.submit(mutiny.select, model, "deepgini", 10, pool=x)
        changed = holding.result(ENOUGH)
        assert selecting.result(ENOUGH).chosen.tolist() == expected
    assert not torch.equal(changed, model(x))


def test_calls_of_asyncio_to_thread(quick_switches):
    model = toys.classifier()
    before = ModelState.of(model)
    expected = [told(VERBS[verb](subject(as_arrays, model))) for verb in ("select", "locate", "attack")]

    async def main():
        calls = [asyncio.to_thread(VERBS[verb], subject(as_arrays, model)) for verb in ("select", "locate", "attack")]
        return await asyncio.wait_for(asyncio.gather(*calls), ENOUGH)

    for _ in range(4):
        assert [told(result) for result in asyncio.run(main())] == expected
        assert ModelState.of(model) == before


def test_calls_of_asyncio_to_thread_inside_of_a_fault(quick_switches):
    model, (x, _) = toys.classifier(), toys.blobs(60)
    (faulty,) = mutiny.mutants(model, "WS(ratio=1)", inputs=x, count=1)
    with faulty.applied():
        expected = mutiny.select(model, "deepgini", 10, pool=x).chosen.tolist()

    async def main():
        with faulty.applied():
            calls = [asyncio.to_thread(mutiny.select, model, "deepgini", 10, pool=x) for _ in range(3)]
            return await asyncio.wait_for(asyncio.gather(*calls), ENOUGH)

    assert [result.chosen.tolist() for result in asyncio.run(main())] == [expected] * 3
    assert mutiny.select(model, "deepgini", 10, pool=x).chosen.tolist() != expected


def test_calls_on_two_models_with_one_open_store(tmp_path, quick_switches):
    given = [subject(as_arrays, toys.classifier(number)) for number in range(2)]
    expected = [told(VERBS["assess"](each)) for each in given]
    with SqliteStore(tmp_path / "store") as store:
        results = together([lambda each=each: mutiny.assess(each, "GF,NEB", seeds=1, store=store) for each in given])
        assert [told(result) for result in results] == expected
        assert len(store.campaigns()) == 2
        assert all(store.tally(campaign.id).finished for campaign in store.campaigns())


def test_two_calls_on_one_model_with_one_file(tmp_path):
    given, file = subject(as_arrays, toys.classifier()), tmp_path / "store"
    first, second = together([lambda: mutiny.assess(given, "GF", seeds=1, store=file)] * 2)
    assert first.to_json() == second.to_json()  # the second one waits for the model, and finds the result


def with_dropout():
    return nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.2), nn.Linear(8, 3))


def test_trainings_in_two_threads(tmp_path, quick_switches):
    def trained(number, folder):
        recipe = mutiny.Recipe(with_dropout, epochs=9, batch_size=9)
        task = mutiny.Classification(3)
        sets = {"train": toys.blobs(90, seed=number), "test": toys.blobs(60)}
        return mutiny.Subject(task=task, recipe=recipe, **sets).originals(2, folder=folder)

    expected = [trained(number, tmp_path / "alone") for number in range(2)]
    results = together([lambda number=number: trained(number, tmp_path / "together") for number in range(2)])
    for models, wanted in zip(results, expected, strict=True):
        for model, other in zip(models, wanted, strict=True):
            assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))


class Threads(Engine):
    """An engine of someone else, which runs jobs in threads of this process."""

    def run(self, work, jobs):
        intake = Intake(jobs)
        with ThreadPoolExecutor(3) as pool:
            while batch := [pool.submit(attempt, work, job) for job in intake.take(3)]:
                for result in batch:
                    yield result.result(ENOUGH)


@pytest.mark.parametrize("originals", [1, None])
def test_an_engine_with_threads_has_the_results_of_one_without(tmp_path, originals, quick_switches):
    if originals is None:  # trained within the call, so that nobody else can have claimed them
        recipe = mutiny.Recipe(lambda: nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3)), epochs=3)
        sets = {"train": toys.blobs(240), "test": toys.blobs(90, seed=1), "validation": toys.blobs(120, seed=2)}
        given, count = mutiny.Subject(task=mutiny.Classification(3), recipe=recipe, **sets), 2
    else:
        given, count = subject(as_arrays, toys.classifier()), 1
    more = {"seeds": 1, "originals": count, "folder": tmp_path}
    expected = mutiny.assess(given, "GF,NEB,LR", **more)
    result = mutiny.assess(given, "GF,NEB,LR", engine=Threads(), **more)
    assert without_times(plain(result)) == without_times(plain(expected))


SPAWN = """
import multiprocessing, sys
import torch
import mutiny
import toys

def assess(engine, queue):
    model = toys.classifier()
    before = [weight.clone() for weight in model.parameters()]
    sets = {"data": toys.blobs(120, seed=1), "validation": toys.blobs(150, seed=2)}
    result = mutiny.assess(model, "GF,NEB", seeds=1, engine=engine, workers=None if engine == "serial" else 2, **sets)
    assert all(torch.equal(old, new) for old, new in zip(before, model.parameters()))
    queue.put((result.notice.rate, [fault.cost for fault in result.faults]))

def outer(engine, queue):
    child = multiprocessing.get_context("spawn").Process(target=assess, args=(engine, queue))
    child.start()
    child.join()

if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    queue, told = spawn.Queue(), []
    for target, engine in ((assess, "serial"), (outer, "processes")):
        child = spawn.Process(target=target, args=(engine, queue))
        child.start()
        told.append(queue.get(timeout=100))
        child.join()
    print(told[0] == told[1], len(told[0][1]) > 0)
"""


@pytest.mark.slow
def test_a_verb_in_a_spawned_child_of_a_spawned_child(tmp_path):
    script = tmp_path / "nested.py"
    script.write_text(SPAWN)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, str(script)]
    ran = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300)
    assert (ran.stdout, ran.stderr) == ("True True\n", "")


FORK = """
import os, threading
import torch
import mutiny
import toys
model, other, (x, _) = toys.classifier(), toys.classifier(1), toys.blobs(60)
(faulty,) = mutiny.mutants(model, "WS(ratio=1)", inputs=x, count=1)
expected = mutiny.select(other, "deepgini", 10, pool=x).chosen.tolist()
applied, leave = threading.Event(), threading.Event()

def hold():
    with faulty.applied():
        applied.set()
        leave.wait()

threading.Thread(target=hold).start()
applied.wait()
child = os.fork()
if child == 0:
    assert mutiny.select(other, "deepgini", 10, pool=x).chosen.tolist() == expected
    try:
        mutiny.select(model, "deepgini", 10, pool=x)
    except mutiny.BadInput as error:
        print(error, flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
leave.set()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_a_fork_uses_no_model_that_another_thread_had_changed(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=ENOUGH)
    sentence, code = told.stdout.splitlines()
    assert sentence.startswith("model=Sequential: expected a model that no other thread used when this process was")
    assert (code, told.stderr) == ("0", "")
