"""Inputs that exercise suspects: DeepFault's Algorithm 2, in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.checks import check_whole
from mutiny.data.balls import NORMS, Norm, distances, within
from mutiny.data.nested import concatenate, map_leaves, to_device
from mutiny.errors import BadInput
from mutiny.evaluation.exact import cast, placement
from mutiny.localization.case import Case
from mutiny.localization.failures import truths
from mutiny.localization.spectrum import Ints
from mutiny.models.ascent import Scale, climbing
from mutiny.models.capture import Said

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Keeps = Callable[[Any, Any], Any]
"""From a batch of originals and of what became of them to one truth value per input: has it kept its label?"""


@dataclass(frozen=True)
class Ascent:
    """How inputs are changed.

    Args:
        step: by which the mean gradient of the suspects is multiplied.
        distance: how far a new input may be from its original.
        norm: of the distance: ``linf`` (DeepFault), ``l2`` or ``l1``.
        steps: DeepFault takes one.
        scale: ``none``, as the paper; ``rms`` divides each neuron's gradient by its root mean square first, as the code
            did when the published numbers were made.
        low: least value of an input's numbers; ``None``: no bound.
        high: largest value.
        project: anything else that new inputs must obey: from new inputs to allowed ones.
    """

    step: float = 1.0
    distance: float = 0.1
    norm: Norm = "linf"
    steps: int = 1
    scale: Scale = "none"
    low: float | None = 0.0
    high: float | None = 1.0
    project: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        for name in ("step", "distance"):
            if not getattr(self, name) > 0:
                raise BadInput(name, getattr(self, name), "a number above 0")
        if self.norm not in NORMS:
            raise BadInput("norm", repr(self.norm), f"one of {', '.join(NORMS)}")
        if self.scale not in ("none", "rms"):
            raise BadInput("scale", repr(self.scale), "none or rms")
        check_whole("steps", self.steps)

    def moved(self, start: Any, now: Any, gradient: Any) -> Any:
        """New inputs from present ones, near the first ones and within bounds; what is no real number stays."""

        def away(first: Tensor, present: Tensor, slope: Tensor) -> Tensor:
            return present - first + self.step * slope if first.is_floating_point() else slope

        def there(first: Tensor, change: Tensor) -> Tensor:
            if not first.is_floating_point():
                return first
            new = first + change
            return new if self.low is None and self.high is None else new.clamp(self.low, self.high)

        change = within(map_leaves(away, start, now, gradient), self.distance, self.norm)
        near = map_leaves(there, start, change)
        return near if self.project is None else self.project(near)


@dataclass(frozen=True, eq=False)
class Synthesis:
    """New inputs and what became of them.

    Attributes:
        indices: of the originals in the data, ``(n,)``.
        originals: the inputs before, in their structure.
        inputs: the inputs after.
        failed: which of the new inputs fail, ``(n,)``; all originals passed.
        kept: which still have the label of their original, ``(n,)``; all if no oracle told. If one of the others fails,
            that shows nothing.
        raised: share of the suspects that say more than before, ``(n,)``.
        distances: ``l1``, ``l2`` and ``linf`` between old and new, ``(n,)`` each.
    """

    indices: Ints
    originals: Any
    inputs: Any
    failed: Bools
    kept: Bools
    raised: Floats
    distances: Mapping[Norm, Floats]

    @property
    def succeeded(self) -> Bools:
        """Which fail and have kept their label, ``(n,)``."""
        return self.failed & self.kept

    def __len__(self) -> int:
        return len(self.indices)


def synthesis(
    case: Case,
    indices: Ints,
    neurons: Mapping[str, Ints],
    ascent: Ascent,
    of: Said = "signal",
    keeps: Keeps | None = None,
) -> Synthesis:
    """Changes the inputs at ``indices`` so that the neurons say more.

    Args:
        case: the model and its inputs; those at ``indices`` should pass.
        indices: which inputs.
        neurons: numbers of neurons by layer.
        ascent: how.
        of: what a neuron says, see `mutiny.models.capture.activations`.
        keeps: tells whether a new input still has the label of its original.
    """
    climb, (device, dtype) = climbing(case.view, neurons, case.call, of), placement(case.model)
    old, new, failed, kept, raised, apart = [], [], [], [], [], []
    for at in range(0, len(indices), case.pace.batch_size):
        where = indices[at : at + case.pace.batch_size]
        start = cast(to_device(case.data.read(where), device), dtype)
        first = found = climb(start, ascent.scale)
        now = ascent.moved(start, start, found.gradient)
        for _ in range(ascent.steps - 1):
            found = climb(now, ascent.scale)
            now = ascent.moved(start, now, found.gradient)
        after = climb(now, None)
        with torch.no_grad():
            failed.append(case.failing(now, after.outputs, where).cpu().numpy())
            kept.append(_kept(keeps, start, now, len(where)))
        raised.append((after.values > first.values).double().mean(dim=1).cpu().numpy())
        old.append(to_device(start, "cpu"))
        new.append(to_device(now, "cpu"))
        apart.append(distances(old[-1], new[-1]))
    return Synthesis(
        indices=indices,
        originals=concatenate(old),
        inputs=concatenate(new),
        failed=np.concatenate(failed),
        kept=np.concatenate(kept),
        raised=np.concatenate(raised),
        distances={norm: np.concatenate([one[norm] for one in apart]) for norm in NORMS},
    )


def _kept(keeps: Keeps | None, originals: Any, inputs: Any, rows: int) -> Bools:
    if keeps is None:
        return np.ones(rows, bool)
    return truths(keeps(originals, inputs), rows, "keeps", "the label of the original")
