"""Fig. 4: diverse, random and similar mutants."""

from __future__ import annotations

from studies.muten import arms
from studies.muten.assaults import rows, run
from studies.muten.defended import NONE
from studies.muten.lab import Settings, count, thinned
from studies.muten.subjects import Target

__all__ = ["NAME", "rows", "run", "units"]
NAME = "choice"
ARMS = {kind: f"{kind} {arms.COUNT}" for kind in arms.KINDS}
EVERY = 2
"""Of the levels, only each second one."""


def units(target: Target, settings: Settings) -> list[tuple[str, ...]]:
    """(defense, attack, level, arm, round)."""
    if not target.whole:
        return []
    cases = [
        *((attack, level) for attack in arms.STEPS for level in thinned(target.levels[::EVERY], settings)),
        *((arms.FIXED, constant) for constant in thinned(target.constants[::EVERY], settings)),
    ]
    return [
        (NONE, attack, level, arm, str(number))
        for number in range(count(target, settings))
        for attack, level in cases
        for arm in ARMS.values()
    ]
