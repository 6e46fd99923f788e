"""View of a split with items removed, repeated, reordered, relabeled or with noise. Nothing is copied."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.core.errors import BadInput
from mutiny.subjects.data.base import Data
from mutiny.subjects.data.mutated import Indices, item_numbers, named, per_item
from mutiny.subjects.data.nested import map_leaves
from mutiny.subjects.data.noise import NUMBERS

Sizes = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ItemNoise:
    """Gaussian noise on the real numbers of some items. Whole numbers, such as token ids, stay as they are.

    Items that are padded to different lengths in different batches get different noise in each.

    Args:
        sd: Standard deviation at each position, ``(n,)``; 0 where there is no noise.
        seed: Seed of the noise.
        relative: Whether ``sd`` is in units of the standard deviation of an item's own numbers, tensor by tensor.
        parts: Names of the tensors with noise, see `named`; all tensors of real numbers by default.
        items: Item numbers that determine the noise, ``(n,)``; the positions by default.
    """

    sd: Sizes
    seed: int
    relative: bool = False
    parts: frozenset[str] | None = None
    items: Indices | None = None

    def __post_init__(self) -> None:
        if self.sd.ndim != 1 or not (np.isfinite(self.sd) & (self.sd >= 0)).all():
            raise BadInput("sd", f"{self.sd.dtype} of shape {self.sd.shape}", "a number of at least 0 per item")
        items = np.arange(len(self.sd)) if self.items is None else self.items
        object.__setattr__(self, "items", item_numbers(items, len(self.sd)))

    def at(self, indices: slice | np.ndarray) -> ItemNoise:
        """The noise of the items at these positions."""
        assert self.items is not None
        return replace(self, sd=self.sd[indices], items=self.items[indices])

    @torch.no_grad()
    def added(self, inputs: Any) -> Any:
        """Copy of the inputs, ``n`` rows each, with noise."""
        if not self.sd.any():
            return inputs
        noisy = real_parts(inputs, self.parts)
        changed = {id(leaf): self._noisy(name, leaf) for name, leaf in noisy.items()}
        return map_leaves(lambda leaf: changed.get(id(leaf), leaf), inputs)

    def _noisy(self, name: str, tensor: Tensor) -> Tensor:
        assert self.items is not None
        rows = np.flatnonzero(self.sd)
        shape = tensor.shape[1:]
        block = max(1, NUMBERS // max(1, shape.numel()))  # depends on the shape only, so that batches do not matter

        def draw(rng: np.random.Generator) -> np.ndarray:
            return rng.standard_normal((block, *shape), dtype=np.float32)

        normal = per_item(self.seed, ("item noise", name), self.items[rows], block, draw)
        places = torch.from_numpy(rows).to(tensor.device)
        sd = torch.from_numpy(self.sd[rows]).to(tensor.device)
        if self.relative:
            sd = sd * tensor[places].reshape(len(rows), -1).double().std(dim=1, correction=0)
        noise = torch.from_numpy(normal).to(tensor) * sd.to(tensor.dtype).reshape(-1, *[1] * len(shape))
        return tensor.index_add(0, places, noise)


def real_parts(inputs: Any, parts: frozenset[str] | None = None) -> dict[str, Tensor]:
    """Tensors of real numbers among a model's inputs; with ``parts``, only those of these names.

    >>> list(real_parts({"ids": torch.arange(2), "mask": torch.ones(2), "when": torch.rand(2)}, frozenset(["when"])))
    ['when']
    """
    real = {name: leaf for name, leaf in named(inputs).items() if leaf.is_floating_point()}
    return real if parts is None else {name: leaf for name, leaf in real.items() if name in parts}


class Altered(Data):
    """Items of other data, reordered, removed, repeated, with other targets or with noise.

    Args:
        clean: Data that the items come from.
        order: Indices of the items, ``(n,)``; all by default.
        targets: New targets, ``(n,)`` or ``(n, k)``; unchanged by default.
        noise: Noise on the inputs, for each of the ``n`` positions.

    >>> from mutiny.subjects.data import as_data
    >>> data = Altered(as_data(([[1.0], [2.0], [3.0]], [0, 1, 0]), "train"), np.array([2, 0, 0]), np.array([1, 0, 1]))
    >>> data.read(slice(1, 3)).tolist(), data.subset([2, 0]).targets.tolist()
    ([[1.0], [1.0]], [1, 1])
    """

    def __init__(
        self,
        clean: Data,
        order: Indices | None = None,
        targets: np.ndarray | None = None,
        noise: ItemNoise | None = None,
    ) -> None:
        self.clean = clean
        self.order = item_numbers(np.arange(len(clean)) if order is None else order)
        if (self.order >= len(clean)).any():
            raise BadInput("order", int(self.order.max()), f"numbers between 0 and {len(clean) - 1}")
        self.targets = clean.targets[self.order] if targets is None else targets
        self.noise = noise
        for name, length in (("targets", len(self.targets)), ("noise", len(self if noise is None else noise.sd))):
            if length != len(self.order):
                raise BadInput(name, f"{length} of them", f"{len(self.order)}, one per item")
        self.classes = clean.classes
        self.names = None if clean.names is None else tuple(clean.names[index] for index in self.order.tolist())

    def read(self, indices: slice | np.ndarray) -> Any:
        """Reads these items and adds their noise."""
        inputs = self.clean.read(self.order[indices])
        return inputs if self.noise is None else self.noise.at(indices).added(inputs)

    def select(self, indices: np.ndarray) -> Altered:
        """The same items, with the same noise, at other positions."""
        noise = None if self.noise is None else self.noise.at(indices)
        return Altered(self.clean, self.order[indices], self.targets[indices], noise)
