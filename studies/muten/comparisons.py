"""From the paper's comparison to fair ones."""

from __future__ import annotations

from typing import NamedTuple

from studies.muten.arms import ART, LONGER, MUTEN, ORIGINAL, RESTARTED, SANE


class Side(NamedTuple):
    """One side of a comparison: an attack by name, and an arm."""

    attack: str
    arm: str


class Comparison(NamedTuple):
    """Two sides, of which the first has mutants."""

    title: str
    first: Side
    second: Side


def _with(first: str, title: str, attack: str, arm: str) -> Comparison:
    return Comparison(title, Side(first, MUTEN), Side(attack, arm))


PAPERS = _with(ART, "step 0.1: the original alone, the paper's comparison", ART, ORIGINAL)
STARTS = _with(ART, "step 0.1: the original alone, same passes, six starts", ART, RESTARTED)
ITERATIONS = _with(ART, "step 0.1: the original alone, same passes, six times the iterations", ART, LONGER)
STEP = _with(ART, "step 0.1 against a sane one: the original alone, a sixth of the passes", SANE, ORIGINAL)
TUNED = _with(ART, "step 0.1 against a sane one: the original alone, same passes, six starts", SANE, RESTARTED)
MUTANTS = _with(SANE, "sane step: the original alone, a sixth of the passes", SANE, ORIGINAL)
FAIR = _with(SANE, "sane step: the original alone, same passes, six starts", SANE, RESTARTED)
FAIR_LONGER = _with(SANE, "sane step: the original alone, same passes, six times the iterations", SANE, LONGER)
ALL = (PAPERS, STARTS, ITERATIONS, STEP, TUNED, MUTANTS, FAIR, FAIR_LONGER)
