"""Distances between inputs, and projection onto balls around inputs."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.subjects.data.nested import leaves, map_leaves

Floats = npt.NDArray[np.float64]
Norm = Literal["linf", "l2", "l1"]
ROUNDING = 1e-12
"""Share by which a change is shortened below the largest distance, so that rounding cannot exceed it."""
NORMS: tuple[Norm, ...] = ("linf", "l2", "l1")


def within(change: Any, distance: float, norm: Norm) -> Any:
    """Projects changes onto the ball with radius ``distance``.

    >>> within(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0, "l2")
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    if norm == "linf":
        return map_leaves(lambda tensor: tensor.clamp(-distance, distance), change)
    flat = torch.cat([tensor.flatten(1) for _, tensor in leaves(change)], dim=1)
    if norm == "l2":
        factor = (distance / flat.norm(dim=1).clamp_min(distance)).to(flat.dtype)
        return map_leaves(lambda tensor: tensor * factor.reshape(-1, *[1] * (tensor.ndim - 1)), change)
    limit = _shrinkage(flat.abs(), distance)
    return map_leaves(
        lambda tensor: tensor.sign() * (tensor.abs() - limit.reshape(-1, *[1] * (tensor.ndim - 1))).clamp_min(0), change
    )


def _shrinkage(sizes: Tensor, distance: float) -> Tensor:
    """Amount by which the numbers of each row must shrink to sum to ``distance``, ``(n,)`` (Duchi et al., 2008)."""
    ordered = sizes.sort(dim=1, descending=True).values
    excess = (ordered.cumsum(dim=1) - distance) / torch.arange(1, sizes.shape[1] + 1, device=sizes.device)
    last = (ordered > excess).sum(dim=1) - 1
    return excess.gather(1, last.clamp_min(0)[:, None])[:, 0].clamp_min(0)


class Ball:
    """Set of inputs within a distance of a center and within a range of values, also after rounding.

    Args:
        center: Inputs within the range, ``(n, ...)``.
        distance: Radius.
        norm: Norm of the distance.
        low: Smallest value of an input's numbers.
        high: Largest value of an input's numbers.

    >>> ball = Ball(torch.tensor([[0.5, 0.95]]), 0.1, "linf", 0.0, 1.0)
    >>> ball.inside(torch.tensor([[0.7, 2.0]]))
    tensor([[0.6000, 1.0000]])
    """

    def __init__(self, center: Tensor, distance: float, norm: Literal["linf", "l2"], low: float, high: float) -> None:
        self.center, self.distance, self.norm, self.low, self.high = center, distance, norm, low, high
        if norm == "linf":
            far = torch.full_like(widest(center), distance)
            self._least, self._most = (_moved(center, change).clamp(low, high) for change in (-far, far))

    def near(self, new: Tensor) -> Tensor:
        """Nearest inputs inside the ball, up to rounding; fast enough for intermediate steps."""
        if self.norm == "linf":
            return torch.clamp(new, self._least, self._most).to(self.center.dtype)
        center = self.center.to(new.dtype)
        nearest: Tensor = center + within(new - center, self.distance, "l2")
        return nearest.clamp(self.low, self.high).to(self.center.dtype)

    def inside(self, new: Tensor) -> Tensor:
        """Nearest inputs inside the ball; no number is rounded away from the center."""
        if self.norm == "linf":
            return self.near(new)
        center = widest(self.center)
        change = widest(new) - center
        size = change.flatten(1).norm(dim=1).reshape(-1, *[1] * (new.ndim - 1))
        change = torch.where(size > self.distance, change * (self.distance * (1 - ROUNDING) / size), change)
        return _moved(self.center, change).clamp(self.low, self.high)


def widest(values: Tensor) -> Tensor:
    """Values in double precision, or in single precision on devices without it."""
    return values.float() if values.device.type == "mps" else values.double()


def _moved(center: Tensor, change: Tensor) -> Tensor:
    """The center with changes in double precision, rounded toward the center."""
    exact = widest(center)
    moved = (exact + change).to(center.dtype)
    beyond = (widest(moved) - exact).abs() > change.abs()
    return torch.where(beyond, torch.nextafter(moved, center), moved)


def distances(old: Any, new: Any) -> dict[Norm, Floats]:
    """Distances between inputs in all norms, ``(n,)`` each.

    >>> {name: float(value[0]) for name, value in distances(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]])).items()}
    {'linf': 4.0, 'l2': 5.0, 'l1': 7.0}
    """
    pairs = [(a, b) for (_, a), (_, b) in zip(leaves(old), leaves(new), strict=True) if a.is_floating_point()]
    differences = torch.cat([(b.double() - a.double()).flatten(1) for a, b in pairs], dim=1).abs()
    orders: dict[Norm, float] = {"linf": float("inf"), "l2": 2.0, "l1": 1.0}
    return {name: torch.linalg.vector_norm(differences, order, dim=1).numpy() for name, order in orders.items()}
