"""How inputs are changed: step, distance, range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from mutiny.core.checks import check_positive, check_whole, is_number
from mutiny.core.errors import BadInput
from mutiny.models.activation_gradients import Scale
from mutiny.subjects.data import Data
from mutiny.subjects.data.balls import NORMS, Norm, within
from mutiny.subjects.data.base import CHUNK
from mutiny.subjects.data.nested import leaves, map_leaves

RANGE = 0.1
"""Share of the inputs' range that a change may span if nothing is said (DeepFault)."""
Bound = float | Literal["data"] | None
"""A limit of an input's numbers: a number, that of the data, or none."""


@dataclass(frozen=True)
class Ascent:
    """How inputs are changed.

    Args:
        step: by which the mean gradient of the suspects is multiplied.
        distance: how far a new input may be from its original. It holds whatever the range and ``project`` want.
        norm: of the distance: ``linf`` (DeepFault), ``l2`` or ``l1``.
        steps: DeepFault takes one.
        scale: ``none``, as the paper; ``rms`` divides each neuron's gradient by its root mean square first, as the code
            did when the published numbers were made.
        low: least value of an input's numbers; ``"data"``: as in the data, see `span`; ``None``: no bound.
        high: largest value.
        project: anything else that new inputs must obey: from new inputs to allowed ones. Where these are too far away,
            an input goes towards them as far as it may.
    """

    step: float = 1.0
    distance: float = 0.1
    norm: Norm = "linf"
    steps: int = 1
    scale: Scale = "none"
    low: Bound = "data"
    high: Bound = "data"
    project: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        check_positive("step", self.step)
        check_positive("distance", self.distance)
        if self.norm not in NORMS:
            raise BadInput("norm", repr(self.norm), f"one of {', '.join(NORMS)}")
        if self.scale not in ("none", "rms"):
            raise BadInput("scale", repr(self.scale), "none or rms")
        check_whole("steps", self.steps)
        low, high = (_bound(name, getattr(self, name)) for name in ("low", "high"))
        if low is not None and high is not None and not low < high:
            raise BadInput("low", f"{low:g}", f"a number below high={high:g}")
        if self.project is not None and not callable(self.project):
            raise BadInput("project", repr(self.project), "a function from new inputs to allowed ones")

    def fitted(self, data: Data) -> Ascent:
        """The same with numbers for bounds that were left to the data."""
        if "data" not in (self.low, self.high):
            return self
        low, high = span(data)
        return replace(
            self, low=low if self.low == "data" else self.low, high=high if self.high == "data" else self.high
        )

    def moved(self, start: Any, now: Any, gradient: Any) -> Any:
        """New inputs from present ones, near the first ones and within bounds; what is no real number stays."""

        def away(first: Tensor, present: Tensor, slope: Tensor) -> Tensor:
            return present - first + self.step * slope if first.is_floating_point() else torch.zeros_like(first)

        def there(first: Tensor, change: Tensor) -> Tensor:
            if not first.is_floating_point():
                return first
            return first + change if low is None and high is None else (first + change).clamp(low, high)

        low, high = _bound("low", self.low), _bound("high", self.high)
        change = within(map_leaves(away, start, now, gradient), self.distance, self.norm)
        near = map_leaves(there, start, change)
        return self._nearer(start, near if self.project is None else projected(self.project, near))

    def _nearer(self, start: Any, new: Any) -> Any:
        """Pulls back what the range or the projection took too far; all else stays bit by bit."""
        apart = map_leaves(lambda a, b: b - a if a.is_floating_point() else torch.zeros_like(a), start, new)

        def back(first: Tensor, end: Tensor, far: Tensor, near: Tensor) -> Tensor:
            return torch.where(far == near, end, first + near).to(first.dtype) if first.is_floating_point() else end

        return map_leaves(back, start, new, apart, within(apart, self.distance, self.norm))


def usual(data: Data) -> Ascent:
    """One step of at most a tenth of the inputs' range."""
    low, high = span(data)
    return Ascent(step=high - low, distance=RANGE * (high - low), low=low, high=high)


def span(data: Data) -> tuple[float, float]:
    """The least and the largest number of the inputs; 0 and 1, or 0 and 255, where they lie in there."""
    low, high = np.inf, -np.inf
    for batch in data.batches(CHUNK):
        for _, leaf in leaves(batch):
            if leaf.is_floating_point() and leaf.numel():
                low, high = min(low, float(leaf.min())), max(high, float(leaf.max()))
    if low > high:
        raise BadInput("inputs", "whole numbers", "real numbers, which can change a little")
    if low >= 0 and high <= 255:
        return 0.0, 1.0 if high <= 1 else 255.0
    if low == high:
        raise BadInput(
            "inputs", f"{low:g} everywhere", "numbers that differ, which show how far they can change",
            "Give ascent=mutiny.Ascent(step=..., distance=..., low=..., high=...).",
        )  # fmt: skip
    return low, high


def projected(project: Callable[[Any], Any], inputs: Any) -> Any:
    """What a user's function made of inputs; an error if it has another form."""
    found = project(inputs)
    before = {path: tuple(leaf.shape) for path, leaf in leaves(inputs)}
    after = {path: tuple(getattr(leaf, "shape", ())) for path, leaf in leaves(found)}
    if before != after or not all(isinstance(leaf, Tensor) for _, leaf in leaves(found)):
        raise BadInput(
            "project", f"a function that returns {_form(after)}", f"inputs of the same form, {_form(before)}"
        )
    return found


def _form(shapes: dict[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{path.lstrip('.')} {shape}".strip() for path, shape in shapes.items())


def _bound(name: str, value: Any) -> float | None:
    """A number, or nothing where there is no bound yet."""
    if value is None or (isinstance(value, str) and value == "data"):
        return None
    if not is_number(value) or not isfinite(value):
        raise BadInput(name, repr(value), 'a number, "data" or None')
    return float(value)
