"""Inputs to label for the mutants of one seed, and their predicted effect. No label of the pool is read here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.subjects.tasks import Task
from mutiny.verbs.strengthen.answers import Answers, Bools, Floats, Ints, losses, right
from mutiny.verbs.strengthen.choosing import Chosen, choose, even
from mutiny.verbs.strengthen.context import StrengthenContext
from mutiny.verbs.strengthen.kill_distance import BetweenTrainings, KillDistance, OverInputs
from mutiny.verbs.strengthen.kill_table import Key
from mutiny.verbs.strengthen.mutant_pool import KillableRange, SetAnswers
from mutiny.verbs.strengthen.predicting import expected, expected_flips
from mutiny.verbs.strengthen.subset import over_inputs

LOST = 1e9
"""Replaces a loss that is not finite."""


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
    pool, names, said = context.mutant_pool(seed), list[Key](), list[SetAnswers]()
    for number, strength in mutants:
        names.append((ranges[number].label, strength))
        said.append(pool.answers(ranges[number].operator, strength))
    telling = np.flatnonzero(_telling(context.originals.pool, said))
    place = np.full(context.evidence.size, -1)
    place[telling] = np.arange(len(telling))
    candidates = place[rest][place[rest] >= 0]

    def chosen(which: Sequence[int], goals: Sequence[float] | None = None) -> tuple[Floats, Chosen]:
        gauge = _gauge(context, [said[number] for number in which], telling)
        weights, before = even([names[number][0] for number in which]), gauge.reached()
        more = {} if goals is None else {"goals": goals}
        return before, choose(gauge, weights, candidates, budget, **more)

    before, found = chosen(range(len(names)))
    reached = np.concatenate([before[None], found.reached])
    beyond = list[Key]()
    for number in (at for at, key in enumerate(names) if key in search and reached[-1, at] < 1):
        start, alone = chosen([number], (1.0,))
        if max([*start, *alone.reached[:, 0]]) < 1:
            beyond.append(names[number])
    taken = telling[found.order]
    others = rest[~np.isin(rest, taken)][: budget - len(taken)]
    return Proposal(np.concatenate([taken, others]), len(taken), tuple(names), reached, tuple(beyond))


def _telling(originals: Answers, said: Sequence[SetAnswers]) -> Bools:
    """Inputs on which networks disagree, ``(n,)``; the others cannot tell a mutant from its original."""
    first = originals[0]
    found = np.zeros(len(first), bool)
    for answers in (originals, *(one.pool.reshape(-1, *first.shape) for one in said)):
        for each in answers:
            found |= (each != first).reshape(len(first), -1).any(axis=1)
    return found


def _gauge(context: StrengthenContext, said: Sequence[SetAnswers], telling: Ints) -> KillDistance:
    """Distances of mutants with the test set, and how the inputs at ``telling`` would change them."""
    task, targets, belief, own = context.task, context.targets, context.belief[telling], context.originals
    instances = [one.pool[:, :, telling] for one in said]
    if over_inputs(context.rule):
        correct = right(task, own.test, targets).sum(axis=0)
        fell = [len(one.test) * correct - right(task, one.test, targets).sum(axis=(0, 1)) for one in said]
        flips = [expected_flips(task, own.pool[:, telling], one, belief) for one in instances]
        return OverInputs(context.rule, fell, flips)
    return BetweenTrainings(
        context.rule,
        _sums(task, own.test, targets),
        [_sums(task, one.test, targets).ravel() for one in said],
        expected(task, own.pool[:, telling], belief),
        [expected(task, one.reshape(-1, *one.shape[2:]), belief) for one in instances],
        1 if task.higher_is_better else -1,
    )


def _sums(task: Task, answers: Answers, targets: npt.NDArray[np.generic]) -> Floats:
    """Sums of the metric over the test set."""
    share = losses(task, answers, targets)
    each = right(task, answers, targets) if share is None else np.nan_to_num(share, nan=LOST, posinf=LOST)
    total: Floats = each.sum(axis=-1).astype(np.float64)
    return total
