"""Table III: the same arms against four defenses."""

from __future__ import annotations

from pathlib import Path

from studies.muten import arms, assaults
from studies.muten.assaults import rows
from studies.muten.defended import DEFENSES, NONE
from studies.muten.lab import Lab, Settings, count
from studies.muten.subjects import Target
from studies.nss.lab import accuracy
from studies.store import Rows

__all__ = ["NAME", "accuracy_rows", "cases", "rows", "run", "units"]
NAME = "defenses"
COLUMNS = "subject defense accuracy".split()


def accuracy_rows(folder: Path) -> Rows:
    return Rows(folder / "defenses.csv", COLUMNS, 2)


def cases(target: Target) -> list[tuple[str, str]]:
    """Attacks and levels: the paper's; with a sane step also the least distance; Carlini and Wagner last."""
    levels = dict.fromkeys((target.level, target.levels[0]))
    return [(arms.ART, target.level), *((arms.SANE, level) for level in levels), (arms.SEARCHED, target.constant)]


def units(target: Target, settings: Settings) -> list[tuple[str, ...]]:
    """(defense, attack, level, arm, round); Carlini and Wagner's search is slow, and has the first round only."""
    if not target.whole:
        return []
    return [
        (defense, attack, level, arm, str(number))
        for number in range(count(target, settings))
        for attack, level in cases(target)
        if attack != arms.SEARCHED or not number
        for defense in (NONE, *DEFENSES)
        for arm in arms.of(attack)
    ]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Writes the unit's row, and once for each defense how good the defended network is."""
    if unit[0] != NONE and (lab.name, unit[0]) not in accuracy_rows(folder):
        share = accuracy(lab.model(unit[0]), lab.subject.test)
        accuracy_rows(folder).put([dict(zip(COLUMNS, (lab.name, unit[0], share), strict=True))])
    return assaults.run(lab, folder, unit)
