"""What `pytest --mutiny` costs, by the time of a loop by hand over the same faults that calls the same tests.

python -m benchmarks.suite [--quick] [--json FILE]

Both sides run ten tests twice without a fault, and then on each fault, with what the tests share computed anew for
each. Seconds are those of the processor, with one thread.
"""

from __future__ import annotations

import inspect
import os
import random
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.command import run
from benchmarks.timing import entry, seconds
from mutiny.testing.suite_clean import FirstRun
from mutiny.testing.suite_mutation import SuiteMutation
from mutiny.testing.suite_subject import configured_subject

TESTS = Path(__file__).with_name("ten_tests.py")
GOAL = 1.2
EVERY = "every test on every fault"


def measure(quick: bool, _data: Path | None) -> dict[str, dict[str, object]]:
    torch.set_num_threads(1)
    timer = Timer(faults=10 if quick else 40, rounds=1 if quick else 3, operators="WI,GF" if quick else "WI,GF,NEB,AFR")
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", "-c", os.devnull, f"--rootdir={TESTS.parent}"]
    pytest.main([*options, "-q", "--no-summary", "-o", "mutiny_subject=digits", str(TESTS)], plugins=[timer])
    result = {}
    for name, times in timer.times.items():
        print(f"suite, {name}: " + ", ".join(f"{ours:.2f} s by {by_hand:.2f} s" for ours, by_hand in times))
        if name == EVERY:  # both sides run each test as often
            more = 1000 * median(ours - by_hand for ours, by_hand in times) / timer.runs
            print(f"suite, {name}: {more:.2f} ms more for each run of a test")
        ratio = median(ours / by_hand for ours, by_hand in times)
        result[f"suite: digits, {timer.faults} faults, {name}: by the time of a loop by hand"] = entry(
            ratio, GOAL, "lower"
        )
    return result


class Timer:
    """A plugin of pytest that times both sides in place of running the tests."""

    def __init__(self, faults: int, rounds: int, operators: str) -> None:
        self.faults, self.rounds, self.operators = faults, rounds, operators
        self.runs = 0
        self.times: dict[str, list[tuple[float, float]]] = {EVERY: [], "until one notices": []}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        session.items[:] = [item for item in session.items if item.name != "test_flaky"]
        subject = configured_subject("digits", session.config.rootpath)
        run_all(session.items[0].module, subject.subject, subject.model, True)  # type: ignore[attr-defined]  # warm
        start = time.process_time()
        done = yield
        once = time.process_time() - start
        with tempfile.TemporaryDirectory() as folder:
            result = subject.assessment(self.operators, Path(folder))
        faults = subject.faults(result, self.faults)
        self.runs = (len(faults) + 2) * len(session.items)
        module: ModuleType = session.items[0].module  # type: ignore[attr-defined]
        for _ in range(self.rounds):
            for full, times in zip((True, False), self.times.values(), strict=True):

                def ours(full: bool = full) -> object:
                    return [*SuiteMutation(session, subject, FirstRun(), full=full).tried(faults)]

                def by_hand(full: bool = full) -> None:
                    for _ in range(2):
                        run_all(module, subject.subject, subject.model, True)
                    for _, faulty in faults:
                        with faulty.in_place():
                            run_all(module, subject.subject, subject.model, full)

                times.append((once + seconds(ours, time.process_time), seconds(by_hand, time.process_time)))
        return done


def run_all(module: ModuleType, subject: Any, model: Any, full: bool) -> None:
    """Calls each test, as somebody would write it without pytest; in short, the tests that notice most first."""
    images = torch.as_tensor(subject.test.first(len(subject.test))), torch.as_tensor(np.asarray(subject.test.targets))
    with torch.no_grad():
        given: dict[str, Any] = {"images": images, "mutiny_model": model, "answers": model(images[0])}
    for test in TESTS_BY_HAND:
        for digit in (3, 8) if "recall" in test else (3,):
            function: Callable[..., None] = getattr(module, test)
            wanted = inspect.signature(function).parameters
            random.seed(0)
            try:
                function(**{name: digit if name == "digit" else given[name] for name in wanted})
            except AssertionError:
                if not full:
                    return


TESTS_BY_HAND = (
    "test_accuracy",
    "test_calibration",
    "test_golden_examples",
    "test_recall_of_a_class",
    "test_less_contrast_means_less_confidence",
    "test_answers_do_not_depend_on_a_little_noise",
    "test_shape",
    "test_the_same_answer_twice",
    "test_useless",
)

if __name__ == "__main__":
    run("suite", measure)
