"""Sentences about a smaller test set, for both the page and the terminal."""

from __future__ import annotations

from mutiny.reports.formatting import count
from mutiny.verbs.select.metrics import Repeated
from mutiny.verbs.strengthen.result import SubsetScores

STAND_OUT = "few inputs that disagree stand out more than many"
DECIMALS = 3
"""Decimal places to which shares are compared; no more are shown."""


def kills_sentence(kept: int, more: int, fresh: int) -> str:
    """The mutants that a part of the test set kills.

    Args:
        kept: Number of mutants of the assessment that both the whole test set and the part kill.
        more: Number of mutants of the assessment that only the part kills.
        fresh: Number of mutants of other seeds that both kill.

    >>> kills_sentence(12, 0, 3)
    'They kill the 12 mutants of the assessment that all tests kill, and 3 of other seeds.'
    >>> kills_sentence(0, 0, 1)
    'All tests kill no mutant of the assessment, but 1 of other seeds, and so do these.'
    """
    mutants = count(kept, "mutant")
    sentence = f"They kill the {mutants} of the assessment that all tests kill, and {fresh:,} of other seeds."
    if not kept:
        sentence = f"All tests kill no mutant of the assessment, but {fresh:,} of other seeds, and so do these."
    if more:
        sentence += f" They also kill {count(more, 'mutant')} of the assessment that all tests do not: {STAND_OUT}."
    return sentence


def held_out_sentence(held_out: SubsetScores) -> str:
    """Scores on held-out mutants, with intervals: of the part, of all tests, and of random tests."""
    return (
        f"On held-out mutants they score {_mean(held_out.subset)}, all tests {_mean(held_out.all)}, as many "
        f"random tests {_mean(held_out.random)}."
    )


def falls(held_out: SubsetScores | None) -> bool:
    """Whether the part scores less than all tests on held-out mutants, in the decimal places that are shown."""
    return held_out is not None and round(held_out.subset.mean, DECIMALS) < round(held_out.all.mean, DECIMALS)


def between(value: Repeated) -> str:
    """The interval of a score; empty if there is none. Student's t may exceed 0 or 1, so it is cut there."""
    if value.interval is None:
        return ""
    return f"{max(0.0, value.interval.low):.0%} to {min(1.0, value.interval.high):.0%}"


def _mean(value: Repeated) -> str:
    interval = between(value)
    return f"{value.mean:.1%}" + (f" ({interval})" if interval else "")
