"""Synthesizes inputs for faults that no pool input reveals: moves inputs near a boundary until faults err."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from mutiny.core.errors import NotApplicable
from mutiny.core.json_values import to_plain
from mutiny.core.records import FaultRecord
from mutiny.models.device import placement
from mutiny.models.forward import steady
from mutiny.subjects.data.balls import Norm, distances
from mutiny.subjects.tasks import Classification
from mutiny.verbs.attack.attacked_model import as_logits
from mutiny.verbs.attack.base import margin
from mutiny.verbs.attack.ensemble import Ensemble
from mutiny.verbs.attack.ensemble_member import Member
from mutiny.verbs.attack.pgd import Pgd
from mutiny.verbs.locate.ascent import RANGE, span
from mutiny.verbs.strengthen.answers import Bools, Floats, Ints
from mutiny.verbs.strengthen.context import POOL, StrengthenContext

MEMBERS = 5
"""Number of originals whose answers the gradients keep; all of them must keep their answer in the end."""
STARTS = 4
"""Inputs moved for each one that is wanted."""
NEEDED = 5
"""Inputs wanted for each fault: McNemar's test notices five broken answers and no fewer."""
ITERATIONS = 20
SAFE = 0.5
"""Margin in logits that the originals' answers should keep."""
KEPT = 2.0
"""Penalty for each logit by which the originals, on average, fall short of the margin."""

