"""Kills of each test input, counted over the mutants that the training set kills."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.core.records import Basis, KillBits
from mutiny.reports.page.classes import killable
from mutiny.reports.page.mutants import mutant_name
from mutiny.reports.page.pictures import Matrix
from mutiny.verbs.assess.muff.result import MuffAssessment

COLUMNS = 300
"""Maximum number of columns of the matrix; more inputs share columns."""
POINTS = 120
"""Maximum number of points of a curve."""
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KillCounts:
    """Kills of the test inputs, over the mutants that the training set kills.

    Attributes:
        mutants: Names of the mutants, by operator and falling strength.
        operators: Operator of each mutant.
        bits: Kill bits of each mutant.
        instances: Number of instances of all mutants.
        kills: Number of instances that each input kills, ``(inputs,)``.
        breadth: Number of mutants of which each input kills an instance, ``(inputs,)``.
        hopeless: Whether no original answers the input correctly, so that it cannot kill, ``(inputs,)``.
        sampled: Number of mutants whose bits are predicted in part, because the verdict needed no more.
    """

    mutants: tuple[str, ...]
    operators: tuple[str, ...]
    bits: tuple[KillBits, ...]
    instances: int
    kills: Ints
    breadth: Ints
    hopeless: npt.NDArray[np.bool_]
    sampled: int

    @property
    def idle(self) -> npt.NDArray[np.bool_]:
        """Inputs that kill nothing."""
        return np.equal(self.kills, 0)


def kill_counts_of(result: MuffAssessment) -> KillCounts | None:
    """Counts over all mutants that the training set kills; ``None`` without such mutants or kill bits."""
    order = {record.label: place for place, record in enumerate(result.operators)}
    mutants = sorted(killable(result), key=lambda each: (order[each[0].label], -(each[1].strength or 0.0)))
    if not mutants:
        return None
    inputs = mutants[0][2].inputs
    kills, breadth, right = np.zeros(inputs, np.int64), np.zeros(inputs, np.int64), np.zeros(inputs, bool)
    for _, _, bits in mutants:
        killed = bits.per_input()
        kills += killed
        breadth += killed > 0
        right |= np.unpackbits(np.bitwise_or.reduce(bits.originals, axis=0), count=inputs).astype(bool)
    return KillCounts(
        mutants=tuple(mutant_name(mutant, record) for record, mutant, _ in mutants),
        operators=tuple(record.label for record, _, _ in mutants),
        bits=tuple(bits for _, _, bits in mutants),
        instances=sum(_instances(bits) for _, _, bits in mutants),
        kills=kills,
        breadth=breadth,
        hopeless=~right,
        sampled=sum(mutant.basis is not Basis.EXACT for _, mutant, _ in mutants),
    )


def concentration(kills: Ints) -> tuple[tuple[float, float], ...]:
    """Cumulative share of all kills by share of inputs, those that kill most first.

    >>> concentration(np.array([3, 0, 1, 0]))
    ((0.0, 0.0), (0.25, 0.75), (0.5, 1.0), (0.75, 1.0), (1.0, 1.0))
    """
    shares = np.concatenate([[0], np.cumsum(np.sort(kills)[::-1])]) / max(1, int(kills.sum()))
    places = np.unique(np.linspace(0, len(kills), min(len(kills) + 1, POINTS)).astype(int))
    return tuple((float(place / len(kills)), float(shares[place])) for place in places)


def busiest_half(kills: Ints) -> int:
    """Smallest number of inputs that make half of all kills.

    >>> busiest_half(np.array([1, 5, 2, 1]))
    1
    """
    falling = np.cumsum(np.sort(kills)[::-1])
    return int(np.searchsorted(falling, falling[-1] / 2)) + 1


def matrix_of(counts: KillCounts, labels: npt.NDArray[np.int64] | None) -> Matrix:
    """Share of instances killed, mutants by inputs; inputs are sorted by class, if known, and by falling kills.

    Args:
        counts: Kills of the inputs.
        labels: Class of each input, ``(inputs,)``.
    """
    inputs = len(counts.kills)
    order = np.argsort(-counts.kills, kind="stable") if labels is None else np.lexsort((-counts.kills, labels))
    edges = np.unique(np.linspace(0, inputs, min(inputs, COLUMNS) + 1).astype(int))
    values = [
        np.add.reduceat(bits.per_input()[order], edges[:-1]) / np.diff(edges) / _instances(bits) for bits in counts.bits
    ]
    groups = [
        (name, counts.operators.index(name), counts.operators.index(name) + counts.operators.count(name))
        for name in dict.fromkeys(counts.operators)
    ]
    columns = []
    if labels is not None:
        ends = np.searchsorted(edges, np.cumsum(np.bincount(labels)))
        starts = np.concatenate([[0], ends[:-1]])
        columns = [
            (str(name), int(start), int(end))
            for name, (start, end) in enumerate(zip(starts, ends, strict=True))
            if end > start
        ]
    by = "by class, then by how much they kill" if columns else "those that kill most first"
    return Matrix(np.array(values), tuple(groups), tuple(columns), f"test inputs, {by}", "mutants")


def _instances(bits: KillBits) -> int:
    return int(bits.mutants.shape[0] * bits.mutants.shape[1])
