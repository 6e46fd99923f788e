"""Data whose items are mutated as they are read; an item is mutated in the same way in each pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.subjects.data.base import Data
from mutiny.subjects.data.nested import leaves
from mutiny.subjects.data.sources import as_pool

Indices = npt.NDArray[np.int64]


class Mutation(Protocol):
    """Interface of input mutations: `Benign` for images, `Noise` for other inputs, or a class of the user."""

    def fitted(self, data: Data) -> Mutation:
        """A copy that knows the properties of the data that it needs, such as the range of values."""

    def apply(self, inputs: Any, indices: npt.ArrayLike, seed: int, purpose: str) -> Any:
        """The mutated inputs, in shape, type and device as before.

        Args:
            inputs: Tensor, or tuples, lists and dicts of tensors, all with ``n`` rows.
            indices: Numbers of the items in their data set, ``(n,)``. An item's mutation depends on its number,
                ``seed`` and ``purpose``, not on its batch.
            seed: Seed of everything random.
            purpose: Purpose of the mutants, e.g. ``"pool"``; different purposes give different mutants.
        """


class MutatedData(Data):
    """Items of other data, each mutated; targets stay. Mutants are not stored but computed in each pass.

    Args:
        clean: Original items, with or without targets, as for `mutate`.
        mutate: Mutation, which is fitted to ``clean`` first.
        seed: Seed of everything random.
        purpose: Purpose of the mutants; different purposes give different mutants.
        items: Item numbers that determine the mutations, ``(n,)``; the positions by default.

    >>> import torch
    >>> from mutiny import Noise
    >>> pool = MutatedData(([[1.0], [3.0]], [0, 1]), Noise())
    >>> torch.equal(pool.subset([1]).first(1), pool.first(2)[1:])
    True
    """

    def __init__(
        self, clean: Any, mutate: Mutation, seed: int = 0, purpose: str = "pool", items: Indices | None = None
    ) -> None:
        self.clean: Data = clean if isinstance(clean, Data) else as_pool(clean, "clean")
        self.mutate = mutate.fitted(self.clean)
        self.seed, self.purpose = seed, purpose
        self.items = item_numbers(np.arange(len(self.clean)) if items is None else items, len(self.clean))
        self.targets, self.classes = self.clean.targets, self.clean.classes

    def read(self, indices: slice | np.ndarray) -> Any:
        """Reads and mutates these items."""
        return self.mutate.apply(self.clean.read(indices), self.items[indices], self.seed, self.purpose)

    def select(self, indices: np.ndarray) -> MutatedData:
        """The same mutants at other positions."""
        return MutatedData(self.clean.select(indices), self.mutate, self.seed, self.purpose, self.items[indices])


def per_item(
    seed: int, keys: tuple[str, ...], items: Indices, block: int, draw: Callable[[np.random.Generator], np.ndarray]
) -> np.ndarray:
    """Random rows, one per item, that depend on the item's number and not on the other items.

    Creating a generator takes 35 µs, so ``block`` successive items share one.

    Args:
        seed: Seed of everything random.
        keys: Purpose of the numbers.
        items: Numbers of the items, ``(n,)``.
        block: Number of items that share a generator.
        draw: Function that draws the rows of a block, ``(block, ...)``.

    >>> rows = per_item(0, ("demo",), np.array([5, 9, 5]), 4, lambda rng: rng.random(4))
    >>> bool(rows[0] == rows[2]), bool(rows[0] == rows[1])
    (True, False)
    """
    blocks, places = np.divmod(items, block)
    used, which = np.unique(blocks, return_inverse=True)
    numbers = used.tolist() or [0]  # for the shape of the result if there are no items
    table = np.concatenate([draw(generator_for(seed, *keys, number)) for number in numbers])
    rows: np.ndarray = table[which * block + places]
    return rows


def item_numbers(indices: npt.ArrayLike, n: int | None = None) -> Indices:
    """Checked numbers of items, ``(n,)``."""
    numbers = np.asarray(indices)
    whole = numbers.dtype.kind in "iu" or not numbers.size
    if numbers.ndim != 1 or not whole or (numbers < 0).any() or n not in (None, len(numbers)):
        count = "a list of" if n is None else f"{n}, one per item:"
        raise BadInput("indices", f"{numbers.dtype} of shape {numbers.shape}", f"{count} whole numbers of at least 0")
    return numbers.astype(np.int64)


def named(inputs: Any) -> dict[str, Tensor]:
    """All tensors of a model's inputs by name; a single one has the name ``""``.

    >>> import torch
    >>> list(named((torch.zeros(1), {"angle": torch.zeros(1)})))
    ['0', '1.angle']
    """
    return {path.removeprefix("."): leaf for path, leaf in leaves(inputs)}


def described(parts: dict[str, Tensor]) -> str:
    """Types and shapes of tensors, for error messages.

    >>> import torch
    >>> described({"0": torch.zeros(2, 3), "1": torch.arange(2)})
    '0: float32 (2, 3), 1: int64 (2,)'
    """
    return ", ".join(
        f"{name}: " * bool(name) + f"{str(leaf.dtype).removeprefix('torch.')} {tuple(leaf.shape)}"
        for name, leaf in parts.items()
    )