Logits = Callable[[nn.Module, Any], Tensor]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Synthesized inputs, which have no labels.

    Attributes:
        inputs: Synthesized inputs, ``(n, ...)``; ``None`` if loaded from JSON.
        starts: Inputs of the pool that they were made from; ``None`` if loaded from JSON.
        indices: Numbers of the starts in the pool, ``(n,)``.
        faults: Fault for which each was made; it gives another answer than the originals do.
        answers: Answers of the originals, the same as to the start, ``(n,)``. They are not labels.
        distances: ``linf``, ``l2`` and ``l1`` from start to new input, ``(n,)`` each; empty if loaded from JSON.
        eps: Largest ``linf`` allowed.
    """

    inputs: Tensor | None
    starts: Tensor | None
    indices: Ints
    faults: tuple[FaultRecord, ...]
    answers: Ints
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
                {"index": int(at), "answer": int(answer), "fault": to_plain(fault)}
                for at, answer, fault in zip(self.indices, self.answers, self.faults, strict=True)
            ],
        }


def synthesize(
    context: StrengthenContext, faults: Sequence[FaultRecord], count: int, allowed: Ints | None = None
) -> Candidates | None:
    """Changes inputs of the pool slightly so that the originals keep their answer and a fault loses it.

    Uses the steps of PGD on the fault's margin minus a penalty for originals that lose their margin.

    Args:
        context: Originals and pool.
        faults: Faults that should be noticed; the costliest come first.
        count: Largest number of inputs in total.
        allowed: Inputs of the pool to start from; all by default.

    Returns:
        Distinct inputs for which it worked; ``None`` if there are none.
    """
    pool, task = context.search.runner.splits[POOL], context.task
    if not isinstance(task, Classification):
        raise NotApplicable("a regression has no decision boundary")
    probe = placement(context.evidence.models[0]).put(pool.first(1))
    if not isinstance(probe, Tensor) or not probe.is_floating_point():
        raise NotApplicable("inputs are not a single floating-point tensor")
    ends = span(pool)
    eps = RANGE * (ends[1] - ends[0])
    nearest = _nearest(context, allowed)
    wanted = sorted(faults, key=lambda fault: -fault.cost)[: -(-count // NEEDED)]
    made, groups = list[FaultRecord](), list[_Moved]()
    for fault in wanted:
        share = min(-(-count // len(wanted)), count - len(made))
        moved = _moved(context, fault, nearest, eps, ends, share)
        if moved is not None:
            made += [fault] * len(moved.indices)
            groups.append(moved)
    if not made:
        return None
    inputs, starts = torch.cat([moved.inputs for moved in groups]), torch.cat([moved.starts for moved in groups])
    distinct = _first_of_each(inputs)
    inputs, starts = inputs[distinct], starts[distinct]
    return Candidates(
        inputs=inputs,
        starts=starts,
        indices=np.concatenate([moved.indices for moved in groups])[distinct],
        faults=tuple(made[at] for at in distinct),
        answers=np.concatenate([moved.answers for moved in groups])[distinct],
        distances=distances(starts, inputs),
        eps=eps,
    )


class _Moved(NamedTuple):
    """Starts that were moved for one fault."""

    inputs: Tensor
    starts: Tensor
    indices: Ints
    answers: Ints


def _first_of_each(inputs: Tensor) -> Ints:
    """Positions of the first of equal inputs, ascending."""
    rows = inputs.reshape(len(inputs), -1).double().numpy()
    first: Ints = np.sort(np.unique(rows, axis=0, return_index=True)[1])
    return first


def _nearest(context: StrengthenContext, allowed: Ints | None) -> Ints:
    """Inputs of the pool on which the originals agree, the least certain first."""
    first, *others = (context.answers(number) for number in range(len(context.evidence.models)))
    agreed = np.logical_and.reduce([np.ones(len(first), bool), *(first == other for other in others)])
    if allowed is not None:
        agreed &= np.isin(np.arange(len(agreed)), allowed)
    top = np.sort(context.belief, axis=1)
    order = np.argsort(top[:, -1] - top[:, -2], kind="stable")
    nearest: Ints = order[agreed[order]]
    return nearest


def _moved(
    context: StrengthenContext, fault: FaultRecord, nearest: Ints, eps: float, ends: tuple[float, float], share: int
) -> _Moved | None:
    """The best ``share`` of the nearest inputs, moved; ``None`` if the fault already errs on all of them."""
    models, task = context.evidence.models, context.task
    assert isinstance(task, Classification)
    forward = as_logits(context.evidence.forward, task)
    own = models[fault.original]
    member = Member.of(own, context.patch(fault))
    starts = _agreeing(context, member, forward, nearest, STARTS * share)
    if not len(starts):
        return None
    inputs, answers = _read(context, starts)
    labels = torch.from_numpy(answers).to(inputs.device)
    keepers = [own, *(model for model in models if model is not own)][:MEMBERS]

    def loss(outputs: Tensor) -> Tensor:
        lost, *kept = outputs.chunk(1 + len(keepers), dim=1)
        zero = torch.zeros((), dtype=outputs.dtype, device=outputs.device)
        lacking = sum(((margin(logits, labels) + SAFE).clamp_min(0) for logits in kept), zero)
        return margin(lost, labels) - KEPT / len(keepers) * lacking

    ensemble = Ensemble(own, [], _with_fault(member, keepers, forward))
    new = Pgd(iterations=ITERATIONS).moved(ensemble, inputs, loss, eps, *ends).detach()
    errs, kept = _judged(member, models, forward, new, answers)
    moved = (new != inputs).reshape(len(new), -1).any(dim=1).cpu().numpy()
    best = np.flatnonzero(errs & kept & moved)[:share]
    where = torch.from_numpy(best).to(inputs.device)
    return _Moved(new[where].cpu(), inputs[where].cpu(), starts[best], answers[best])


def _agreeing(context: StrengthenContext, member: Member, forward: Logits, order: Ints, most: int) -> Ints:
    """The first inputs of the pool, in an order, on which the fault agrees with the originals."""
    agreed, size = list[int](), context.evidence.pace.batch_size
    for at in range(0, len(order), size):
        batch = order[at : at + size]
        agreed += batch[~_judged(member, [], forward, *_read(context, batch))[0]].tolist()
        if len(agreed) >= most:
            break
    return np.array(agreed[:most], np.int64)


def _read(context: StrengthenContext, which: Ints) -> tuple[Tensor, Ints]:
    """Inputs of the pool on the device of the originals, and the originals' answers."""
    inputs = placement(context.evidence.models[0]).put(context.search.runner.splits[POOL].read(which))
    return inputs, context.answers(0)[which].astype(np.int64)


def _judged(
    member: Member, models: Sequence[nn.Module], forward: Logits, inputs: Tensor, expected: Ints
) -> tuple[Bools, Bools]:
    """Whether the fault gives another answer than ``expected``, and whether all models give it, ``(n,)`` each."""
    with steady(), torch.no_grad():
        outputs = _with_fault(member, models, forward)(member.model, inputs)
    fault, *others = (logits.argmax(dim=1).cpu().numpy() for logits in outputs.chunk(1 + len(models), dim=1))
    return fault != expected, np.logical_and.reduce([np.ones(len(expected), bool), *(o == expected for o in others)])


def _with_fault(member: Member, models: Sequence[nn.Module], forward: Logits) -> Logits:
    """A forward function that returns the logits of the fault followed by those of each model."""

    def call(_: nn.Module, inputs: Any) -> Tensor:
        with member.patch.applied(member.model, forward) as patched:
            logits = [patched(inputs.clone())]
        return torch.cat([*logits, *(forward(model, inputs.clone()) for model in models)], dim=1)

    return call
