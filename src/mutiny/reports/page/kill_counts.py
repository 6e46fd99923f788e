"""What each test input does against the faults that can be noticed: pure counts over kill bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.core.records import Basis, KillBits
from mutiny.reports.page.classes import killable
from mutiny.reports.page.mutants import named
from mutiny.reports.page.pictures import Matrix
from mutiny.verbs.assess.result import Assessment

COLUMNS = 300
"""More inputs than this share columns of the matrix."""
POINTS = 120
"""Points of a curve, at most."""
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KillCounts:
    """What the test inputs do to the mutants that the training set kills.

    Attributes:
        mutants: their names, by operator and falling strength.
        operators: the operator of each.
        bits: of each.
        instances: of all of them.
        kills: instances that each input kills, ``(inputs,)``.
        breadth: mutants of which each input kills some instance, ``(inputs,)``.
        hopeless: inputs that no original answers correctly, so that they cannot kill, ``(inputs,)``.
        sampled: mutants whose bits are predicted in part, because the verdict needed no more.
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


def kill_counts_of(result: Assessment) -> KillCounts | None:
    """Counts over all mutants that the training set kills; ``None`` without such, or without bits."""
    order = {record.label: place for place, record in enumerate(result.operators)}
    found = sorted(killable(result), key=lambda each: (order[each[0].label], -(each[1].strength or 0.0)))
    if not found:
        return None
    inputs = found[0][2].inputs
    kills, breadth, right = np.zeros(inputs, np.int64), np.zeros(inputs, np.int64), np.zeros(inputs, bool)
    for _, _, bits in found:
        each = bits.per_input()
        kills += each
        breadth += each > 0
        right |= np.unpackbits(np.bitwise_or.reduce(bits.originals, axis=0), count=inputs).astype(bool)
    return KillCounts(
        mutants=tuple(named(mutant, record) for record, mutant, _ in found),
        operators=tuple(record.label for record, _, _ in found),
        bits=tuple(bits for _, _, bits in found),
        instances=sum(_instances(bits) for _, _, bits in found),
        kills=kills,
        breadth=breadth,
        hopeless=~right,
        sampled=sum(mutant.basis is not Basis.EXACT for _, mutant, _ in found),
    )


def concentration(kills: Ints) -> tuple[tuple[float, float], ...]:
    """Share of all kills by the share of inputs, those that kill most first.

    >>> concentration(np.array([3, 0, 1, 0]))
    ((0.0, 0.0), (0.25, 0.75), (0.5, 1.0), (0.75, 1.0), (1.0, 1.0))
    """
    found = np.concatenate([[0], np.cumsum(np.sort(kills)[::-1])]) / max(1, int(kills.sum()))
    at = np.unique(np.linspace(0, len(kills), min(len(kills) + 1, POINTS)).astype(int))
    return tuple((float(place / len(kills)), float(found[place])) for place in at)


def busiest_half(kills: Ints) -> int:
    """How few inputs make half of all kills.

    >>> busiest_half(np.array([1, 5, 2, 1]))
    1
    """
    falling = np.cumsum(np.sort(kills)[::-1])
    return int(np.searchsorted(falling, falling[-1] / 2)) + 1


def matrix_of(work: KillCounts, labels: npt.NDArray[np.int64] | None) -> Matrix:
    """Mutants by inputs: by class if there are such, then those that kill most first; many inputs share a column.

    Args:
        work: of the inputs.
        labels: class of each, ``(inputs,)``.
    """
    inputs = len(work.kills)
    order = np.argsort(-work.kills, kind="stable") if labels is None else np.lexsort((-work.kills, labels))
    edges = np.unique(np.linspace(0, inputs, min(inputs, COLUMNS) + 1).astype(int))
    values = [
        np.add.reduceat(bits.per_input()[order], edges[:-1]) / np.diff(edges) / _instances(bits) for bits in work.bits
    ]
    groups = [
        (name, work.operators.index(name), work.operators.index(name) + work.operators.count(name))
        for name in dict.fromkeys(work.operators)
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
    return Matrix(np.array(values), tuple(groups), tuple(columns), f"test inputs, {by}", "mutants, most drastic first")


def _instances(bits: KillBits) -> int:
    return int(bits.mutants.shape[0] * bits.mutants.shape[1])
