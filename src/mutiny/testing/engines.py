"""Contract suite for engines: checks everything that campaigns rely on.

>>> from mutiny.campaigns.engines.serial import Serial
>>> check_engine(Serial, workers=False)
"""

from __future__ import annotations

import itertools
import os
import re
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.engines.serial import Serial
from mutiny.campaigns.jobs import Job, JobResult
from mutiny.core.errors import BadInput, Diverged, MissingExtra, MutinyError, NotApplicable

AHEAD = 64
"""Largest number of long jobs that an engine may take in advance."""


def check_engine(make_engine: Callable[[], Engine], workers: bool = True) -> None:
    """Raises `AssertionError`, with a message, if an engine violates the contract.

    Args:
        make_engine: Function that returns an engine with a few workers.
        workers: Whether the engine runs jobs in other processes and must survive their death.
    """
    with make_engine() as engine:
        check_results(engine)
        check_waiting(engine)
        check_failures(engine)
        check_large(engine)
        check_patched(engine)
        if workers:
            check_crashes(engine)
        check_lazy(engine)
        check_results(engine)
    check_closing(make_engine)


def check_results(engine: Engine) -> None:
    """Each job has one result, which holds the same job object; work may be a local class or a lambda."""

    class Square:
        power = 2

        def __call__(self, job: Job) -> int:
            return int(job.arguments[0] ** self.power)

    for work in (Square(), lambda job: job.arguments[0] ** 2):
        for count in (0, 1, 50):
            jobs = [Job("square", (number,), name=f"job {number}") for number in range(count)]
            results = list(engine.run(work, iter(jobs)))
            assert len(results) == count, f"{engine}: {count} jobs gave {len(results)} results"
            assert {id(result.job) for result in results} == {id(job) for job in jobs}, (
                f"{engine}: results of other jobs"
            )
            wrong = [r for r in results if r.failure or r.value != r.job.arguments[0] ** 2 or r.seconds < 0]
            assert not wrong, f"{engine}: wrong results, such as {wrong[0]}"


def check_waiting(engine: Engine) -> None:
    """After ``None`` the engine asks again when it has a result, so a chain of dependent jobs runs to its end."""
    values: list[int] = []

    def chain() -> Iterator[Job | None]:
        for step in range(12):
            while len(values) < step:
                yield None
            yield Job("step", (step, values[-1] if values else 1))

    for result in engine.run(lambda job: job.arguments[0] + 2 * job.arguments[1], chain()):
        values.append(result.value)  # noqa: PERF401, the chain reads it in between
    expected = [2]
    for step in range(1, 12):
        expected.append(step + 2 * expected[-1])
    assert values == expected, f"{engine}: a chain of jobs gave {values}"
    stuck = itertools.chain([Job("a"), Job("b")], itertools.repeat(None))
    results = list(engine.run(lambda job: job.kind, stuck))
    assert sorted(r.value for r in results) == ["a", "b"], f"{engine}: did not end when nothing was left to wait for"


def check_failures(engine: Engine) -> None:
    """An exception in the work is a result with a reason; errors for the user keep their type and attributes."""

    def work(job: Job) -> int:
        if job.kind == "meant":
            raise _user_errors()[job.arguments[0]]
        if job.kind == "leave":
            sys.exit(5)
        return 1 // int(job.arguments[0])

    expected = _user_errors()
    jobs = [*(Job("meant", (index,)) for index in range(len(expected))), *(Job("divide", (n,)) for n in (1, 0))]
    jobs.append(Job("leave", (0,)))
    results = {(r.job.kind, r.job.arguments[0]): r for r in engine.run(work, jobs)}
    assert len(results) == len(jobs), f"{engine}: failures are missing"
    left = results["leave", 0]
    assert left.failure is not None, f"{engine}: code that calls sys.exit has no reason"
    assert left.failure.startswith("SystemExit: 5"), f"{engine}: the reason is {left.failure}"
    zero = results["divide", 0]
    assert zero.failure is not None, f"{engine}: a failed job has no reason"
    assert zero.failure.startswith("ZeroDivisionError: "), f"{engine}: the reason is {zero.failure}"
    assert (zero.value, zero.error) == (None, None), f"{engine}: a failed job has a value, or an error for the user"
    assert results["divide", 1].value == 1, f"{engine}: a failure spoils other results"
    for index, error in enumerate(expected):
        got = results["meant", index].error
        assert type(got) is type(error), f"{engine}: {type(error).__name__} came back as {got!r}"
        assert _text(got) == _text(error), f"{engine}: the message {error} came back as {got}"
        assert set(vars(got)) == set(vars(error)), f"{engine}: {got!r} came back without what it held"


def check_large(engine: Engine) -> None:
    """Large arrays and tensors are sent and returned unchanged, and are writable on both sides."""

    def work(job: Job) -> Any:
        array, tensor = job.given
        array += 1
        tensor *= 2
        return {"array": array, "tensor": tensor.t(), "empty": np.empty((0, 3))}

    array = np.arange(300_000, dtype=np.float64)
    tensor = torch.arange(300_000, dtype=torch.float32).reshape(300, 1000)
    jobs = [Job("large", (index,), given=(array.copy(), tensor.clone())) for index in range(2)]
    for result in engine.run(work, jobs):
        assert result.failure is None, f"{engine}: {result.failure}"
        value = result.value
        assert np.array_equal(value["array"], array + 1), f"{engine}: an array is not what it was"
        assert torch.equal(value["tensor"], 2 * tensor.t()), f"{engine}: a tensor is not what it was"
        assert value["empty"].shape == (0, 3), f"{engine}: an empty array is not what it was"
        value["array"][0] = value["tensor"][0, 0] = 7


