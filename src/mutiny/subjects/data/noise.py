"""Noise: a mutation for inputs that are not images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.core.errors import BadInput
from mutiny.subjects.data.base import CHUNK, Data
from mutiny.subjects.data.mutated import described, item_numbers, named, per_item
from mutiny.subjects.data.nested import map_leaves

Moments = tuple[int, Tensor, Tensor]
"""Number of rows, and each feature's mean and sum of squared deviations from it."""
NUMBERS = 4096
"""Number of normal numbers drawn from one generator; at least those of one item."""


@dataclass(frozen=True)
class Noise:
    """Gaussian noise on every real number, for inputs that are not images: tables, signals, volumes.

    The NSS paper mutates images only. Whole numbers, such as token ids, stay as they are, and so do
    features that never vary.

    Args:
        sd: Standard deviation of the noise, in units of each feature's standard deviation over the data.
        part: Name of the tensor if the model has several inputs, e.g. ``"signal"``; all real tensors by default.
        spread: Standard deviations of the features, by tensor; `fitted` takes them from the data.

    >>> noise = Noise(sd=0.5, spread={"": torch.tensor([1.0, 0.0])})
    >>> (noise.apply(torch.zeros(2, 2), [0, 1], seed=0, purpose="pool") != 0).tolist()
    [[True, False], [True, False]]
    """

    sd: float = 0.1
    part: str | None = None
    spread: dict[str, Tensor] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.sd < float("inf"):
            raise BadInput("sd", self.sd, "a number of at least 0")

    def fitted(self, data: Data) -> Noise:
        """A copy with the ``spread`` of the data, unless it is set. Takes one pass over the data."""
        if self.spread is not None:
            return self
        seen: dict[str, Moments] = {}
        for batch in data.batches(CHUNK):
            for name, tensor in self._noisy(batch).items():
                seen[name] = with_rows(seen.get(name), tensor.double().cpu())
        return replace(self, spread={name: (squares / n).sqrt() for name, (n, _, squares) in seen.items()})

    @torch.no_grad()
    def apply(self, inputs: Any, indices: npt.ArrayLike, seed: int, purpose: str) -> Any:
        """The inputs with noise, see `Mutation.apply`."""
        changed: dict[int, Tensor] = {}
        for name, tensor in self._noisy(inputs).items():
            spread = (self.spread or {}).get(name)
            if spread is None or spread.shape != tensor.shape[1:]:
                raise BadInput(
                    "spread",
                    None if spread is None else f"shape {tuple(spread.shape)}",
                    f"standard deviations of shape {tuple(tensor.shape[1:])} for {name or 'the inputs'}",
                    "Use Noise().fitted(data).",
                )
            block = max(
                1, NUMBERS // max(1, spread.numel())
            )  # depends on the shape only, so that batches do not matter
            items, keys = item_numbers(indices, len(tensor)), ("noise", purpose, name)
            normal = per_item(seed, keys, items, block, _normal(block, *spread.shape))
            changed[id(tensor)] = tensor + self.sd * spread.to(tensor) * torch.from_numpy(normal).to(tensor)
        return map_leaves(lambda leaf: changed.get(id(leaf), leaf), inputs)

    def _noisy(self, inputs: Any) -> dict[str, Tensor]:
        """Tensors that get noise, by name."""
        tensors = named(inputs)
        real = {name: leaf for name, leaf in tensors.items() if leaf.is_floating_point() and self.part in (None, name)}
        if not real:
            raise BadInput(
                "inputs",
                described(tensors),
                "real numbers" + (f" in part {self.part}" if self.part else ""),
                "Noise cannot change whole numbers such as token ids: give mutate= a Mutation that can.",
            )
        return real


def with_rows(before: Moments | None, rows: Tensor) -> Moments:
    """Moments after more rows, ``(n, ...)``: the update of Chan, Golub and LeVeque, 1983.

    >>> with_rows(with_rows(None, torch.tensor([1.0, 3.0])), torch.tensor([5.0]))
    (3, tensor(3.), tensor(8.))
    """
    n, mean = len(rows), rows.mean(0)
    squares = (rows - mean).square().sum(0)
    if before is None:
        return n, mean, squares
    old_n, old_mean, old_squares = before
    if mean.shape != old_mean.shape:
        raise BadInput(
            "inputs",
            f"items of shapes {tuple(old_mean.shape)} and {tuple(mean.shape)}",
            "items of one shape",
            "Pad all items to one size.",
        )
    gap, total = mean - old_mean, old_n + n
    return total, old_mean + gap * (n / total), old_squares + squares + gap.square() * (old_n * n / total)


def _normal(*shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.standard_normal(shape, dtype=np.float32)
