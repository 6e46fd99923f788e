"""Fig. 2: success over the allowed distance (PGD) and over the first constant (Carlini and Wagner)."""

from __future__ import annotations

from studies.muten import arms
from studies.muten.assaults import rows, run
from studies.muten.defended import NONE
from studies.muten.lab import Settings, count, thinned
from studies.muten.subjects import Target

__all__ = ["NAME", "rows", "run", "units"]
NAME = "epsilon"


def units(target: Target, settings: Settings) -> list[tuple[str, ...]]:
    """(defense, attack, level, arm, round), PGD first."""
    cases = [
        *((attack, level) for attack in arms.STEPS for level in thinned(target.levels, settings)),
        *((arms.FIXED, constant) for constant in thinned(target.constants, settings)),
        (arms.SEARCHED, target.constant),
    ]
    return [
        (NONE, attack, level, arm, str(number))
        for attacks in (arms.STEPS, (arms.FIXED,), (arms.SEARCHED,))
        for number in range(count(target, settings))
        for attack, level in cases
        if attack in attacks
        for arm in arms.of(attack)
    ]
