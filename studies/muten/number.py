"""Fig. 3: from one mutant to ten, and the original alone with as many passes."""

from __future__ import annotations

from studies.muten import arms
from studies.muten.assaults import rows, run
from studies.muten.defended import NONE
from studies.muten.lab import Settings, count, thinned
from studies.muten.subjects import Target

__all__ = ["NAME", "cases", "rows", "run", "units"]
NAME = "number"
COUNTS = tuple(range(1, 11))
ALONE = (1, 2, 5, 10)
"""For these numbers of mutants the original alone gets as many passes."""


def cases(target: Target) -> list[tuple[str, str]]:
    """Attacks and levels: the paper's; with a sane step the least distance, where something is left to gain."""
    return [(arms.ART, target.level), (arms.SANE, target.levels[0]), (arms.FIXED, target.constant)]


def units(target: Target, settings: Settings) -> list[tuple[str, ...]]:
    """(defense, attack, level, arm, round)."""
    if not target.whole:
        return []
    numbers = thinned(COUNTS, settings)
    return [
        (NONE, attack, level, arm, str(number))
        for number in range(count(target, settings))
        for attack, level in cases(target)
        for arm in [
            arms.ORIGINAL,
            *(f"diverse {n}" for n in numbers),
            *(alone(attack, n) for n in ALONE if n in numbers),
        ]
    ]


def alone(attack: str, n: int) -> str:
    """The arm of the original alone with as many passes as it takes with ``n`` mutants.

    >>> alone("pgd-art", 5), alone("carlini-fixed", 1)
    ('restarts 6', 'iterations 2')
    """
    return f"{arms.RESTARTS if attack in arms.STEPS else arms.ITERATIONS} {n + 1}"
