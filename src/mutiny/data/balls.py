"""How far inputs are from others, and the nearest ones that are not too far."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.data.nested import leaves, map_leaves

Floats = npt.NDArray[np.float64]
Norm = Literal["linf", "l2", "l1"]
NORMS: tuple[Norm, ...] = ("linf", "l2", "l1")


def within(change: Any, distance: float, norm: Norm) -> Any:
    """Changes no longer than ``distance``, each the nearest such to what was given.

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
    """By how much all numbers of a row must shrink until they sum to ``distance``, ``(n,)`` (Duchi et al., 2008)."""
    ordered = sizes.sort(dim=1, descending=True).values
    excess = (ordered.cumsum(dim=1) - distance) / torch.arange(1, sizes.shape[1] + 1, device=sizes.device)
    last = (ordered > excess).sum(dim=1) - 1
    return excess.gather(1, last.clamp_min(0)[:, None])[:, 0].clamp_min(0)


def distances(old: Any, new: Any) -> dict[Norm, Floats]:
    """How far apart inputs are, ``(n,)`` each.

    >>> {name: float(value[0]) for name, value in distances(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]])).items()}
    {'linf': 4.0, 'l2': 5.0, 'l1': 7.0}
    """
    pairs = [(a, b) for (_, a), (_, b) in zip(leaves(old), leaves(new), strict=True) if a.is_floating_point()]
    apart = torch.cat([(b.double() - a.double()).flatten(1) for a, b in pairs], dim=1).abs()
    orders: dict[Norm, float] = {"linf": float("inf"), "l2": 2.0, "l1": 1.0}
    return {name: torch.linalg.vector_norm(apart, order, dim=1).numpy() for name, order in orders.items()}
