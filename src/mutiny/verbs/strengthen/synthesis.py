"""Synthesizes inputs for mutants that the pool cannot kill: moves inputs near a boundary until mutants err."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from mutiny.core.errors import NotApplicable
from mutiny.models.forward import steady
from mutiny.models.placement import placement
from mutiny.subjects.data.balls import Norm, distances
from mutiny.subjects.tasks import Classification
from mutiny.verbs.attack.attacked_model import as_logits
from mutiny.verbs.attack.base import margin
from mutiny.verbs.attack.ensemble import Ensemble
from mutiny.verbs.attack.ensemble_member import Member
from mutiny.verbs.attack.pgd import Pgd
from mutiny.verbs.locate.ascent import RANGE, span
from mutiny.verbs.strengthen.answers import Bools, Floats, Ints
from mutiny.verbs.strengthen.context import StrengthenContext
from mutiny.verbs.strengthen.kill_table import Key
from mutiny.verbs.strengthen.mutant_pool import POOL, KillableRange

MEMBERS = 5
"""Number of originals, each with its instance of the mutant, whose gradients are followed; all of them judge."""
STARTS = 4
"""Inputs moved for each one that is wanted."""
ITERATIONS = 20
SAFE = 0.5
"""Margin in logits that the originals' answers should keep."""
KEPT = 10.0
"""Penalty for each logit by which an original falls short of the margin."""

Pairs = Sequence[tuple[nn.Module, Member]]
"""Originals, each with its instance of a mutant."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Synthesized inputs, which have no labels.

    Attributes:
        inputs: Synthesized inputs, ``(n, ...)``; ``None`` if loaded from JSON.
        starts: Inputs of the pool that they were made from; ``None`` if loaded from JSON.
        indices: Numbers of the starts in the pool, ``(n,)``.
        mutants: Mutant for which each was made.
        answers: Answers of the originals, the same as to the start, ``(n,)``. They are not labels.
        lost: Share of the mutant's instances with another answer, ``(n,)``; all originals keep their answer.
        distances: ``linf``, ``l2`` and ``l1`` from start to new input, ``(n,)`` each; empty if loaded from JSON.
        eps: Largest ``linf`` allowed.
    """

    inputs: Tensor | None
    starts: Tensor | None
    indices: Ints
    mutants: tuple[Key, ...]
    answers: Ints
    lost: Floats
    distances: Mapping[Norm, Floats]
    eps: float

    def __len__(self) -> int:
        return len(self.indices)

    def to_json(self) -> dict[str, Any]:
        """Plain values; the inputs themselves are left out."""
        return {
            "count": len(self),
            "eps": self.eps,
            "candidates": [
                {"index": int(at), "operator": label, "strength": strength, "answer": int(answer), "lost": float(share)}
                for at, (label, strength), answer, share in zip(
                    self.indices, self.mutants, self.answers, self.lost, strict=True
                )
            ],
        }


def synthesize(
    context: StrengthenContext,
    ranges: Sequence[KillableRange],
    seed: int,
    mutants: Sequence[Key],
    count: int,
    allowed: Ints | None = None,
) -> Candidates | None:
    """Changes inputs of the pool slightly so that the originals keep their answer and instances of mutants lose it.

    Uses the steps of PGD on the mutant's margin minus a penalty for originals that lose their margin.

    Args:
        context: Originals and pool.
        ranges: Operators.
        seed: Seed of the mutants.
        mutants: Mutants to kill.
        count: Largest number of inputs in total.
        allowed: Inputs of the pool to start from; all by default.

    Returns:
        Distinct inputs for which it worked; ``None`` if there are none.
    """
    pool, task = context.splits[POOL], context.task
    if not isinstance(task, Classification):
        raise NotApplicable("a regression has no decision boundary")
    probe = placement(context.evidence.models[0]).put(pool.first(1))
    if not isinstance(probe, Tensor) or not probe.is_floating_point():
        raise NotApplicable("inputs are not a single floating-point tensor")
    low, high = span(pool)
    eps = RANGE * (high - low)
    known = {killable.label: killable for killable in ranges}
    nearest = _nearest(context, allowed)
    wanted, keys, groups = mutants[:count], list[Key](), list[_Moved]()
    for number, (label, strength) in enumerate(wanted):
        share = count // len(wanted) + (number < count % len(wanted))
        moved = _moved(context, seed, (known[label], strength), nearest, eps, (low, high), share)
        if moved is not None:
            keys += [(label, strength)] * len(moved.indices)
            groups.append(moved)
    if not keys:
        return None
    inputs, starts = torch.cat([moved.inputs for moved in groups]), torch.cat([moved.starts for moved in groups])
    distinct = _first_of_each(inputs)
    inputs, starts = inputs[distinct], starts[distinct]
    return Candidates(
        inputs=inputs,
        starts=starts,
        indices=np.concatenate([moved.indices for moved in groups])[distinct],
        mutants=tuple(keys[at] for at in distinct),
        answers=np.concatenate([moved.answers for moved in groups])[distinct],
        lost=np.concatenate([moved.lost for moved in groups])[distinct],
        distances=distances(starts, inputs),
        eps=eps,
    )


