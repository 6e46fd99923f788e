"""Records of a user's tests, of what they say about faults, and the result of mutation testing a test suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from mutiny.core.json_values import expect, to_plain
from mutiny.core.records import FaultRecord
from mutiny.core.results import AssessedSubject, Result, Rows, finite
from mutiny.verbs.assess.notice import Notice


class Reaction(StrEnum):
    """What a test says about a model with a fault."""

    PASSED = "passed"
    FAILED = "failed"
    """An assertion failed: the test notices the fault."""
    ERROR = "error"
    """The test notices the fault by another exception than that of an assertion."""
    BROKEN = "broken"
    """The test was stopped, or skipped itself: it says nothing."""
    NOT_RUN = "not run"
    """Another test had noticed the fault before."""

    @property
    def notices(self) -> bool:
        """Whether the test notices the fault."""
        return self in (Reaction.FAILED, Reaction.ERROR)


class FaultVerdict(StrEnum):
    """What a whole suite says about a fault."""

    NOTICED = "noticed"
    MISSED = "missed"
    UNDECIDED = "undecided"
    """No test noticed it, but some said nothing."""


@dataclass(frozen=True)
class SuiteTest:
    """One test of the suite.

    Attributes:
        name: Its node id, as pytest writes it.
        left_out: Reason why it was not run on faults; empty if it was.
        passes: Forward passes of the model, or of a part of it, that it made without a fault.
    """

    name: str
    left_out: str = ""
    passes: int = 0


@dataclass(frozen=True)
class JudgedFault:
    """A fault, and what each test says about it.

    Attributes:
        fault: The fault, with its cost. Its ``noticed`` and ``p_value`` are those of the labeled test set.
        reactions: One for each test of the suite, in its order; ``not run`` for tests that are left out.
        reasons: Why a reaction is an error or broken, by the name of the test.
    """

    fault: FaultRecord
    reactions: tuple[Reaction, ...]
    reasons: Mapping[str, str]

    @property
    def verdict(self) -> FaultVerdict:
        """What the suite says."""
        if any(reaction.notices for reaction in self.reactions):
            return FaultVerdict.NOTICED
        return FaultVerdict.UNDECIDED if Reaction.BROKEN in self.reactions else FaultVerdict.MISSED


@dataclass(frozen=True, repr=False, eq=False)
class SuiteResult(Result):
    """Which faults a test suite notices, and which tests notice them.

    Attributes:
        notice: Notice rate of the suite, by cost; undecided faults do not count.
        tests: All tests that were collected.
        faults: Faults that were tried, from cheap to costly.
        full: Whether every test was run on every fault.
        planned: Number of faults that were chosen; larger than that of the faults tried if the run was interrupted.
    """

    verb: ClassVar[str] = "pytest"

    subject: AssessedSubject
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    notice: Notice
    tests: tuple[SuiteTest, ...]
    faults: tuple[JudgedFault, ...]
    full: bool
    planned: int
    notes: tuple[str, ...]
    seconds: float
    created: str

    def __post_init__(self) -> None:
        sizes = {len(tried.reactions) for tried in self.faults} - {len(self.tests)}
        expect(not sizes, "faults: reactions", sorted(sizes), f"one for each of {len(self.tests)} tests")

    def details(self) -> dict[str, Any]:
        """The verb's own part of `to_json`; each fault has its verdict, too."""
        return {
            "notice": to_plain(self.notice),
            "tests": to_plain(self.tests),
            "faults": [{**to_plain(tried), "verdict": tried.verdict.value} for tried in self.faults],
            "full": self.full,
            "planned": self.planned,
        }

    def tables(self) -> dict[str, Rows]:
        """Table ``matrix``, a row for each fault and a column for each test, and table ``tests``."""
        names = [test.name for test in self.tests]
        matrix = [
            {**to_plain(tried.fault), "verdict": tried.verdict.value, **dict(zip(names, tried.reactions, strict=True))}
            for tried in self.faults
        ]
        return {"matrix": matrix, "tests": to_plain(self.tests)}

    def metrics(self) -> dict[str, float]:
        """The notice rate."""
        return finite({"notice": self.notice.rate})
