"""Base class of the operators that change the training data, and functions that choose items."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np
import numpy.typing as npt

from mutiny.core.checks import is_number
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults.random_choice import choose, how_many
from mutiny.faults.training.base import Level, Program, Span, TrainingOperator
from mutiny.subjects.data import Data
from mutiny.subjects.data.altered import Altered, real_parts
from mutiny.subjects.data.nested import leaves
from mutiny.subjects.tasks import Classification

Indices = npt.NDArray[np.int64]
LEFT = 2
"""Items that must remain to train on."""
PRECISION = 0.05
INSPECTED = 64
"""Items inspected to tell masks from other inputs."""


@dataclass(frozen=True)
class DataOperator(TrainingOperator):
    """A fault in the training data; its strength is the share of items that are chosen, from 0 to 1.

    An author writes `groups` and `altered`. The share is rounded, but at least one item is chosen unless it is 0. With
    the same generator, a larger share keeps the items chosen by a smaller one.

    Attributes:
        severe: Share tried first by a search.
    """

    level: ClassVar[Level] = "data"
    severe: ClassVar[float] = 1.0
    tries: ClassVar[str] = "share 0 to 1"

    def __post_init__(self) -> None:
        value = self.amount
        if not is_number(value) or not 0 <= value <= 1:
            raise BadInput(f"{self.code} {self.strength}", repr(value), "a number between 0 and 1")

    @property
    def amount(self) -> float:
        """Value of the strength."""
        assert self.strength is not None
        value: float = getattr(self, self.strength)
        return value

    @final
    def span(self, program: Program) -> Span:
        """From no items to all, or to as many as the operator allows."""
        self.groups(program)
        return Span(0.0, self.severe, PRECISION)

    @final
    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """Chooses items in each group and alters them."""
        keys = rng.random(len(program.data))
        groups = self.groups(program)
        chosen = np.concatenate([group[choose(keys[group], self.count(len(group)))] for group in groups])
        data = self.altered(program, chosen, rng)
        if len(data) < LEFT:
            raise NotApplicable(f"too few items would be left: {len(data)} of {len(program.data)}")
        return replace(program, data=data)

    def count(self, size: int) -> int:
        """Number of items chosen in a group of this size."""
        return how_many(self.amount, size)

    @abstractmethod
    def groups(self, program: Program) -> list[Indices]:
        """Groups of items to choose from; the same share is chosen in each.

        Raises `NotApplicable`, with the reason, if there is nothing to change.
        """

    @abstractmethod
    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Data:
        """The faulty data. Must draw for every item, chosen or not, so that draws do not depend on the share."""


@dataclass(frozen=True)
class RemovalOperator(DataOperator):
    """A data operator that removes the chosen items. An author writes `groups`."""

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """All items except the chosen, in their order."""
        del rng
        return Altered(program.data, np.delete(np.arange(len(program.data)), chosen))


def targets_of(program: Program) -> np.ndarray:
    """A copy of the targets: labels ``(n,)``, or numbers ``(n, k)`` for regression."""
    return program.task.check_targets(program.data.targets, "train")


def items_by_class(program: Program) -> list[Indices]:
    """Items of each class that occurs; for regression, of each bucket, see `buckets`."""
    targets = targets_of(program)
    classes = targets if isinstance(program.task, Classification) else buckets(targets)
    _, which = np.unique(classes, axis=0, return_inverse=True)
    which = which.reshape(-1)
    return np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])


def buckets(targets: npt.NDArray[np.float64]) -> Indices:
    """Bucket of each target and output, ``(n, k)``: -1, 0 or 1 for below, within or above mean plus or minus one SD.

    DeepCrime's code, for one or two outputs, measures from 0 instead of the mean, which can put nearly all targets in
    one bucket if the mean is not 0.

    >>> buckets(np.array([[9.0], [10.0], [10.0], [11.0]])).ravel()
    array([-1,  0,  0,  1])
    """
    mean, sd = targets.mean(axis=0), targets.std(axis=0)
    bucket: Indices = (targets > mean + sd).astype(np.int64) - (targets < mean - sd)
    return bucket


def items_of_class(program: Program, number: int, code: str) -> Indices:
    """Items of one class."""
    if not isinstance(program.task, Classification):
        raise NotApplicable("targets are real numbers, so there are no classes")
    if number >= program.task.classes:
        raise BadInput(f"{code} of", number, f"a class between 0 and {program.task.classes - 1}")
    items = np.flatnonzero(targets_of(program) == number)
    if not len(items):
        raise NotApplicable(f"no training item is of class {number}")
    return items


def noisy_parts(program: Program, numbers: int = 1) -> frozenset[str]:
    """Inputs that can have noise: tensors of real numbers that are not masks, with at least ``numbers`` per item.

    A mask is one of several inputs and has only zeros and ones in the first items. Raises `NotApplicable` if all inputs
    are masks or whole numbers.
    """
    items = program.data.first(INSPECTED)
    real, alone = real_parts(items), len(list(leaves(items))) == 1
    if not real:
        raise NotApplicable("inputs are whole numbers, to which noise cannot be added")
    parts = {name: part for name, part in real.items() if alone or bool(((part != 0) & (part != 1)).any())}
    if not parts:
        raise NotApplicable("inputs are whole numbers and masks, to which noise cannot be added")
    if all(part[0].numel() < numbers for part in parts.values()):
        raise NotApplicable(f"each input has fewer than {numbers} numbers, so they do not vary")
    return frozenset(parts)
