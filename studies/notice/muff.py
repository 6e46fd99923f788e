"""MUFF's score beside the notice rate: the same test sets and originals, by the paper's procedure."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import mutiny
from studies.clock import Clock
from studies.notice.drawing import groups
from studies.notice.lab import Lab
from studies.notice.ordering import NAME as ORDERING
from studies.notice.ordering import SETS, against_rest, agreed, disjoint, easiest, ten_sets
from studies.notice.table import Ints
from studies.store import Rows

NAME = "muff"
GROUP, SET, AGREEING, EASY, HALF = "group", "set", "agreeing", "easy half", "random half"
GROUPS = 3
OPERATORS = "WI,NI,GF,NEB,NS"
COLUMNS = "subject what number originals inputs score low high seconds cpu_seconds".split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "muff.csv", COLUMNS, 3)


def units() -> list[tuple[str, ...]]:
    """Disjoint groups of originals; subsets of the test set; ten test sets of known order."""
    subsets = [(what, "1") for what in (AGREEING, HALF, EASY)]
    return [*((GROUP, f"{n + 1}") for n in range(GROUPS)), *subsets, *((SET, f"{n + 1}") for n in range(SETS))]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """One assessment by MUFF's procedure."""
    what, number = unit
    group, positions = _chosen(lab, what, int(number) - 1)
    clock = Clock()
    subject = mutiny.Subject(
        [lab.models[original] for original in group],
        task=lab.subject.task,
        train=lab.subject.train,
        test=lab.subject.test.subset(positions),
        name=lab.name,
    )
    score = mutiny.assess(subject, OPERATORS, method="muff", seed=lab.settings.seed).score
    interval = score.interval
    rows(folder).put(
        [
            {
                "subject": lab.name,
                "what": what,
                "number": number,
                "originals": len(group),
                "inputs": len(positions),
                "score": score.value,
                "low": None if interval is None else interval.low,
                "high": None if interval is None else interval.high,
                **clock.lap(),
            }
        ]
    )
    return True


def _chosen(lab: Lab, what: str, number: int) -> tuple[Ints, Ints]:
    """Originals and test inputs."""
    everything, table = np.arange(lab.universe), lab.all("assess")
    if what == GROUP:
        size = min(10, lab.design.originals // GROUPS)
        return groups(range(lab.design.originals), size, lab.folds, lab.draw(NAME))[number], everything
    if what == SET:
        group, others = against_rest(lab, 0)
        return group, ten_sets(lab, table, others, lab.draw(ORDERING, "ten", 0))[number]
    parts, others = disjoint(lab, 0)
    if what == AGREEING:
        group = groups(range(lab.design.originals), len(parts[0]), lab.folds, lab.draw(NAME))[0]
        return group, everything[agreed(table, group)]
    rng = lab.draw(NAME, what)
    half = lab.universe // 2
    if what == HALF:
        return parts[1], rng.permutation(lab.universe)[:half]
    return parts[2], easiest(table, others, everything, half, rng)
