"""Costs on few held-out inputs, made more precise by costs on training inputs.

On a few hundred inputs, the cost of one fault is known to within a point or so, and faults end up in wrong bins. On the
training inputs it is known better, but in a unit of its own if the network memorizes. The ratio of the two units is one
number for nearly all faults, so a few hundred inputs suffice for it. The cost of a fault is then the mean of its cost
on held-out inputs and of its scaled cost on training inputs, each weighted by its precision.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

LARGEST_RATIO = 10.0
"""The ratio, and its inverse, are cut here."""
DIFFERENT = 0.3
"""Assumed standard deviation among faults of (cost on new inputs / scaled cost on training inputs).

Measured for WI, NI, GF and NEB: 0.10 on MNIST and 0.17 on Fashion-MNIST, at most 0.21 for one of them."""


class MeasuredCost(NamedTuple):
    """A cost as some inputs show it.

    Attributes:
        value: The cost.
        error: Its standard error, for inputs drawn like these.
    """

    value: float
    error: float


class CostScale:
    """Ratio of costs on held-out inputs to costs on training inputs, over all faults added so far.

    Args:
        limits: Faults count if their cost on training inputs is in this range; faults outside add more noise than
            information.
        prior: Total cost, on both kinds of inputs, of imagined faults that cost the same on both.

    >>> scale = CostScale((0.25, 16.0))
    >>> for trained, held_out in ((2.0, 1.0), (4.0, 2.0), (90.0, 89.0)):
    ...     scale.add(trained, held_out)
    >>> scale.ratio
    0.5
    """

    def __init__(self, limits: tuple[float, float], prior: float = 0.0) -> None:
        self.limits, self._trained, self._held_out = limits, prior, prior

    def add(self, trained: float, held_out: float) -> None:
        """Adds a fault with its costs on training inputs and on held-out inputs."""
        if self.limits[0] <= trained < self.limits[1]:
            self._trained += trained
            self._held_out += held_out

    @property
    def ratio(self) -> float:
        """The ratio; 1 without faults."""
        if self._trained <= 0:
            return 1.0
        return min(max(self._held_out / self._trained, 1 / LARGEST_RATIO), LARGEST_RATIO)

    @classmethod
    def of(cls, costs: Iterable[tuple[float, float]], limits: tuple[float, float]) -> CostScale:
        """The scale of faults with costs on training inputs and on held-out inputs."""
        scale = cls(limits)
        for trained, held_out in costs:
            scale.add(trained, held_out)
        return scale


def scale_limits(edges: tuple[float, ...]) -> tuple[float, float]:
    """Range of costs on training inputs that tell the scale: the bins, and a factor of two on both sides."""
    return edges[0] / 2, 2 * edges[-1]


def combined_cost(ratio: float, limits: tuple[float, float], trained: MeasuredCost, held_out: MeasuredCost) -> float:
    """Cost of a fault from its costs on both kinds of inputs, each weighted by its precision.

    >>> round(combined_cost(0.5, (0.25, 16.0), MeasuredCost(3.0, 0.1), MeasuredCost(2.0, 0.9)), 2)
    1.6
    """
    weight = trained_weight(ratio, limits, trained, held_out)
    return weight * ratio * trained.value + (1 - weight) * held_out.value


def trained_weight(ratio: float, limits: tuple[float, float], trained: MeasuredCost, held_out: MeasuredCost) -> float:
    """Weight of the scaled cost on training inputs in the cost of a fault; 0 far above the bins."""
    scaled = ratio * trained.value
    variance = (DIFFERENT * scaled) ** 2 + (ratio * trained.error) ** 2
    total = variance + held_out.error**2
    return held_out.error**2 / total if trained.value < limits[1] and total > 0 else 0.0
