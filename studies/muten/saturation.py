"""Where could a gain come from? A loss that a sure network silences, as probabilities that are clipped do."""

from __future__ import annotations

from studies.muten import arms
from studies.muten.assaults import rows, run
from studies.muten.choice import EVERY
from studies.muten.defended import NONE, SURER
from studies.muten.lab import Settings, count, thinned
from studies.muten.subjects import Target

__all__ = ["NAME", "rows", "run", "units"]
NAME = "saturation"
NETWORKS = (NONE, SURER)
ATTACKS = (arms.ART, arms.CLIPPED)
ARMS = (arms.ORIGINAL, arms.RESTARTED, arms.MUTEN, f"random {arms.COUNT}", f"similar {arms.COUNT}")


def units(target: Target, settings: Settings) -> list[tuple[str, ...]]:
    """(defense, attack, level, arm, round)."""
    if not target.whole:
        return []
    return [
        (network, attack, level, arm, str(number))
        for number in range(count(target, settings))
        for network in NETWORKS
        for attack in ATTACKS
        for level in thinned(target.levels[::EVERY], settings)
        for arm in ARMS
    ]