def check_patched(engine: Engine) -> None:
    """Work that changes weights and restores them gives bit for bit the same values as in this process."""
    rng = torch.Generator().manual_seed(5)
    first = torch.nn.Linear(20, 32)
    net = torch.nn.Sequential(first, torch.nn.ReLU(), torch.nn.Linear(32, 4)).eval()
    inputs = torch.randn(64, 20, generator=rng)

    class Patched:
        def __init__(self) -> None:
            self.net, self.weight, self.inputs = net, first.weight, inputs

        def __call__(self, job: Job) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
            with torch.no_grad():
                before = self.weight.clone()
                self.weight[job.arguments[0]] *= -3.0
                patched = self.net(self.inputs).numpy()
                self.weight.copy_(before)
                return patched, self.net(self.inputs).numpy()

    jobs = [Job("patched", (neuron,)) for neuron in range(32)]
    here = {result.job.id: result.value for result in Serial().run(Patched(), jobs)}
    there = {result.job.id: result.value for result in engine.run(Patched(), jobs)}
    for job in jobs:
        for expected, value in zip(here[job.id], there[job.id], strict=True):
            assert np.array_equal(expected, value), f"{engine}: another result than in this process for {job}"


def check_crashes(engine: Engine) -> None:
    """A job that ends its process fails with a reason; all other jobs have their values."""

    def work(job: Job) -> int:
        if job.kind == "exit":
            sys.exit(3)
        if job.kind == "end":
            os._exit(3)
        return int(job.arguments[0])

    jobs = [Job("number", (number,)) for number in range(20)]
    results = list(engine.run(work, [*jobs[:7], Job("exit"), Job("end"), *jobs[7:]]))
    assert len(results) == 22, f"{engine}: {len(results)} results of 22 jobs, two of which end their process"
    for result in results:
        if result.job.kind == "number":
            assert result.value == result.job.arguments[0], f"{engine}: a dying process spoiled {result}"
        else:
            assert result.failure, f"{engine}: no failure of a job that ends its process"


def check_lazy(engine: Engine) -> None:
    """The engine takes jobs from an endless source only as it has room for them, and can be closed at any time."""
    taken = 0

    def endless() -> Iterator[Job]:
        nonlocal taken
        for taken in itertools.count(1):
            yield Job("slow", (taken,))

    results = engine.run(lambda _: time.sleep(0.03), endless())
    assert taken == 0, f"{engine}: took {taken} jobs before it was asked for a result"
    for count, _ in enumerate(itertools.islice(results, 40), 1):
        assert taken - count <= AHEAD, f"{engine}: holds {taken - count} jobs of 0.03 seconds each"
    _close(results)


def check_closing(make_engine: Callable[[], Engine]) -> None:
    """Closing the results of running jobs takes little time, and on this machine the workers that run them end."""
    engine = make_engine()
    with tempfile.TemporaryDirectory() as folder:

        def work(job: Job) -> tuple[str, int]:
            if job.kind == "long":
                (Path(folder) / str(os.getpid())).touch()
            time.sleep(job.arguments[0])
            return socket.gethostname(), os.getpid()

        jobs = [Job("who", (0.0,)), Job("who", (0.01,)), *(Job("long", (600.0, index)) for index in range(8))]
        results = engine.run(work, jobs)
        host, process = next(results).value
        next(results)  # now there is room for a long job
        in_worker = host == socket.gethostname() and process != os.getpid()
        if in_worker:
            assert _within(60, lambda: any(Path(folder).iterdir())), f"{engine}: no long job was started"
        start = time.monotonic()
        _close(results)
        assert time.monotonic() < start + 60, f"{engine}: closing took {time.monotonic() - start:.0f} seconds"
        if in_worker:  # a worker that is idle may stay
            left = [int(file.name) for file in Path(folder).iterdir()]
            ended = _within(60, lambda: not any(_is_alive(worker) for worker in left))
            assert ended, f"{engine}: left process {[worker for worker in left if _is_alive(worker)]} behind"


def _within(seconds: float, holds: Callable[[], Any]) -> bool:
    """Whether a condition holds at some time in the next ``seconds``."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _user_errors() -> list[MutinyError]:
    """Errors as operators raise them; one of them holds a value that cannot be pickled."""
    return [
        BadInput("alpha", 2, "a probability", "Use 0.05."),
        Diverged("loss", float("nan"), "a number"),
        MissingExtra("ray", "ray"),
        NotApplicable("no bias"),
        BadInput("lock", threading.Lock(), "something else"),
    ]


def _text(error: Exception | None) -> str:
    return re.sub("0x[0-9a-f]+", "0x", str(error))


def _close(results: Iterator[JobResult]) -> None:
    close = getattr(results, "close", None)
    assert close is not None, "run must give an iterator with a method close, as generators have"
    close()


def _is_alive(process: int) -> bool:
    """Whether a process runs and is not a zombie."""
    if sys.platform == "win32":
        return False  # there is no harmless way to check
    state = Path(f"/proc/{process}/stat")
    if Path("/proc/self/stat").exists():
        try:
            return state.read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
