"""What a fault in training data is: a share of the items, drawn at random, that is altered."""

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
"""Items that must be left to train on."""
PRECISION = 0.05
LOOKED_AT = 64
"""Items that tell a mask from other inputs."""


@dataclass(frozen=True)
class DataOperator(TrainingOperator):
    """A fault in the training data; its strength is the share of items that are chosen, from 0 to 1.

    An author writes `groups` and `altered`. The share is rounded, but at least one item is chosen unless it is 0. With
    one generator a larger share keeps what a smaller one chose.

    Attributes:
        severe: the share that a search tries first.
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
        """The strength's value."""
        assert self.strength is not None
        value: float = getattr(self, self.strength)
        return value

    @final
    def span(self, program: Program) -> Span:
        """From no item to all, or as many as the fault allows."""
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
        """How many are chosen in a group of so many."""
        return how_many(self.amount, size)

    @abstractmethod
    def groups(self, program: Program) -> list[Indices]:
        """The items to choose from; of each group the same share is chosen.

        Raises `NotApplicable`, with the reason, if there is nothing to change.
        """

    @abstractmethod
    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Data:
        """The faulty data. Draws for every item, chosen or not, so that what is drawn does not depend on the share."""


def targets_of(program: Program) -> np.ndarray:
    """Labels ``(n,)``, or numbers ``(n, k)`` for regression; a copy."""
    return program.task.check_targets(program.data.targets, "train")


def kinds(program: Program) -> list[Indices]:
    """The items of each class that occurs; for regression, of each bucket, see `buckets`."""
    targets = targets_of(program)
    found = targets if isinstance(program.task, Classification) else buckets(targets)
    _, which = np.unique(found, axis=0, return_inverse=True)
    which = which.reshape(-1)
    return np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])


def buckets(targets: npt.NDArray[np.float64]) -> Indices:
    """Low, middle or high, ``(n, k)``: for each output, whether it is beyond one standard deviation from its mean.

    DeepCrime's code, for one or two outputs, measures from 0: the same where the mean is 0, but elsewhere nearly all
    targets can be in one bucket.

    >>> buckets(np.array([[9.0], [10.0], [10.0], [11.0]])).ravel()
    array([-1,  0,  0,  1])
    """
    mean, sd = targets.mean(axis=0), targets.std(axis=0)
    found: Indices = (targets > mean + sd).astype(np.int64) - (targets < mean - sd)
    return found


def of_class(program: Program, number: int, code: str) -> Indices:
    """The items of one class."""
    if not isinstance(program.task, Classification):
        raise NotApplicable("targets are real numbers, so there are no classes")
    if number >= program.task.classes:
        raise BadInput(f"{code} of", number, f"a class between 0 and {program.task.classes - 1}")
    found = np.flatnonzero(targets_of(program) == number)
    if not len(found):
        raise NotApplicable(f"no training item is of class {number}")
    return found


def without(data: Data, chosen: Indices) -> Altered:
    """All items but these, in the order in which they were."""
    return Altered(data, np.delete(np.arange(len(data)), chosen))


def noisy_parts(program: Program, numbers: int = 1) -> frozenset[str]:
    """Which inputs can have noise: tensors of real numbers, at least so many per item, that are not masks.

    A mask is one input of several that has only zeros and ones in the first items. Raises `NotApplicable` if there is
    none but masks and whole numbers.
    """
    some = program.data.first(LOOKED_AT)
    real, alone = real_parts(some), len(list(leaves(some))) == 1
    if not real:
        raise NotApplicable("inputs are whole numbers, on which noise makes no sense")
    found = {name: part for name, part in real.items() if alone or bool(((part != 0) & (part != 1)).any())}
    if not found:
        raise NotApplicable("inputs are whole numbers and masks, on which noise makes no sense")
    if all(part[0].numel() < numbers for part in found.values()):
        raise NotApplicable(f"each input has fewer than {numbers} numbers, so they do not vary")
    return frozenset(found)
