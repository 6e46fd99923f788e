"""Claims: one holder at a time, in any thread, and no wait without an end."""

import asyncio
import os
import pickle
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from mutiny.core import claims
from mutiny.core.claims import Claim, exclusive, own_warnings
from mutiny.core.errors import BadInput

ENOUGH = 30
"""Seconds after which a test that hangs fails."""


def claim(*keys):
    return Claim(keys, "door", "+".join(keys))


def until_waiting(count=1):
    while len(claims._waiting) < count:
        time.sleep(0)


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    assert not claims._holders
    assert not claims._waiting
    assert not claims._entered.get()


@pytest.fixture
def threads():
    with ThreadPoolExecutor(4) as pool:
        yield pool


def test_one_thread_is_inside_at_a_time(threads):
    inside, most = [], []

    def enter(number):
        for _ in range(50):
            with claim("a"):
                inside.append(number)
                most.append(len(inside))
                time.sleep(0)
                inside.remove(number)

    for job in [threads.submit(enter, number) for number in range(4)]:
        job.result(ENOUGH)
    assert set(most) == {1}
    assert len(most) == 200


def test_sets_in_any_order_never_block_each_other(threads):
    names = "abcde"

    def enter(seed):
        draw = random.Random(seed)
        for _ in range(100):
            with claim(*draw.sample(names, 3)):
                time.sleep(0)

    for job in [threads.submit(enter, seed) for seed in range(4)]:
        job.result(ENOUGH)


def test_claims_are_granted_in_the_order_in_which_they_are_asked_for(threads):
    order = []

    def enter(*keys):
        with claim(*keys):
            order.append(keys)

    with claim("a"):
        jobs = []
        for number, keys in enumerate(["ab", "b", "a"], 1):
            jobs.append(threads.submit(enter, *keys))
            until_waiting(number)
        with claim("c"):  # who is inside does not wait behind those who wait for it
            assert not order  # "b" is free, but the first one would never get both if others passed it
    for job in jobs:
        job.result(ENOUGH)
    assert order[0] == ("a", "b")


def test_an_exception_and_an_interrupt_while_waiting_leave_nothing(threads, monkeypatch):
    with pytest.raises(ZeroDivisionError), claim("a"):
        _ = 1 / 0

    def interrupted(_):
        raise KeyboardInterrupt

    with claim("a"):
        job = threads.submit(lambda: claim("b", "a").__enter__())
        until_waiting()
        monkeypatch.setattr(claims._turn, "wait", interrupted)
        with claims._turn:
            claims._turn.notify_all()
        with pytest.raises(KeyboardInterrupt):
            job.result(ENOUGH)
    monkeypatch.undo()
    threads.submit(lambda: claim("a", "b").__enter__().__exit__()).result(ENOUGH)


def test_waiting_for_each_other_is_refused():
    both, refused = threading.Barrier(2), []

    def enter(first, second):
        with claim(first):
            both.wait(ENOUGH)
            try:
                with claim(second):
                    pass
            except BadInput as error:
                refused.append(str(error))

    pair = [threading.Thread(target=enter, args=keys) for keys in ("ab", "ba")]
    for thread in pair:
        thread.start()
    for thread in pair:
        thread.join(ENOUGH)
        assert not thread.is_alive()
    (sentence,) = refused  # the other one then goes on
    assert "expected a door that is not held by a thread which waits for this one. Take what both" in sentence


def test_a_longer_circle_is_refused():
    all_in, refused = threading.Barrier(3), []

    def enter(first, second):
        with claim(first):
            all_in.wait(ENOUGH)
            try:
                with claim(second):
                    pass
            except BadInput as error:
                refused.append(error)

    circle = [threading.Thread(target=enter, args=keys) for keys in ("ab", "bc", "ca")]
    for thread in circle:
        thread.start()
    for thread in circle:
        thread.join(ENOUGH)
        assert not thread.is_alive()
    assert len(refused) == 1


def test_a_thread_that_inherits_the_context_is_inside():
    async def main():
        with claim("a"):
            return await asyncio.to_thread(lambda: claim("a").__enter__().__exit__())

    asyncio.run(asyncio.wait_for(main(), ENOUGH))


def test_of_several_threads_inside_one_claim_one_at_a_time_holds_it():
    inside, most = [], []

    def enter():
        for _ in range(20):
            with claim("a"):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0)
                inside.pop()

    async def main():
        with claim("a"):
            await asyncio.gather(*(asyncio.to_thread(enter) for _ in range(3)))

    asyncio.run(asyncio.wait_for(main(), ENOUGH))
    assert set(most) == {1}


