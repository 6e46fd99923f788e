"""Gradient ascent on inputs: step, distance and range."""

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
"""Largest change of an input by default, as a share of the range of the data (DeepFault)."""
SCALES: tuple[Scale, ...] = ("none", "rms")
Bound = float | Literal["data"] | None
"""Bound of the values of inputs: a number, ``"data"`` for that of the data, or ``None``."""


@dataclass(frozen=True)
class Ascent:
    """Gradient ascent on the activity of suspects.

    Args:
        step: Factor of the mean gradient of the suspects.
        distance: Largest distance of a new input from its original; takes precedence over range and ``project``.
        norm: Norm of the distance: ``linf`` (DeepFault), ``l2`` or ``l1``.
        steps: Number of steps; one in DeepFault.
        scale: ``"none"``, as in the paper; ``"rms"`` first divides each neuron's gradient by its root mean square, as
            the code did when the published numbers were made.
        low: Smallest value of an input; ``"data"`` for that of the data, see `span`; ``None`` for no bound.
        high: Largest value of an input, given in the same way.
        project: Function from new inputs to allowed inputs. Where an allowed input is too far from the original, the
            input moves toward it only as far as ``distance`` permits.
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
        if self.scale not in SCALES:
            raise BadInput("scale", repr(self.scale), "none or rms")
        check_whole("steps", self.steps)
        low, high = (_bound(name, getattr(self, name)) for name in ("low", "high"))
        if low is not None and high is not None and not low < high:
            raise BadInput("low", f"{low:g}", f"a number below high={high:g}")
        if self.project is not None and not callable(self.project):
            raise BadInput("project", repr(self.project), "a function from new inputs to allowed ones")

    def fitted(self, data: Data) -> Ascent:
        """A copy in which bounds given as ``"data"`` are numbers."""
        if "data" not in (self.low, self.high):
            return self
        low, high = span(data)
        return replace(
            self, low=low if self.low == "data" else self.low, high=high if self.high == "data" else self.high
        )

    def moved(self, start: Any, now: Any, gradient: Any) -> Any:
        """One step: new inputs within distance and bounds; tensors of whole numbers stay as they are.

        Args:
            start: Original inputs.
            now: Inputs after the previous step.
            gradient: Gradient of the suspects by ``now``.
        """

        def total_change(first: Tensor, present: Tensor, slope: Tensor) -> Tensor:
            return present - first + self.step * slope if first.is_floating_point() else torch.zeros_like(first)

        def changed(first: Tensor, change: Tensor) -> Tensor:
            if not first.is_floating_point():
                return first
            return first + change if low is None and high is None else (first + change).clamp(low, high)

        low, high = _bound("low", self.low), _bound("high", self.high)
        change = within(map_leaves(total_change, start, now, gradient), self.distance, self.norm)
        new = map_leaves(changed, start, change)
        return self._within_distance(start, new if self.project is None else projected(self.project, new))

    def _within_distance(self, start: Any, new: Any) -> Any:
        """Pulls back inputs that the bounds or the projection moved too far; all others stay bit for bit."""
        change = map_leaves(lambda a, b: b - a if a.is_floating_point() else torch.zeros_like(a), start, new)

        def pulled(first: Tensor, end: Tensor, far: Tensor, near: Tensor) -> Tensor:
            return torch.where(far == near, end, first + near).to(first.dtype) if first.is_floating_point() else end

        return map_leaves(pulled, start, new, change, within(change, self.distance, self.norm))


def check_ascent(value: object) -> None:
    """Raises `BadInput` unless a value is an `Ascent`, the name of a scale, or ``None``."""
    if not (value is None or isinstance(value, Ascent) or (isinstance(value, str) and value in SCALES)):
        raise BadInput("ascent", repr(value), "a mutiny.Ascent, none or rms")


def usual(data: Data) -> Ascent:
    """The default: one step of at most a tenth of the range of the data."""
    low, high = span(data)
    return Ascent(step=high - low, distance=RANGE * (high - low), low=low, high=high)


def span(data: Data) -> tuple[float, float]:
    """Smallest and largest value of the inputs; 0 and 1, or 0 and 255, if all values lie in that range."""
    low, high = np.inf, -np.inf
    for batch in data.batches(CHUNK):
        for _, leaf in leaves(batch):
            if leaf.is_floating_point() and leaf.numel():
                low, high = min(low, float(leaf.min())), max(high, float(leaf.max()))
    if low > high:
        raise BadInput("inputs", "whole numbers", "real numbers, which can change in small steps")
    if low >= 0 and high <= 255:
        return 0.0, 1.0 if high <= 1 else 255.0
    if low == high:
        fix = "Give ascent=mutiny.Ascent(step=..., distance=..., low=..., high=...)."
        raise BadInput("inputs", f"{low:g} everywhere", "values that differ, which give the range", fix)
    return low, high


def projected(project: Callable[[Any], Any], inputs: Any) -> Any:
    """Inputs that a user's function returns for inputs; an error if their form changes."""
    result = project(inputs)
    before = {path: tuple(leaf.shape) for path, leaf in leaves(inputs)}
    after = {path: tuple(getattr(leaf, "shape", ())) for path, leaf in leaves(result)}
    if before != after or not all(isinstance(leaf, Tensor) for _, leaf in leaves(result)):
        raise BadInput(
            "project", f"a function that returns {_form(after)}", f"inputs of the same form, {_form(before)}"
        )
    return result


def _form(shapes: dict[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{path.lstrip('.')} {shape}".strip() for path, shape in shapes.items())


def _bound(name: str, value: Any) -> float | None:
    """A bound as a number; ``None`` for no bound, or for one that is left to the data."""
    if value is None or (isinstance(value, str) and value == "data"):
        return None
    if not is_number(value) or not isfinite(value):
        raise BadInput(name, repr(value), 'a number, "data" or None')
    return float(value)
