"""A smaller test set in words, the same on a page and in a terminal."""

from __future__ import annotations

from mutiny.reports.formatting import count
from mutiny.verbs.select.metrics import Repeated
from mutiny.verbs.strengthen.result import SubsetScores

STAND_OUT = "few inputs that disagree stand out more than many"
SEEN = 3
"""Digits of a share that people see, at most."""


def kills_sentence(kept: int, more: int, fresh: int) -> str:
    """What a part of the test set kills.

    Args:
        kept: mutants of the assessment that all tests kill, and so does the part.
        more: mutants of the assessment that only the part kills.
        fresh: mutants of other seeds that both kill.

    >>> kills_sentence(12, 0, 3)
    'They kill the 12 mutants of the assessment that all tests kill, and 3 of other seeds.'
    >>> kills_sentence(0, 0, 1)
    'All tests kill no mutant of the assessment, but 1 of other seeds, and so do these.'
    """
    told = f"They kill the {count(kept, 'mutant')} of the assessment that all tests kill, and {fresh:,} of other seeds."
    if not kept:
        told = f"All tests kill no mutant of the assessment, but {fresh:,} of other seeds, and so do these."
    if more:
        told += f" They also kill {count(more, 'mutant')} of the assessment that all tests do not: {STAND_OUT}."
    return told


def held_out_sentence(held: SubsetScores) -> str:
    """What the part is worth on mutants for which it was not chosen, with intervals."""
    return (
        f"On mutants that nothing was chosen for they score {_mean(held.subset)}, all tests {_mean(held.all)}, as many "
        f"random tests {_mean(held.random)}."
    )


def falls(held: SubsetScores | None) -> bool:
    """Whether the part scores less than all tests on mutants for which it was not chosen, as far as is shown."""
    return held is not None and round(held.subset.mean, SEEN) < round(held.all.mean, SEEN)


def between(value: Repeated) -> str:
    """The interval of a score, which lies between 0 and 1, whatever Student says; nothing if there is none."""
    if value.interval is None:
        return ""
    return f"{max(0.0, value.interval.low):.0%} to {min(1.0, value.interval.high):.0%}"


def _mean(value: Repeated) -> str:
    ends = between(value)
    return f"{value.mean:.1%}" + (f" ({ends})" if ends else "")
