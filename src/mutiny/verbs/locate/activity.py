"""When a neuron is active: three readings of "above the threshold", which DeepFault leaves open."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import isfinite
from typing import ClassVar

import torch
from torch import Tensor

from mutiny.core.checks import is_number
from mutiny.core.errors import BadInput
from mutiny.core.parsing import Names, described
from mutiny.models.capture import scaled

AT_ONCE = 2**22
"""Number of values that are sorted at once; bounds the memory of quantiles."""


@dataclass(frozen=True)
class Activity(ABC):
    """Decides from a neuron's value whether it is active."""

    code: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    needs_values: ClassVar[bool] = False
    """Whether `fitted` must see values of the neurons first."""

    @abstractmethod
    def active(self, values: Tensor, sizes: tuple[int, ...]) -> Tensor:
        """Which neurons are active, ``(n, neurons)`` bool.

        Args:
            values: One value per input and neuron, layer after layer, ``(n, neurons)``.
            sizes: Number of neurons of each layer.
        """

    def fitted(self, values: Tensor) -> Activity:
        """A copy fitted to the values of neurons on a sample of inputs, ``(m, neurons)``."""
        del values
        return self

    def __str__(self) -> str:
        return described(self, self.code, without="limits")


@dataclass(frozen=True)
class Above(Activity):
    """A neuron is active if its value is above the threshold; the value of a channel is its mean over positions.

    Args:
        threshold: Threshold; 0, as in DeepFault's code, by default.
    """

    code: ClassVar[str] = "above"
    title: ClassVar[str] = "a fixed threshold"
    source: ClassVar[str] = "DeepFault"

    threshold: float = 0.0

    def __post_init__(self) -> None:
        if not is_number(self.threshold) or not isfinite(self.threshold):
            raise BadInput("active", repr(self.threshold), "a threshold that is a finite number")

    def active(self, values: Tensor, sizes: tuple[int, ...]) -> Tensor:
        """Values above the threshold."""
        del sizes
        return values > self.threshold


@dataclass(frozen=True)
class Quantile(Activity):
    """A neuron is active if its value is above a quantile of its own values, so that all are active equally often.

    Args:
        share: Share of the inputs on which a neuron is silent.
        limits: Quantile of each neuron; set by `fitted`.
    """

    code: ClassVar[str] = "quantile"
    title: ClassVar[str] = "a quantile of each neuron"
    source: ClassVar[str] = "mutiny"
    needs_values: ClassVar[bool] = True

    share: float = 0.5
    limits: Tensor | None = None

    def __post_init__(self) -> None:
        if not is_number(self.share) or not 0 <= self.share <= 1:
            raise BadInput("quantile share", repr(self.share), "a number between 0 and 1")

    def fitted(self, values: Tensor) -> Quantile:
        """The quantile of each neuron."""
        step = max(1, AT_ONCE // max(1, len(values)))
        limits = [part.double().quantile(self.share, dim=0) for part in torch.split(values, step, dim=1)]
        return replace(self, limits=torch.cat(limits).to(values.dtype))

    def active(self, values: Tensor, sizes: tuple[int, ...]) -> Tensor:
        """Values above the quantile of each neuron."""
        del sizes
        if self.limits is None:
            raise ValueError("expected a fitted activity: call fitted(values) first")
        return values > self.limits.to(values.device)


@dataclass(frozen=True)
class Scaled(Activity):
    """A neuron is active if its value, scaled so that its layer spans 0 to 1 on each input, is above the threshold.

    Args:
        threshold: Number from 0 to below 1.
    """

    code: ClassVar[str] = "scaled"
    title: ClassVar[str] = "scaled within the layer"
    source: ClassVar[str] = "Pei et al., DeepXplore, SOSP 2017"

    threshold: float = 0.5

    def __post_init__(self) -> None:
        if not is_number(self.threshold) or not 0 <= self.threshold < 1:
            raise BadInput("scaled threshold", repr(self.threshold), "a number from 0 to below 1")

    def active(self, values: Tensor, sizes: tuple[int, ...]) -> Tensor:
        """Scaled values above the threshold."""
        return torch.cat([scaled(layer) for layer in torch.split(values, list(sizes), dim=1)], dim=1) > self.threshold


ACTIVITIES: dict[str, type[Activity]] = {kind.code: kind for kind in (Above, Quantile, Scaled)}
NAMES = Names("actives", Activity, ACTIVITIES, "quantile(share=0.9)")
"""Its argument, without the plural, is the name in messages: ``active``."""


def as_activity(wanted: str | float | Activity) -> Activity:
    """An `Activity` from its name, or from a threshold.

    >>> as_activity(0.1), str(as_activity("quantile(share=0.9)"))
    (Above(threshold=0.1), 'quantile(share=0.9)')
    """
    if isinstance(wanted, Activity):
        return wanted
    number = _number(wanted)
    if number is not None:
        return Above(number)
    parsed = NAMES.parse(wanted) if isinstance(wanted, str) else ()
    if len(parsed) != 1:
        raise BadInput("active", repr(wanted), f"a threshold, or one of {', '.join(ACTIVITIES)}")
    activity: Activity = parsed[0]
    return activity


def _number(wanted: str | float) -> float | None:
    """A number, or a text that is one, as a threshold; otherwise ``None``."""
    try:
        return float(wanted) if isinstance(wanted, str) or is_number(wanted) else None
    except ValueError:
        return None