class _Moved(NamedTuple):
    """Starts that were moved for one mutant."""

    inputs: Tensor
    starts: Tensor
    indices: Ints
    answers: Ints
    lost: Floats


def _first_of_each(inputs: Tensor) -> Ints:
    """Positions of the first of equal inputs, ascending."""
    rows = inputs.reshape(len(inputs), -1).double().numpy()
    first: Ints = np.sort(np.unique(rows, axis=0, return_index=True)[1])
    return first


def _nearest(context: StrengthenContext, allowed: Ints | None) -> Ints:
    """Inputs of the pool on which the originals agree, the least certain first."""
    agreed = (context.originals.pool == context.originals.pool[0]).all(axis=0)
    if allowed is not None:
        agreed &= np.isin(np.arange(len(agreed)), allowed)
    top = np.sort(context.belief, axis=1)
    order = np.argsort(top[:, -1] - top[:, -2], kind="stable")
    nearest: Ints = order[agreed[order]]
    return nearest


def _moved(
    context: StrengthenContext,
    seed: int,
    mutant: tuple[KillableRange, float | None],
    nearest: Ints,
    eps: float,
    ends: tuple[float, float],
    share: int,
) -> _Moved | None:
    """The best ``share`` of the nearest inputs, moved; ``None`` if the mutant already errs on all of them."""
    evidence, task, operator = context.evidence, context.task, mutant[0].operator.at(mutant[1])
    assert isinstance(task, Classification)
    runner = context.mutant_pool(seed).runner
    forward = as_logits(evidence.forward, task)
    pairs = [
        (model, Member.of(model, runner.patch(operator, number, 0))) for number, model in enumerate(evidence.models)
    ]
    device = placement(evidence.models[0]).device
    starts = _agreeing(context, pairs, forward, nearest, STARTS * share)
    if not len(starts):
        return None
    inputs, answers = _read(context, starts)
    labels = torch.from_numpy(answers).to(device)
    both = _both(pairs[:MEMBERS], forward)

    def loss(outputs: Tensor) -> Tensor:
        parts = outputs.chunk(2 * len(pairs[:MEMBERS]), dim=1)
        zero = torch.zeros((), dtype=outputs.dtype, device=outputs.device)
        lacking = sum(((margin(logits, labels) + SAFE).clamp_min(0) for logits in parts[::2]), zero)
        return sum((margin(logits, labels) for logits in parts[1::2]), zero) - KEPT * lacking

    ensemble = Ensemble(evidence.models[0], [], both)
    new = Pgd(iterations=ITERATIONS).moved(ensemble, inputs, loss, eps, *ends).detach()
    kept, lost = _judged(pairs, forward, new, answers)
    moved = (new != inputs).reshape(len(new), -1).any(dim=1).cpu().numpy()
    order = np.argsort(-lost, kind="stable")
    best = order[(kept & moved & (lost > 0))[order]][:share]
    where = torch.from_numpy(best).to(device)
    return _Moved(new[where].cpu(), inputs[where].cpu(), starts[best], answers[best], lost[best])


def _agreeing(
    context: StrengthenContext, pairs: Pairs, forward: Callable[[nn.Module, Any], Tensor], order: Ints, most: int
) -> Ints:
    """The first inputs of the pool, in an order, on which every instance agrees with the originals."""
    agreed, size = list[int](), context.evidence.pace.batch_size
    for at in range(0, len(order), size):
        batch = order[at : at + size]
        agreed += batch[_judged(pairs, forward, *_read(context, batch))[1] == 0].tolist()
        if len(agreed) >= most:
            break
    return np.array(agreed[:most], np.int64)


def _read(context: StrengthenContext, which: Ints) -> tuple[Tensor, Ints]:
    """Inputs of the pool on the device of the originals, and the originals' answers."""
    inputs = placement(context.evidence.models[0]).put(context.splits[POOL].read(which))
    return inputs, context.originals.pool[0][which].astype(np.int64)


def _judged(
    pairs: Pairs, forward: Callable[[nn.Module, Any], Tensor], inputs: Tensor, expected: Ints
) -> tuple[Bools, Floats]:
    """Whether all originals give the answer ``expected``, and the share of instances that do not, ``(n,)`` each."""
    with steady(), torch.no_grad():
        outputs = _both(pairs, forward)(pairs[0][0], inputs)
    answers = np.stack([logits.argmax(dim=1).cpu().numpy() for logits in outputs.chunk(2 * len(pairs), dim=1)])
    return (answers[::2] == expected).all(axis=0), (answers[1::2] != expected).mean(axis=0)


def _both(pairs: Pairs, forward: Callable[[nn.Module, Any], Tensor]) -> Callable[[nn.Module, Any], Tensor]:
    """A forward function that returns the logits of each original followed by those of its instance."""

    def call(_: nn.Module, inputs: Any) -> Tensor:
        logits = []
        for model, member in pairs:
            logits.append(forward(model, inputs.clone()))
            with member.patch.applied(member.model, forward) as patched:
                logits.append(patched(inputs.clone()))
        return torch.cat(logits, dim=1)

    return call
