"""Contract suite for stores on disk: saved results survive a kill of the process at any moment."""

from __future__ import annotations

import importlib
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mutiny.campaigns.jobs import Job, JobResult, WithScratch
from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.core.errors import StoreBusy

CAMPAIGN = Campaign("survival", "assess", "digits")


def check_survival(opener: str, path: Path, kills: int = 20, seed: int = 0) -> int:
    """Raises `AssertionError` if a store loses results that it had acknowledged to processes that were killed.

    Args:
        opener: ``module:name`` of a function that opens the store at a path for writing.
        path: Path of a store that does not exist yet.
        kills: Number of processes that write to the store and are killed, one after the other.
        seed: Seed of the moments at which they are killed.

    Returns:
        Number of results that were saved in total.
    """
    draw, saved = random.Random(seed), 0
    for _ in range(kills):
        acknowledged = _kill(opener, path, saved, draw.random() ** 2 * 0.6)
        store = _opened(opener)(path)  # this also takes over the lock of the killed process
        count = 0
        while (kept := store.load(_job(count))) is not None:
            value, scratch = _value(count)
            assert np.array_equal(kept.value, value), f"result {count} is not what was saved"
            assert kept.scratch is None or np.array_equal(kept.scratch, scratch), (
                f"scratch {count} is not what was saved"
            )
            count += 1
        assert count >= acknowledged, f"{acknowledged} results were acknowledged, {count} are there"
        assert count <= acknowledged + 1, f"{count} results are there, {acknowledged} were acknowledged"
        if count:
            tally = store.tally(CAMPAIGN.id)
            assert tally.done == {"survival": count}, f"{count} results are there, the tally is {tally.done}"
            assert len(tally.begun) <= 1, f"{tally.begun} were under way, of a writer that does one after the other"
        store.close()
        saved = count
    return saved


def check_one_writer(opener: str, path: Path) -> None:
    """Raises `AssertionError` if a store can be opened for writing twice, by two processes or by this one."""
    process = _start(opener, path, 0)
    try:
        assert process.stdout
        assert process.stdout.readline(), "the writer saved nothing"
        _refused(opener, path, str(process.pid))
    finally:
        process.kill()
        process.communicate()
    store = _opened(opener)(path)
    _refused(opener, path, "this process")
    store.close()
    _opened(opener)(path).close()


def check_reader(opener: str, reader: Callable[[Path], Store], path: Path, seconds: float = 2.0) -> int:
    """Raises `AssertionError` if a store cannot be read while another process writes it.

    Args:
        opener: ``module:name`` of a function that opens the store at a path for writing.
        reader: Function that opens the store at a path for reading.
        path: Path of a store that does not exist yet.
        seconds: Duration of the check.

    Returns:
        Number of reads.
    """
    process, reads = _start(opener, path, 0), 0
    try:
        assert process.stdout
        assert process.stdout.readline(), "the writer saved nothing"
        end, last = time.monotonic() + seconds, 0
        store = reader(path)
        while time.monotonic() < end:
            done = store.tally(CAMPAIGN.id).done.get("survival", 0)
            assert done >= last, "what was done is undone for a reader"
            last, reads = done, reads + 1
            if done:
                kept = store.load(_job(done - 1))
                assert kept is not None, "the tally counts a result that is not there"
                assert np.array_equal(kept.value, _value(done - 1)[0]), "a reader sees another value"
        assert process.poll() is None, "the writer died"
        store.close()
        assert last > 1, "the reader never saw anything new"
    finally:
        process.kill()
        process.communicate()
    return reads


def _refused(opener: str, path: Path, holder: str) -> None:
    message = ""
    try:
        _opened(opener)(path).close()
    except StoreBusy as error:
        message = str(error)
    assert message, "two writers at once"
    assert holder in message, f"the refusal does not name {holder}: {message}"


def _kill(opener: str, path: Path, start: int, delay: float) -> int:
    """Starts a writer and kills it; returns the number of results that it and those before it acknowledged."""
    process = _start(opener, path, start)
    assert process.stdout
    first = process.stdout.readline()  # waits until it has opened the store
    assert first, "the writer died by itself"
    time.sleep(delay)
    process.kill()
    lines = (first + process.communicate()[0]).split()
    return int(lines[-1]) + 1 if lines[-1] != "open" else start


def _start(opener: str, path: Path, start: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "mutiny.testing.store_survival", opener, str(path), str(start)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _opened(name: str) -> Callable[[Path], Store]:
    module, _, attribute = name.partition(":")
    found: Callable[[Path], Store] = getattr(importlib.import_module(module), attribute)
    return found


def _job(number: int) -> Job:
    return Job("survival", (number,), name=f"number {number}")


def _value(number: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], list[int]]:
    draw = np.random.default_rng(number)
    return draw.random(int(10 ** draw.uniform(0, 4.5))), [number]


def _write(opener: str, path: Path, start: int) -> None:
    store, number = _opened(opener)(path), start
    store.open(CAMPAIGN)
    sys.stdout.write("open\n")
    while True:
        sys.stdout.flush()
        store.begin(CAMPAIGN.id, _job(number))
        store.save(CAMPAIGN.id, JobResult(_job(number), WithScratch(*_value(number))))
        sys.stdout.write(f"{number}\n")
        store.forget([_job(number - 3)])
        number += 1


if __name__ == "__main__":
    _write(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