def test_a_task_does_not_wait_for_another_task_of_its_thread():
    async def hold(entered, leave):
        with claim("a"):
            entered.set()
            await leave.wait()

    async def main():
        entered, leave = asyncio.Event(), asyncio.Event()
        holding = asyncio.create_task(hold(entered, leave))
        await entered.wait()
        with pytest.raises(BadInput, match=r"door=a: expected a door that no other task of this thread uses\. That"):
            claim("a").__enter__()
        leave.set()
        await holding
        with claim("a"):
            pass

    asyncio.run(asyncio.wait_for(main(), ENOUGH))


def test_a_task_that_outlives_its_claim_is_no_longer_inside(threads):
    async def later(go):
        await go.wait()
        with claim("a"):
            pass

    async def main():
        go = asyncio.Event()
        with claim("a"):
            task = asyncio.create_task(later(go))
            await asyncio.sleep(0)
        with claim("b"):
            go.set()
            await task

    asyncio.run(asyncio.wait_for(main(), ENOUGH))


def test_claims_may_end_in_any_order(threads):
    first, second = claim("a"), claim("a", "b")
    first.__enter__()
    second.__enter__()
    first.__exit__()
    waiting = threads.submit(lambda: claim("a").__enter__().__exit__())
    until_waiting()
    second.__exit__()
    waiting.result(ENOUGH)


def test_parts_are_inside_in_any_thread_and_one_at_a_time(threads):
    inside, most = [], []

    def work(part):
        with part, claim("a"):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0)
            inside.pop()

    with claim("a") as whole:
        for job in [threads.submit(work, whole.part()) for _ in range(20)]:
            job.result(ENOUGH)
        work(whole.part())
    assert set(most) == {1}


def test_copies_hold_nothing(threads):
    with claim("a") as held:
        copied = pickle.loads(pickle.dumps(held))
        assert copied.keys == frozenset()
        threads.submit(lambda: copied.part().__enter__().__exit__()).result(ENOUGH)


def test_filters_of_warnings_are_as_before_whatever_overlaps(threads):
    import warnings

    before, both = list(warnings.filters), threading.Event()

    def ignore():
        with own_warnings("ignore"):
            both.wait(0.05)

    jobs = [threads.submit(ignore) for _ in range(3)]
    until_waiting(2)
    both.set()
    for job in jobs:
        job.result(ENOUGH)
    assert warnings.filters == before


FORK = """
import os, sys, threading
from mutiny.core.claims import Claim

class Model:
    pass

model, ready, leave = Model(), threading.Event(), threading.Event()

def hold():
    with Claim(["other", id(model)], "model", "Model", [model]), Claim(["state"], "state", "x"):
        ready.set()
        leave.wait()

threading.Thread(target=hold).start()
ready.wait()
with Claim(["mine"], "door", "mine"):
    child = os.fork()
    if child == 0:
        with Claim(["mine", "state", "free"], "door", "mine"):
            print("others", flush=True)
        try:
            Claim([id(model)], "model", "Model", [model]).__enter__()
        except ValueError as error:
            print(error, flush=True)
        grandchild = os.fork()
        if grandchild == 0:
            Claim(["mine"], "door", "mine").__enter__()
            os._exit(4)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]) + 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
leave.set()
with Claim(["mine", "other", "state"], "door", "mine"):
    print("free")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_other_threads_hold_is_neither_waited_for_nor_used_after_a_fork():
    told = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, text=True, timeout=ENOUGH)
    assert told.stderr == ""
    assert told.stdout.splitlines() == [
        "others",
        "model=Model: expected a model that no other thread used when this process was forked. Its weights may be "
        "those of a fault: load it again here, or fork when no call is running.",
        "5",
        "free",
    ]


def test_many_claims_of_many_threads_under_quick_switches(threads):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        counts = dict.fromkeys("abc", 0)

        def count(seed):
            draw = random.Random(seed)
            for _ in range(100):
                keys = draw.sample("abc", draw.randint(1, 3))
                with ExitStack() as stack:
                    stack.enter_context(claim(*keys))
                    stack.enter_context(exclusive("state"))
                    for key in keys:
                        now = counts[key]
                        time.sleep(0)
                        counts[key] = now + 1
            return seed

        jobs = [threads.submit(count, seed) for seed in range(4)]
        expected = dict.fromkeys("abc", 0)
        for job in jobs:
            draw = random.Random(job.result(ENOUGH))
            for _ in range(100):
                for key in draw.sample("abc", draw.randint(1, 3)):
                    expected[key] += 1
        assert counts == expected
    finally:
        sys.setswitchinterval(before)
