"""Search for the smallest part of a test set that kills every mutant that the whole set kills."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mutiny.core.random import generator_for
from mutiny.core.records import OperatorRecord, Verdict
from mutiny.verbs.strengthen.answers import Bools, Floats, Ints
from mutiny.verbs.strengthen.kill_distance import (
    GAIN,
    GOALS,
    BetweenTrainings,
    Expected,
    Flips,
    KillDistance,
    OverInputs,
    even,
    over_inputs,
)
from mutiny.verbs.strengthen.kill_table import Key, KillTable, MutantRow, mean_score, scores

TRIES = 200
"""Number of blocks of one size that are tried for removal; sizes halve."""


@dataclass(frozen=True, eq=False)
class Subset:
    """A part of a test set.

    Attributes:
        indices: Inputs to keep, in the order in which they were chosen.
        of: Number of inputs of the whole set.
        kept: Mutants of the assessment that both the whole set and this part kill.
        fresh: Number of mutants of other seeds that both kill.
        more: Mutants that only this part kills; fewer inputs can have less noise.
        score: Mean score over operators, on the mutants for which it was chosen.
        score_of_all: Mean score of the whole set.
    """

    indices: Ints
    of: int
    kept: tuple[Key, ...]
    more: tuple[Key, ...]
    fresh: int = 0
    score: float | None = None
    score_of_all: float | None = None

    def __len__(self) -> int:
        return len(self.indices)


def smallest_subset(table: KillTable, seed: int = 0, records: Iterable[OperatorRecord] = ()) -> Subset:
    """Few inputs that kill every mutant that all inputs kill, so that no operator's score falls.

    Adds the inputs that bring the mutants nearest to the rule's thresholds until the rule kills all of them, then
    removes the inputs that are not needed. The search is heuristic: a smaller subset may exist.

    Args:
        table: Originals and mutants on every input.
        seed: Seed that decides among equals.
        records: Operators of the assessment, for scores.
    """
    dead = table.dead()
    wanted, needed = tuple(row.key for row in dead if not row.fresh), table.of_rows(dead)
    order = generator_for(seed, "strengthen", "subset").permutation(len(table))
    chosen = _pruned(needed, _grown(needed, order)) if dead else np.zeros(0, np.int64)
    known, killed = tuple(records), table.killed(chosen)
    return Subset(
        indices=chosen,
        of=len(table),
        kept=wanted,
        more=tuple(row.key for row in table.rows if not row.fresh and row.key in killed and row.key not in wanted),
        fresh=len(dead) - len(wanted),
        score=mean_score(scores(known, killed)),
        score_of_all=mean_score(scores(known, wanted)),
    )


def _kills(table: KillTable, chosen: Ints) -> bool:
    """Whether some inputs kill every mutant."""
    return all(table.verdict(row, chosen) is Verdict.KILLED for row in table.rows)


def _grown(table: KillTable, order: Ints) -> Ints:
    """Inputs that kill all mutants, best first; all inputs if the search finds no such part."""
    weights, distances = even([row.label for row in table.rows]), distances_of(table)
    taken: list[int] = []
    left, goals, alive = order, list(GOALS), np.ones(len(weights), bool)
    while goals and len(left):
        now, ahead = distances.reached(), distances.ahead(left)
        gains = (np.minimum(ahead, goals[0]) - np.minimum(now, goals[0]))[:, alive] @ weights[alive]
        best = int(np.argmax(np.round(gains / GAIN)))
        if gains[best] <= GAIN:
            goals.pop(0)
            continue
        distances.take(int(left[best]))
        taken.append(int(left[best]))
        left = np.delete(left, best)
        if (distances.reached() >= 1)[alive].all():
            chosen = np.array(taken)
            alive = np.array([table.verdict(row, chosen) is not Verdict.KILLED for row in table.rows])
            if not alive.any():
                return chosen
    return np.array([*taken, *left.tolist()], np.int64)


def _pruned(table: KillTable, chosen: Ints) -> Ints:
    """The inputs without those that are not needed; the last ones are tried first."""
    size = max(1, len(chosen) // 2)
    while True:
        block, at, tries = max(size, -(-len(chosen) // TRIES)), len(chosen), 0
        while at > 0 and tries < TRIES:
            start = max(0, at - block)
            fewer = np.concatenate([chosen[:start], chosen[at:]])
            if len(fewer) and _kills(table, fewer):
                chosen = fewer
            at, tries = start, tries + 1
        if size == 1:
            return chosen
        size //= 2


def distances_of(table: KillTable) -> KillDistance:
    """Distances of mutants where answers are known, starting without any tests."""
    if over_inputs(table.rule):
        nothing = [np.zeros(0, np.int64) for _ in table.rows]
        return OverInputs(table.rule, nothing, [_flips(table.right, row) for row in table.rows])
    sizes = [row.right.shape[0] * row.right.shape[1] for row in table.rows]
    return BetweenTrainings(
        table.rule,
        np.zeros(len(table.right)),
        [np.zeros(size) for size in sizes],
        _known(table.right if table.losses is None else table.losses),
        [_known((row.right if row.losses is None else row.losses).reshape(-1, len(table))) for row in table.rows],
        1 if table.higher_is_better else -1,
    )


def _known(shares: Bools | Floats) -> Expected:
    each = np.nan_to_num(shares.T.astype(np.float32), nan=1e9, posinf=1e9)
    return Expected(each, np.square(each - each.mean(axis=1, keepdims=True)).sum(axis=1, dtype=np.float64))


def _flips(right: Bools, row: MutantRow) -> Flips:
    rounds, originals = row.right.shape[:2]
    change = rounds * right[:originals].sum(axis=0) - row.right.sum(axis=(0, 1), dtype=np.int64)
    return Flips(change.astype(np.float64), np.square(change).astype(np.float64), np.maximum(change, 0.0))
