"""One attack in one way on the images of one round: a row of the only large file, which all parts share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import mutiny
from mutiny.verbs.attack import result
from studies.clock import Clock
from studies.muten import arms
from studies.muten.lab import Lab
from studies.store import Rows

KEY = "subject defense attack level arm round".split()
COLUMNS = [
    *KEY,
    *(
        "call mutants similarity images correct fooled of_all of_correct l2_mean l2_median passes seconds cpu_seconds"
    ).split(),
]


def rows(folder: Path) -> Rows:
    return Rows(folder / "assaults.csv", COLUMNS, len(KEY))


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Writes the unit's row; ``unit`` is (defense, attack, level, arm, round)."""
    defense, attack, level, arm, number = unit
    model, data = lab.model(defense), lab.images(attack, int(number))
    clock = Clock()
    found = mutiny.attack(
        model,
        arms.way(lab.target, attack, level, arm, lab.settings.cut),
        arms.distance(attack, level),
        mutants=arms.mutants(arm, lab.settings.made),
        baselines=False,
        count=len(data),
        data=data,
        task=lab.subject.task,
        seed=int(number),
    )
    row = dict(zip(KEY, (lab.name, *unit), strict=True))
    rows(folder).put([row | outcome(found) | clock.lap()])
    return True


def outcome(found: mutiny.Robustness) -> dict[str, Any]:
    """What became of the images, as columns."""
    level = found.levels[0]
    one, correct = level.ways[result.MUTANTS], level.correct
    lost = one.distances["l2"][one.fooled & correct]
    others = found.similarity[np.triu_indices(len(found.similarity), 1)]
    return {
        "call": one.attack,
        "mutants": " + ".join(found.mutants),
        "similarity": float(others.mean()) if len(others) else None,
        "images": len(correct),
        "correct": bits(correct),
        "fooled": bits(one.fooled),
        "of_all": one.of_all().value,
        "of_correct": one.of_correct(correct).value,
        "l2_mean": float(lost.mean()) if len(lost) else None,
        "l2_median": float(np.median(lost)) if len(lost) else None,
        "passes": one.passes,
    }


def bits(which: npt.NDArray[np.bool_]) -> str:
    """One digit per image, so that any two arms can be compared image by image.

    >>> bits(np.array([True, False, True]))
    '101'
    """
    return "".join("01"[bool(one)] for one in which)


def bools(text: str) -> npt.NDArray[np.bool_]:
    """The way back.

    >>> bools("101")
    array([ True, False,  True])
    """
    return np.array([one == "1" for one in text], dtype=bool)
