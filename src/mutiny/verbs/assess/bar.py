"""A bar for the notice rate: passed, missed, or undecided."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from mutiny.core.checks import is_number
from mutiny.core.errors import BadInput
from mutiny.core.stats import Interval
from mutiny.verbs.assess.notes import known_bias
from mutiny.verbs.assess.notice import Notice
from mutiny.verbs.assess.reference import PRECISE
from mutiny.verbs.assess.summary import ORIGINALS


class BarOutcome(StrEnum):
    """Outcome of comparing a notice rate with a bar."""

    PASSED = "passed"
    MISSED = "missed"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class ComparedBar:
    """A bar, and whether a notice rate reaches it.

    Attributes:
        bar: Lowest accepted notice rate, from 0 to 1.
        outcome: Whether the whole interval, with the known bias of the rate, is above or below the bar.
        sentence: The outcome with its reason.
    """

    bar: float
    outcome: BarOutcome
    sentence: str

    def fails(self, strict: bool) -> bool:
        """Whether a build should fail; an undecided bar fails it only if ``strict``."""
        return self.outcome is BarOutcome.MISSED or (strict and self.outcome is BarOutcome.UNDECIDED)


def check_bar(bar: float, name: str = "at_least") -> None:
    """Raises `BadInput` unless the bar is a share."""
    if not (is_number(bar) and 0 <= bar <= 1):
        percent = is_number(bar) and 1 < bar <= 100
        fix = f"Write {bar / 100:g} for {bar:g}%." if percent else ""
        raise BadInput(name, repr(bar), "a share between 0 and 1", fix)


def compare_with_bar(notice: Notice, bar: float) -> ComparedBar:
    """Compares the interval of a notice rate, not the rate itself, with a bar.

    The bar is missed if the rate is surely too low: also if costs were measured in a way that makes it too low, and
    that bias is as large as was ever measured. Costs on memorized inputs may bias it either way and decide nothing.

    >>> from mutiny.core.stats import Interval
    >>> compare_with_bar(Notice(0.79, Interval(0.58, 0.91, 0.95, ""), ()), 0.8).outcome.value
    'undecided'
    >>> compare_with_bar(Notice(0.79, Interval(0.58, 0.91, 0.95, ""), ()), 0.5).sentence
    'the notice rate is at least 50%: 79%, 95% interval 58% to 91%'
    """
    if notice.rate is None:
        return ComparedBar(
            bar, BarOutcome.UNDECIDED, "there is no notice rate to compare with the bar; the notes say why"
        )
    interval, wanted = notice.interval, f"{100 * bar:.4g}%"
    if interval is None:
        value = f"it is {notice.rate:.0%}, without an interval"
        return ComparedBar(
            bar, BarOutcome.UNDECIDED, f"cannot tell whether the notice rate is at least {wanted}: {value}"
        )
    value = f"{notice.rate:.0%}, {interval.level:.0%} interval {interval.low:.0%} to {interval.high:.0%}"
    memorized, most = bool(notice.reference.memorized), _most_too_low(notice)
    if interval.low >= bar and not memorized:
        return ComparedBar(bar, BarOutcome.PASSED, f"the notice rate is at least {wanted}: {value}")
    if interval.high + most / 100 < bar and not memorized:
        return ComparedBar(bar, BarOutcome.MISSED, f"the notice rate is below {wanted}: {value}")
    why = _why_undecided(notice, notice.rate, interval, bar, most)
    sentence = f"cannot tell whether the notice rate is at least {wanted}: {value}{why}"
    return ComparedBar(bar, BarOutcome.UNDECIDED, sentence)


def _most_too_low(notice: Notice) -> int:
    """Most points by which the way in which costs were measured is known to make the rate too low."""
    points = known_bias(notice)
    return 0 if points is None else points[1]


def _why_undecided(notice: Notice, rate: float, interval: Interval, bar: float, most: int) -> str:
    """Why an interval decides nothing, and what would."""
    if notice.reference.memorized:
        return (
            ", but costs were measured on memorized training inputs, so it may be too low or too high; give "
            "validation=(inputs, targets)"
        )
    if interval.high < bar:
        room = max(1, math.floor(100 - 100 * rate))
        return (
            f", but it may be up to {min(most, room)} points too low, by how costs were measured; give "
            f"{PRECISE:,} validation inputs"
        )
    return f"; more {'originals' if notice.resampled == ORIGINALS else 'seeds'} narrow the interval"
