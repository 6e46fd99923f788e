"""From the reactions of tests to faults to what they mean: pure functions of the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mutiny.core.stats.notice import notice_bins, notice_interval, notice_rate
from mutiny.testing.suite_records import FaultVerdict, JudgedFault, Reaction, SuiteTest
from mutiny.verbs.assess.notice import Notice, NoticedBin
from mutiny.verbs.assess.summary import CHOICES


@dataclass(frozen=True)
class CountedTest:
    """How often one test noticed a fault.

    Attributes:
        name: Name of the test.
        run: Faults on which it was run and said something.
        noticed: Faults that it noticed.
        errors: Those of them that it noticed by an error.
        alone: Those that no other test noticed.
        in_small_set: Whether it is in a small set of tests that notices the same; see `sufficient`.
    """

    name: str
    run: int
    noticed: int
    errors: int
    alone: int
    in_small_set: bool


def suite_notice(faults: Sequence[JudgedFault], notice: Notice) -> Notice:
    """The notice rate of a suite, with unit, bins and reference set of an assessment of the same subject."""
    decided = [tried for tried in faults if tried.verdict is not FaultVerdict.UNDECIDED]
    costs = np.array([tried.fault.cost for tried in decided], float)
    noticed = np.array([tried.verdict is FaultVerdict.NOTICED for tried in decided], bool)
    edges = [*(each.low for each in notice.bins), *(each.high for each in notice.bins[-1:])]
    bins = notice_bins(costs, noticed, edges)
    return replace(
        notice,
        rate=notice_rate(costs, noticed, edges),
        interval=notice_interval(costs, noticed, [tried.fault.seed for tried in decided], edges=edges),
        bins=tuple(NoticedBin(each.low, each.high, each.faults, each.noticed, each.rate) for each in bins),
        interval_other_inputs=None,
        false_alarms=None,
        plan=(),
        resampled=CHOICES,
        operators={},
        classes={},
    )


def counts(tests: Sequence[SuiteTest], faults: Sequence[JudgedFault]) -> list[CountedTest]:
    """Counts of the tests that were run on faults, those that noticed most first."""
    small = sufficient(faults)
    found = []
    for column, test in enumerate(tests):
        if test.left_out:
            continue
        reactions = [tried.reactions[column] for tried in faults]
        alone = sum(
            tried.reactions[column].notices and sum(reaction.notices for reaction in tried.reactions) == 1
            for tried in faults
        )
        found.append(
            CountedTest(
                test.name,
                sum(reaction not in (Reaction.NOT_RUN, Reaction.BROKEN) for reaction in reactions),
                sum(reaction.notices for reaction in reactions),
                reactions.count(Reaction.ERROR),
                alone,
                column in small,
            )
        )
    return sorted(found, key=lambda each: -each.noticed)  # stable: ties in the order of the suite


def sufficient(faults: Sequence[JudgedFault]) -> list[int]:
    """Columns of a small set of tests that notices every fault that any test notices, chosen greedily.

    Tests that alone notice a fault are always in it. Of tests that notice equally many further faults, the first of
    the suite is chosen.
    """
    left = [{column for column, reaction in enumerate(t.reactions) if reaction.notices} for t in faults]
    left = [columns for columns in left if columns]
    chosen = sorted({next(iter(columns)) for columns in left if len(columns) == 1})
    left = [columns for columns in left if not columns & {*chosen}]
    while left:
        best = max(sorted(set().union(*left)), key=lambda column: sum(column in columns for columns in left))
        chosen.append(best)
        left = [columns for columns in left if best not in columns]
    return sorted(chosen)


def order_of(tests: Sequence[int], faults: Sequence[JudgedFault]) -> list[int]:
    """Columns in the order in which tests should be run on the next fault: those that noticed most come first."""

    def share(column: int) -> tuple[float, int]:
        seen = [tried.reactions[column] for tried in faults]
        return -sum(reaction.notices for reaction in seen), column

    return sorted(tests, key=share)
