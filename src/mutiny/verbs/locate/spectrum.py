"""Hit spectra: numbers of passing and failing inputs on which each neuron was active, by class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.core.errors import BadInput
from mutiny.verbs.locate.measures import Counts

Ints = npt.NDArray[np.int64]
ENOUGH = 1024
"""Number of inputs that are counted at once; smaller batches are joined first."""


class Hits(NamedTuple):
    """Activity and outcome of a batch of ``n`` inputs.

    Attributes:
        active: Which neurons are active, ``(n, neurons)`` bool.
        groups: Class of each input, ``(n,)``.
        failed: Which inputs fail, ``(n,)`` bool.
    """

    active: Tensor
    groups: Tensor
    failed: Tensor


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Counts for every neuron of some layers.

    Attributes:
        layers: Names of the layers in execution order.
        sizes: Number of neurons of each layer.
        active: Number of inputs on which each neuron was active, ``(groups, 2, neurons)``: passing, failing.
        inputs: Number of inputs, ``(groups, 2)``: passing, failing.
    """

    layers: tuple[str, ...]
    sizes: tuple[int, ...]
    active: Ints
    inputs: Ints

    @classmethod
    def of(cls, batches: Iterable[Hits], layers: tuple[str, ...], sizes: tuple[int, ...], groups: int) -> Spectrum:
        """Counts all batches, with one matrix product per about a thousand inputs.

        >>> hits = Hits(torch.tensor([[True, False], [True, True]]), torch.tensor([0, 0]), torch.tensor([False, True]))
        >>> Spectrum.of([hits], ("fc",), (2,), 1).counts().ef.tolist()
        [1.0, 1.0]
        """
        active = np.zeros((2 * groups, sum(sizes)), np.int64)
        inputs = np.zeros(2 * groups, np.int64)
        for batch in _together(batches):
            place = 2 * batch.groups.long() + batch.failed.long()
            members = torch.zeros((2 * groups, len(place)), device=batch.active.device)
            members[place, torch.arange(len(place), device=place.device)] = 1
            active += (members @ batch.active.float()).round().long().cpu().numpy()
            inputs += torch.bincount(place, minlength=2 * groups).cpu().numpy()
        return cls(layers, sizes, active.reshape(groups, 2, -1), inputs.reshape(groups, 2))

    @property
    def groups(self) -> int:
        """Number of classes, which are counted separately."""
        return len(self.inputs)

    @cached_property
    def depth(self) -> Ints:
        """Position of each neuron's layer, ``(neurons,)``."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def index(self) -> Ints:
        """Index of each neuron in its layer, ``(neurons,)``."""
        return np.concatenate([np.arange(size) for size in self.sizes]) if self.sizes else np.empty(0, np.int64)

    def failing(self, group: int | None = None) -> int:
        """Number of failing inputs, of one class or of all."""
        return int(self.inputs[:, 1].sum() if group is None else self.inputs[group, 1])

    def passing(self, group: int | None = None) -> int:
        """Number of passing inputs, of one class or of all."""
        return int(self.inputs[:, 0].sum() if group is None else self.inputs[group, 0])

    def counts(self, group: int | None = None, silent: bool = False) -> Counts:
        """The four counts of every neuron, for one class or for all; ``silent`` swaps activity and silence."""
        active = (self.active.sum(axis=0) if group is None else self.active[group]).astype(np.float64)
        ef, ep = active[1], active[0]
        nf, passed = self.failing(group) - ef, self.passing(group) - ep
        return Counts(nf, passed, ef, ep) if silent else Counts(ef, ep, nf, passed)


def check_class(name: str, value: object, classes: int, more: str = "") -> None:
    """Raises an error unless ``value`` is a class; ``more`` completes the message.

    >>> check_class("label", 3, 3)
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: label=3: expected a class between 0 and 2.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < classes:
        raise BadInput(name, repr(value), f"a class between 0 and {classes - 1}{more}")


def _together(batches: Iterable[Hits]) -> Iterator[Hits]:
    """Joins small batches, because each matrix product has a fixed cost."""
    waiting: list[Hits] = []
    for batch in batches:
        waiting.append(batch)
        if sum(len(hits.failed) for hits in waiting) >= ENOUGH:
            yield Hits(*map(torch.cat, zip(*waiting, strict=True)))
            waiting = []
    if waiting:
        yield Hits(*map(torch.cat, zip(*waiting, strict=True)))
