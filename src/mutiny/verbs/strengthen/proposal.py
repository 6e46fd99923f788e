"""Proposal of inputs to label: a greedy choice of the inputs that bring most mutants nearest to being killed.

No label of the pool is read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mutiny.subjects.tasks import Task
from mutiny.verbs.strengthen.answers import Answers, Bools, Floats, Ints, losses, right
from mutiny.verbs.strengthen.context import StrengthenContext
from mutiny.verbs.strengthen.kill_distance import (
    GAIN,
    GOALS,
    BetweenTrainings,
    KillDistance,
    OverInputs,
    even,
    expected,
    expected_flips,
    over_inputs,
)
from mutiny.verbs.strengthen.kill_table import Key
from mutiny.verbs.strengthen.mutant_pool import KillableRange, SetAnswers

AT_ONCE = 0.04
"""Inputs taken at once, as a share of those already taken. It starts with one, and does not depend on the budget."""
SHORT, LOOKS = 1000, 8
"""Size of the short list of best candidates, and number of steps for which only the short list is evaluated."""
LOST = 1e9
"""Replaces a loss that is not finite."""


class Chosen(NamedTuple):
    """Candidates in the order in which they should be labeled.

    Attributes:
        order: Numbers of the candidates, ``(k,)``; fewer than the budget if no further one brings a mutant nearer.
        reached: Distance of each mutant after each candidate, ``(k, mutants)``.
    """

    order: Ints
    reached: Floats


def choose(
    distances: KillDistance, weights: Floats, candidates: Ints, budget: int, goals: Sequence[float] = GOALS
) -> Chosen:
    """Repeatedly takes the candidate that brings the mutants nearest to the current goal.

    A mutant past the goal does not count. A candidate that would undo part of an earlier goal is never taken, because
    killing all mutants matters more than killing some of them with a margin.

    Args:
        distances: Distances of the mutants; candidates that are taken change them.
        weights: Weights of the mutants, ``(mutants,)``.
        candidates: Numbers of inputs as in ``distances``; among equals the first is taken.
        budget: Largest number of inputs.
        goals: Distances to reach; the rule kills at 1.
    """
    left, taken, reached = candidates, list[int](), list[Floats]()
    at, looks, short = 0, 0, candidates
    while at < len(goals) and len(left) and len(taken) < budget:
        everyone = looks % LOOKS == 0 or not len(short)
        considered = left if everyone else short
        gains = _gains(distances, weights, considered, goals[: at + 1])
        order = np.argsort(-np.round(gains / GAIN), kind="stable")
        few = order[: min(max(1, int(AT_ONCE * len(taken))), budget - len(taken))]
        best = considered[few[gains[few] > GAIN]]
        if len(best):
            looks += 1
            short = np.setdiff1d(considered[order[:SHORT]] if everyone else short, best)
            short = left[np.isin(left, short)]
            left = left[~np.isin(left, best)]
        elif everyone:
            at, looks = at + 1, 0
        else:
            looks = 0  # no gain on the short list: evaluate all candidates next
        for candidate in best.tolist():
            distances.take(candidate)
            taken.append(candidate)
            reached.append(distances.reached())
    return Chosen(np.array(taken, np.int64), np.array(reached).reshape(len(taken), len(weights)))


def _gains(distances: KillDistance, weights: Floats, candidates: Ints, goals: Sequence[float]) -> Floats:
    """Gain of each candidate towards the last goal; negative if it harms an earlier goal."""
    now, ahead = distances.reached(), distances.ahead(candidates)
    *earlier, gains = (np.minimum(ahead, goal) @ weights - np.minimum(now, goal) @ weights for goal in goals)
    for gain in earlier:
        gains = np.where(gain < -GAIN, np.minimum(gains, gain), gains)
    return gains


@dataclass(frozen=True, eq=False)
class Proposal:
    """Inputs to label.

    Attributes:
        order: Inputs of the pool, best first, ``(budget,)``.
        useful: Number of them that bring some mutant nearer to being killed; another method chose the rest.
        mutants: Mutants for which they were chosen.
        reached: Distance of each mutant with the tests and the first 0 to ``useful`` inputs,
            ``(1 + useful, mutants)``; 1 is killed.
        beyond: Mutants that the pool is predicted not to kill, however the budget is spent.
    """

    order: Ints
    useful: int
    mutants: tuple[Key, ...]
    reached: Floats
    beyond: tuple[Key, ...] = ()

    def predicted(self, budget: int, among: Sequence[Key]) -> int:
        """Number of the mutants in ``among`` that are predicted to be killed with ``budget`` labels."""
        now = self.reached[min(budget, self.useful)]
        return sum(bool(share >= 1) for key, share in zip(self.mutants, now, strict=True) if key in among)


def propose(
    context: StrengthenContext,
    ranges: Sequence[KillableRange],
    seed: int,
    mutants: Sequence[tuple[int, float | None]],
    rest: Ints,
    budget: int,
    search: Sequence[Key] = (),
) -> Proposal:
    """Chooses inputs of the pool.

    Args:
        context: Originals, test set and pool.
        ranges: Operators.
        seed: Seed of the mutants.
        mutants: Mutants by the number of their operator, and strength.
        rest: Inputs that may be chosen, ranked by the method that decides among equals and fills the budget.
        budget: Number of inputs to choose.
        search: Mutants to check for whether the pool can kill them at all.
    """
    mutant_pool, names, answers = context.mutant_pool(seed), list[Key](), list[SetAnswers]()
    for number, strength in mutants:
        names.append((ranges[number].label, strength))
        answers.append(mutant_pool.answers(ranges[number].operator, strength))
    telling = np.flatnonzero(_telling(context.originals.pool, answers))
    position = np.full(context.evidence.size, -1)
    position[telling] = np.arange(len(telling))
    candidates = position[rest][position[rest] >= 0]

    def chosen(which: Sequence[int], goals: Sequence[float] = GOALS) -> tuple[Floats, Chosen]:
        distances = _distances(context, [answers[number] for number in which], telling)
        weights, before = even([names[number][0] for number in which]), distances.reached()
        return before, choose(distances, weights, candidates, budget, goals)

    before, choice = chosen(range(len(names)))
    reached = np.concatenate([before[None], choice.reached])
    beyond = list[Key]()
    for number in (at for at, key in enumerate(names) if key in search and reached[-1, at] < 1):
        start, alone = chosen([number], (1.0,))
        if max([*start, *alone.reached[:, 0]]) < 1:
            beyond.append(names[number])
    taken = telling[choice.order]
    others = rest[~np.isin(rest, taken)][: budget - len(taken)]
    return Proposal(np.concatenate([taken, others]), len(taken), tuple(names), reached, tuple(beyond))


def _telling(originals: Answers, mutants: Sequence[SetAnswers]) -> Bools:
    """Inputs on which networks disagree, ``(n,)``; the others cannot tell a mutant from its original."""
    first = originals[0]
    telling = np.zeros(len(first), bool)
    for networks in (originals, *(answers.pool.reshape(-1, *first.shape) for answers in mutants)):
        for network in networks:
            telling |= (network != first).reshape(len(first), -1).any(axis=1)
    return telling


def _distances(context: StrengthenContext, mutants: Sequence[SetAnswers], telling: Ints) -> KillDistance:
    """Distances of mutants with the test set, and how the inputs at ``telling`` would change them."""
    task, targets, belief, originals = context.task, context.targets, context.belief[telling], context.originals
    instances = [mutant.pool[:, :, telling] for mutant in mutants]
    if over_inputs(context.rule):
        correct = right(task, originals.test, targets).sum(axis=0)
        fell = [len(m.test) * correct - right(task, m.test, targets).sum(axis=(0, 1)) for m in mutants]
        flips = [expected_flips(task, originals.pool[:, telling], answers, belief) for answers in instances]
        return OverInputs(context.rule, fell, flips)
    return BetweenTrainings(
        context.rule,
        _sums(task, originals.test, targets),
        [_sums(task, mutant.test, targets).ravel() for mutant in mutants],
        expected(task, originals.pool[:, telling], belief),
        [expected(task, answers.reshape(-1, *answers.shape[2:]), belief) for answers in instances],
        1 if task.higher_is_better else -1,
    )


def _sums(task: Task, answers: Answers, targets: npt.NDArray[np.generic]) -> Floats:
    """Sums of the metric over the test set."""
    share = losses(task, answers, targets)
    each = right(task, answers, targets) if share is None else np.nan_to_num(share, nan=LOST, posinf=LOST)
    total: Floats = each.sum(axis=-1).astype(np.float64)
    return total
