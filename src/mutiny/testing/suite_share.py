"""The faults that one process has tried, and the result of all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mutiny.core.json_values import JsonObject, to_plain
from mutiny.core.results import versions
from mutiny.testing.suite_clean import FirstRun
from mutiny.testing.suite_matrix import suite_notice
from mutiny.testing.suite_options import SuiteOptions
from mutiny.testing.suite_records import JudgedFault, Reaction, SuiteResult, SuiteTest
from mutiny.verbs.assess.result import Assessment


@dataclass
class Share:
    """What one process has found: everything, or the share of a worker of pytest-xdist.

    Attributes:
        tests: All tests, as this process found them on the clean model.
        faults: Faults that it tried, with their numbers among all that were chosen.
        planned: Number of faults that were chosen, for all processes.
        assessment: The assessment that has the faults.
    """

    tests: tuple[SuiteTest, ...]
    faults: list[tuple[int, JudgedFault]]
    planned: int
    assessment: Assessment

    def to_plain(self) -> dict[str, Any]:
        """Plain values, for another process."""
        return {
            "tests": to_plain(self.tests),
            "faults": [{"number": number, "tried": to_plain(tried)} for number, tried in self.faults],
            "planned": self.planned,
            "assessment": self.assessment.to_json(),
        }

    @classmethod
    def from_plain(cls, value: Mapping[str, Any]) -> Share:
        """Inverse of `to_plain`."""
        given = JsonObject(value)
        return cls(
            given.get("tests", tuple[SuiteTest, ...]),
            [(each.get("number", int), each.get("tried", JudgedFault)) for each in given.objects("faults")],
            given.get("planned", int),
            Assessment.from_json(value["assessment"]),
        )


def combined(
    shares: Sequence[Share], first: FirstRun, options: SuiteOptions, *, seconds: float, created: str
) -> SuiteResult:
    """The result of all shares. A test that one process has left out is left out of all.

    Args:
        shares: What each process has found.
        first: What pytest's own run has shown.
        options: What was asked for.
        seconds: Duration of everything.
        created: Time at which it began.
    """
    assessment, planned = shares[0].assessment, shares[0].planned
    columns = zip(*(share.tests for share in shares), strict=True)
    tests = tuple(_together(found, first.reasons.get(found[0].name, "")) for found in columns)
    by_number = {number: tried for share in shares for number, tried in share.faults}
    faults = [_without(tried, tests, options.full) for tried in by_number.values()]
    faults.sort(key=lambda tried: tried.fault.cost)
    return SuiteResult(
        subject=assessment.subject,
        settings={
            "seed": options.seed,
            "faults": options.faults,
            "operators": assessment.settings.get("operators"),
            "timeout": options.timeout,
        },
        versions=versions(),
        notice=suite_notice(faults, assessment.notice),
        tests=tests,
        faults=tuple(faults),
        full=options.full,
        planned=planned,
        notes=tuple(_notes(options.faults, planned, len(faults))),
        seconds=seconds,
        created=created,
    )


def _together(found: Sequence[SuiteTest], reason: str) -> SuiteTest:
    """One test, as several processes have found it; the reason of pytest's own run comes first."""
    reasons = [reason, *(test.left_out for test in found)]
    return SuiteTest(found[0].name, next(filter(None, reasons), ""), max(test.passes for test in found))


def _without(tried: JudgedFault, tests: Sequence[SuiteTest], full: bool) -> JudgedFault:
    """A fault without the reactions of tests that are left out.

    If only the first test that notices a fault was run to its end, the others may notice it, too: it is undecided.
    """
    reactions, reasons = [*tried.reactions], dict(tried.reasons)
    for position, test in enumerate(tests):
        if test.left_out and reactions[position] is not Reaction.NOT_RUN:
            reasons.pop(test.name, None)
            open_ = reactions[position].notices and not full
            reactions[position] = Reaction.BROKEN if open_ else Reaction.NOT_RUN
            if open_:
                reasons[test.name] = test.left_out
    return replace(tried, reactions=tuple(reactions), reasons=reasons)


def _notes(wanted: int, planned: int, tried: int) -> list[str]:
    notes = []
    if planned < wanted:
        notes.append(f"Only {planned} faults have a cost that counts; {wanted} were asked for.")
    if tried < planned:
        notes.append(f"Only {tried} of {planned} faults were tried before the run was stopped.")
    return notes
