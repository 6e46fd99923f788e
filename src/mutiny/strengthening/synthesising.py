"""Inputs for mutants that the pool cannot kill: pool inputs near the boundary, moved until mutants give them away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from mutiny.attacks.base import margin
from mutiny.attacks.ensemble import Ensemble
from mutiny.attacks.field import as_logits
from mutiny.attacks.member import Member
from mutiny.attacks.pgd import Pgd
from mutiny.data.balls import Norm, distances
from mutiny.errors import NotApplicable
from mutiny.localization.ascent import RANGE, span
from mutiny.models.forward import steady
from mutiny.models.placing import placement
from mutiny.operators import Operator
from mutiny.strengthening.answers import Floats, Ints
from mutiny.strengthening.casting import POOL, Range
from mutiny.strengthening.kill_table import Key
from mutiny.strengthening.stage import Stage
from mutiny.task import Classification

MEMBERS = 5
"""Originals, each with its instance of the mutant, whose gradients are followed; all of them judge."""
STARTS = 4
"""Inputs that are moved for each one that is wanted."""
ITERATIONS = 20
SAFE = 0.5
"""By how much the originals' own answers should lead, in logits: less costs them."""
KEPT = 10.0
"""What it costs, for each logit that is missing."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """New inputs that nobody has labelled yet.

    Attributes:
        inputs: as they are now, ``(n, ...)``.
        starts: inputs of the pool that they were made from.
        indices: of these in the pool, ``(n,)``.
        mutants: for which each was made.
        answers: what the originals say to each, the start's answer, ``(n,)``. It is no label.
        lost: share of the mutant's instances that say something else, ``(n,)``; all originals keep their answer.
        distances: ``linf``, ``l2`` and ``l1`` from start to new input, ``(n,)`` each.
        eps: the largest ``linf`` that was allowed.
    """

    inputs: Tensor
    starts: Tensor
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
                {"index": int(at), "operator": label, "strength": strength, "answer": int(said), "lost": float(share)}
                for at, (label, strength), said, share in zip(
                    self.indices, self.mutants, self.answers, self.lost, strict=True
                )
            ],
        }


def synthesise(
    stage: Stage, ranges: Sequence[Range], seed: int, mutants: Sequence[Key], count: int, eps: float | None = None
) -> Candidates | None:
    """Changes inputs of the pool a little so that the originals keep their answer and instances of mutants lose it.

    The steps are those of PGD, on the difference between a mutant's margin and what the originals' margins lack.

    Args:
        stage: originals and pool.
        ranges: operators.
        seed: of the mutants.
        mutants: that should be killed.
        count: how many inputs at most, in total.
        eps: how far an input's numbers may move; a tenth of their range if not given.

    Returns:
        Those that worked; ``None`` if none did.
    """
    pool, task = stage.splits[POOL], stage.task
    if not isinstance(task, Classification):
        raise NotApplicable("a regression has no answer that changes at a boundary")
    probe = placement(stage.evidence.models[0]).put(pool.first(1))
    if not isinstance(probe, Tensor) or not probe.is_floating_point():
        raise NotApplicable("inputs are not one tensor of real numbers")
    low, high = span(pool)
    far = RANGE * (high - low) if eps is None else eps
    operators = {one.label: one.operator for one in ranges}
    some, keys, found = mutants[:count], list[Key](), list[_Moved]()
    for number, (label, strength) in enumerate(some):
        share = count // len(some) + (number < count % len(some))
        starts = _nearest(stage, STARTS * share)
        if len(starts):
            one = _moved(stage, seed, operators[label].at(strength), starts, far, (low, high), share)
            keys += [(label, strength)] * len(one.indices)
            found.append(one)
    if not keys:
        return None
    inputs, origins = torch.cat([one.inputs for one in found]), torch.cat([one.starts for one in found])
    return Candidates(
        inputs, origins, np.concatenate([one.indices for one in found]), tuple(keys),
        np.concatenate([one.answers for one in found]), np.concatenate([one.lost for one in found]),
        distances(origins, inputs), far,
    )  # fmt: skip


class _Moved(NamedTuple):
    """What became of the starts for one mutant."""

    inputs: Tensor
    starts: Tensor
    indices: Ints
    answers: Ints
    lost: Floats


def _nearest(stage: Stage, count: int) -> Ints:
    """Inputs of the pool on which the originals agree, those first about whose label they are least sure."""
    agreed = (stage.originals.pool == stage.originals.pool[0]).all(axis=0)
    top = np.sort(stage.belief, axis=1)
    order = np.argsort(top[:, -1] - top[:, -2], kind="stable")
    found: Ints = order[agreed[order]][:count]
    return found


def _moved(
    stage: Stage, seed: int, mutant: Operator, starts: Ints, eps: float, ends: tuple[float, float], share: int
) -> _Moved:
    """The best ``share`` of the starts, moved."""
    known, task = stage.evidence, stage.task
    assert isinstance(task, Classification)
    runner = stage.troupe(seed).runner
    forward = as_logits(known.forward, task)
    pairs = [(model, Member.of(model, runner.patch(mutant, number, 0))) for number, model in enumerate(known.models)]
    place = placement(known.models[0])
    inputs = place.put(stage.splits[POOL].read(starts))
    said = stage.originals.pool[0][starts].astype(np.int64)
    labels = torch.from_numpy(said).to(place.device)
    both = _both(pairs[:MEMBERS], forward)

    def loss(outputs: Tensor) -> Tensor:
        parts = outputs.chunk(2 * len(pairs[:MEMBERS]), dim=1)
        lacking = sum((margin(one, labels) + SAFE).clamp_min(0) for one in parts[::2])
        return sum(margin(one, labels) for one in parts[1::2]) - KEPT * lacking  # type: ignore[return-value]

    ensemble = Ensemble(known.models[0], [], both)
    new = Pgd(iterations=ITERATIONS).moved(ensemble, inputs, loss, eps, *ends).detach()
    with steady(), torch.no_grad():
        parts = _both(pairs, forward)(known.models[0], new).chunk(2 * len(pairs), dim=1)
    kept = torch.stack([one.argmax(dim=1) == labels for one in parts[::2]]).all(dim=0).cpu().numpy()
    lost = torch.stack([one.argmax(dim=1) != labels for one in parts[1::2]]).double().mean(dim=0).cpu().numpy()
    order = np.argsort(-lost, kind="stable")
    best = order[(kept & (lost > 0))[order]][:share]
    where = torch.from_numpy(best).to(place.device)
    return _Moved(new[where].cpu(), inputs[where].cpu(), starts[best], said[best], lost[best])


def _both(
    pairs: Sequence[tuple[nn.Module, Member]], forward: Callable[[nn.Module, Any], Tensor]
) -> Callable[[nn.Module, Any], Tensor]:
    """A call that gives the logits of each original, and behind them those of its instance, side by side."""

    def call(_: nn.Module, inputs: Any) -> Tensor:
        found = []
        for model, member in pairs:
            found.append(forward(model, inputs.clone()))
            with member.patch.applied(member.model, forward) as patched:
                found.append(patched(inputs.clone()))
        return torch.cat(found, dim=1)

    return call
