"""Attacks and arms by name: what follows the gradients of whom, with how many passes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from mutiny.verbs.attack.base import Attack
from mutiny.verbs.attack.carlini import Carlini
from mutiny.verbs.attack.mutants import Choice, Kind
from mutiny.verbs.attack.pgd import Pgd
from studies.muten.clipped import ClippedPgd
from studies.muten.subjects import Target

ART, SANE, SEARCHED, FIXED = "pgd-art", "pgd-sane", "carlini", "carlini-fixed"
"""PGD with ART's step of 0.1; with 2.5 eps / iterations; Carlini and Wagner with a search for the constant; without."""
CLIPPED = "pgd-clipped"
"""PGD with ART's step on a loss of clipped probabilities."""
STEPS = (ART, SANE)
PGD = (*STEPS, CLIPPED)
STEP = 0.1
COUNT = 5
"""Mutants in the paper's ensembles."""
RESTARTS, ITERATIONS = "restarts", "iterations"
ORIGINAL, MUTEN = "original", f"diverse {COUNT}"
RESTARTED, LONGER = f"{RESTARTS} {COUNT + 1}", f"{ITERATIONS} {COUNT + 1}"
FOUR = (ORIGINAL, MUTEN, RESTARTED, LONGER)
"""The original alone; with five diverse mutants; alone from six starts; alone with six times the iterations. The last
three have the same number of passes."""
THREE = (ORIGINAL, MUTEN, LONGER)
"""For Carlini and Wagner, who have no random starts."""
TITLES = {
    ORIGINAL: "original alone",
    MUTEN: "MUTEN",
    RESTARTED: "alone, 6 starts",
    LONGER: "alone, 6 x iterations",
}
ATTACKS = {
    ART: "PGD, step 0.1",
    SANE: "PGD, sane step",
    SEARCHED: "C&W, search",
    FIXED: "C&W, fixed c",
    CLIPPED: "PGD, step 0.1, clipped loss",
}
KINDS: dict[str, Kind] = {"diverse": "diverse", "random": "random", "similar": "similar"}


def of(attack: str) -> tuple[str, ...]:
    """The usual arms of an attack."""
    return FOUR if attack in PGD else THREE


def way(target: Target, attack: str, level: str, arm: str, cut: int = 1) -> Attack:
    """The attack itself, with the arm's number of passes; ``cut`` divides its iterations.

    >>> from studies.muten.subjects import CNN, TARGETS
    >>> str(way(TARGETS[CNN], "pgd-art", "8/255", "restarts 6"))
    'pgd(iterations=20, step=0.1, restarts=6)'
    """
    kind, _, times = arm.partition(" ")
    found: Pgd | Carlini
    if attack in PGD:
        pgd = ClippedPgd if attack == CLIPPED else Pgd
        found = pgd(iterations=max(1, target.iterations // cut), step=None if attack == SANE else STEP)
    else:
        found = Carlini(constant=float(level), iterations=100 // cut, searches=10 if attack == SEARCHED else 1)
    if kind == ITERATIONS:
        return replace(found, iterations=found.iterations * int(times))
    if kind == RESTARTS:
        assert isinstance(found, Pgd)
        return replace(found, restarts=int(times))
    return found


def mutants(arm: str, made: int) -> Choice:
    """Which mutants help; none if the original is attacked alone.

    >>> mutants("similar 3", 50)
    Choice(count=3, kind='similar', iterations=50, ...)
    """
    kind, _, count = arm.partition(" ")
    return Choice(count=int(count), kind=KINDS[kind], iterations=made) if kind in KINDS else Choice(count=0)


def distance(attack: str, level: str) -> float:
    """How far inputs may go; Carlini and Wagner look for the nearest, and take any."""
    return float(Fraction(level)) if attack in PGD else 1.0
