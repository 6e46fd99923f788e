"""Tests on the clean model: those that fail, depend on luck or order, or change the model cannot judge faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import pytest
from torch import nn

from mutiny.models import Patch
from mutiny.models.snapshot import ModelSnapshot
from mutiny.models.undo import Undo
from mutiny.testing.random_state import RandomState
from mutiny.testing.suite_records import SuiteTest
from mutiny.testing.suite_run import ItemRun, RunOutcome, SuiteRunner

TIMES, FLOOR = 10.0, 10.0
"""A test may take so many times its clean duration, and at least so many seconds, beside the time of all fixtures."""
FAILS = "fails on the clean model"
SKIPPED, EXPECTED = "skipped", "expected to fail"
CHANGES = "changes the model"
STOPPED = "took too long on the clean model"
UNSTEADY = "failed in the second of two clean runs, which is in reverse order"


@dataclass
class FirstRun:
    """What pytest's own run on the clean model has shown.

    Attributes:
        reasons: Why a test cannot judge faults, by node id; tests that can are absent.
        seconds: Duration of each test, by node id.
    """

    reasons: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, report: pytest.TestReport) -> None:
        """Takes note of a phase of a test."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if hasattr(report, "wasxfail"):
            self.reasons.setdefault(report.nodeid, EXPECTED)
        elif report.failed:
            self.reasons[report.nodeid] = FAILS
        elif report.skipped:
            self.reasons.setdefault(report.nodeid, SKIPPED)


@dataclass(frozen=True)
class CleanSuite:
    """The tests as they are on the clean model.

    Attributes:
        tests: All tests, in the order of the suite.
        random: State of the random generators in which each test passed, by node id.
        seconds: Duration of each test, by node id.
        timeout: Seconds that a test may take; a multiple of its duration if ``None``.
    """

    tests: tuple[SuiteTest, ...]
    random: Mapping[str, RandomState]
    seconds: Mapping[str, float]
    timeout: float | None = None

    @property
    def judges(self) -> list[int]:
        """Positions of the tests that can judge faults."""
        return [position for position, test in enumerate(self.tests) if not test.left_out]

    def limit(self, item: pytest.Item) -> float:
        """Seconds that a test may take."""
        if self.timeout is not None:
            return self.timeout
        # any test may be the one for which a fixture of the session is set up
        return max(FLOOR, TIMES * self.seconds.get(item.nodeid, 0.0)) + sum(self.seconds.values())


def clean_suite(
    runner: SuiteRunner, items: Sequence[pytest.Item], model: nn.Module, first: FirstRun, timeout: float | None
) -> CleanSuite:
    """Runs the tests a second time on the clean model: in reverse order, and as they will be run on faults.

    Args:
        runner: Runs tests.
        items: All tests.
        model: The model that they call.
        first: What the first run has shown.
        timeout: Seconds that a test may take; a multiple of its duration if ``None``.
    """
    reasons, passes = dict(first.reasons), dict.fromkeys((item.nodeid for item in items), 0)
    counted, found = [0], dict[str, ItemRun]()
    usable = [item for item in reversed(items) if item.nodeid not in reasons]
    before = CleanSuite((), {}, first.seconds, timeout)

    def count() -> None:
        counted[0] += 1

    with Undo() as undo:
        undo.add(ModelSnapshot(model).restore)
        with Patch(()).in_place(model, on_pass=count):
            snapshot = ModelSnapshot(model)
            with closing(runner.run(usable, limit=before.limit)) as runs:
                for run in runs:
                    name = run.item.nodeid
                    found[name], passes[name], counted[0] = run, counted[0], 0
                    changed = snapshot.changed()
                    snapshot.restore()
                    reason = f"{CHANGES} ({changed})" if changed is not None else _unusable(run)
                    if reason:
                        reasons[name] = reason
    return CleanSuite(
        tuple(SuiteTest(item.nodeid, reasons.get(item.nodeid, ""), passes[item.nodeid]) for item in items),
        {name: run.random for name, run in found.items()},
        {name: max(seconds, found[name].seconds if name in found else 0.0) for name, seconds in first.seconds.items()}
        | {name: run.seconds for name, run in found.items() if name not in first.seconds},
        timeout,
    )


def _unusable(run: ItemRun) -> str:
    if run.outcome is RunOutcome.PASSED:
        return ""
    if run.outcome is RunOutcome.STOPPED:
        return f"{STOPPED}: {run.reason}"
    if run.outcome in (RunOutcome.SKIPPED, RunOutcome.EXPECTED):
        return SKIPPED if run.outcome is RunOutcome.SKIPPED else EXPECTED
    return f"{UNSTEADY}: {run.reason}"
