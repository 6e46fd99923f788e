"""Operators that change the training data.

DeepCrime's change a share of the items of some classes (TCL, TRD, TUD, TAN, TCO), DeepMutation's a share of all items
or of one class (DR, LE, DM, DF, NP).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.checks import check_positive, check_whole
from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Program
from mutiny.faults.training.data_operator import (
    LEFT,
    DataOperator,
    Indices,
    RemovalOperator,
    items_by_class,
    items_of_class,
    noisy_parts,
    targets_of,
)
from mutiny.subjects.data.altered import Altered, ItemNoise
from mutiny.subjects.tasks import Classification, Regression


@dataclass(frozen=True)
class LabelChange(DataOperator):
    """Relabels a share of the most frequent class; each item gets a random other class that occurs. DeepCrime.

    Among equally frequent classes, the one with the lowest number is used. For regression, every target gets noise
    ``N(0, (share * sd)^2)``, where ``sd`` is the standard deviation of its output over all items (DeepCrime's code: of
    all outputs together).

    Args:
        share: Share of the class; for regression, size of the noise.
        of: Class to relabel; the most frequent if ``None``.
    """

    code: ClassVar[str] = "TCL"
    title: ClassVar[str] = "change labels"
    source: ClassVar[str] = "DeepCrime"
    strength: ClassVar[str | None] = "share"

    share: float = 0.5
    of: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("TCL of", 0 if self.of is None else self.of, 0)

    def groups(self, program: Program) -> list[Indices]:
        """The most frequent class, or all items for regression."""
        chosen = None if self.of is None else items_of_class(program, self.of, self.code)
        if isinstance(program.task, Regression):
            if not np.ptp(targets_of(program), axis=0).any():
                raise NotApplicable("all targets are equal, so their standard deviation, the unit of the noise, is 0")
            return [np.arange(len(program.data))]
        classes = items_by_class(program)
        if len(classes) < 2:
            raise NotApplicable("only one class occurs, so there is no other label to give")
        return [max(classes, key=len) if chosen is None else chosen]

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """Changes the labels of the chosen items, or adds noise to all targets for regression."""
        targets = targets_of(program)
        if isinstance(program.task, Regression):
            noise = self.share * targets.std(axis=0) * rng.standard_normal(targets.shape)
            return Altered(program.data, targets=targets + noise)
        others = np.setdiff1d(targets, targets[self.groups(program)[0][:1]])
        targets[chosen] = others[rng.integers(len(others), size=len(targets))][chosen]
        return Altered(program.data, targets=targets)


@dataclass(frozen=True)
class DataRemoval(RemovalOperator):
    """Removes a share of each class, but never its last item. DeepCrime.

    For regression, removes a share of each bucket, see `mutiny.faults.training.data_operator.buckets`.

    Args:
        share: Share of each class.
    """

    code: ClassVar[str] = "TRD"
    title: ClassVar[str] = "remove training data"
    source: ClassVar[str] = "DeepCrime"
    strength: ClassVar[str | None] = "share"
    severe: ClassVar[float] = 0.99
    tries: ClassVar[str] = "share 0 to 0.99"

    share: float = 0.5

    def groups(self, program: Program) -> list[Indices]:
        """Classes with more than one item."""
        groups = [group for group in items_by_class(program) if len(group) > 1]
        if not groups:
            raise NotApplicable("each class or bucket has only one item, which must stay")
        return groups

    def count(self, size: int) -> int:
        """As given by the share, but one item stays."""
        return min(size - 1, super().count(size))


@dataclass(frozen=True)
class DataUnbalance(RemovalOperator):
    """Removes a share of each class that is smaller than the mean size of the classes that occur. DeepCrime.

    A share of 1 removes these classes entirely. For regression, buckets take the place of classes, see
    `mutiny.faults.training.data_operator.buckets`; empty ones do not count.

    Args:
        share: Share of each class that is smaller than the mean.
    """

    code: ClassVar[str] = "TUD"
    title: ClassVar[str] = "unbalance training data"
    source: ClassVar[str] = "DeepCrime"
    strength: ClassVar[str | None] = "share"

    share: float = 0.5

    def groups(self, program: Program) -> list[Indices]:
        """Classes smaller than the mean."""
        classes = items_by_class(program)
        small = [group for group in classes if len(group) * len(classes) < len(program.data)]
        if not small:
            raise NotApplicable(f"no class or bucket is smaller than the mean: all have {len(classes[0])} items")
        return small


@dataclass(frozen=True)
class NoiseAddition(DataOperator):
    """Adds Gaussian noise to a share of the items, in units of the standard deviation of an item's numbers. DeepCrime.

    MUFF's text gives the share of items only and leaves the size of the noise open; DeepCrime's code uses the share for
    both, and so does the default. With several inputs, each gets noise by its own standard deviation (DeepCrime: only
    the first gets noise); whole numbers and masks of zeros and ones beside other inputs stay unchanged.

    Args:
        share: Share of the items.
        sd: Standard deviation of the noise in those units; the share if ``None``.
    """

    code: ClassVar[str] = "TAN"
    title: ClassVar[str] = "add noise to training data"
    source: ClassVar[str] = "DeepCrime"
    strength: ClassVar[str | None] = "share"

    share: float = 0.5
    sd: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("TAN sd", 1.0 if self.sd is None else self.sd)

    def groups(self, program: Program) -> list[Indices]:
        """All items."""
        noisy_parts(program, 2)
        return [np.arange(len(program.data))]

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """Adds noise to the chosen items."""
        sd = np.zeros(len(program.data))
        sd[chosen] = self.share if self.sd is None else self.sd
        seed, parts = int(rng.integers(2**63)), noisy_parts(program, 2)
        return Altered(program.data, noise=ItemNoise(sd, seed, relative=True, parts=parts))


@dataclass(frozen=True)
class ClassOverlap(DataOperator):
    """Repeats a share of the largest class with the label of the second largest. DeepCrime.

    Of classes of equal size, the one with the lower number comes first. For regression, buckets take the place of
    classes, see `mutiny.faults.training.data_operator.buckets`, and each copy has the target of a random item of the
    second largest (DeepCrime's code: its distinct targets in turn, from the lowest).

    Args:
        share: Share of the largest class.
    """

    code: ClassVar[str] = "TCO"
    title: ClassVar[str] = "make classes overlap"
    source: ClassVar[str] = "DeepCrime"
    strength: ClassVar[str | None] = "share"

    share: float = 0.5

    def groups(self, program: Program) -> list[Indices]:
        """The largest class."""
        return _two_largest(program)[:1]

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """Appends the copies to all items."""
        second, targets = _two_largest(program)[1], targets_of(program)
        given = targets[second[rng.integers(len(second), size=len(targets))]]
        order = np.concatenate([np.arange(len(targets)), chosen])
        return Altered(program.data, order, np.concatenate([targets, given[chosen]]))


def _two_largest(program: Program) -> list[Indices]:
    largest = sorted(items_by_class(program), key=len, reverse=True)[:2]
    if len(largest) < 2:
        raise NotApplicable("only one class or bucket occurs, so it cannot overlap with another")
    return largest


@dataclass(frozen=True)
class GlobalOrLocal(DataOperator):
    """Base class of DeepMutation's operators: a ratio of all items (global) or of the items of one class (local).

    Args:
        ratio: Share of these items.
        of: Class to choose items from; all items if ``None``.
    """

    source: ClassVar[str] = "DeepMutation"
    strength: ClassVar[str | None] = "ratio"
    tries: ClassVar[str] = "ratio 0 to 1"

    ratio: float = 0.01
    of: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(f"{self.code} of", 0 if self.of is None else self.of, 0)

    def groups(self, program: Program) -> list[Indices]:
        """All items, or those of the class."""
        return [np.arange(len(program.data)) if self.of is None else items_of_class(program, self.of, self.code)]


@dataclass(frozen=True)
class DataRepetition(GlobalOrLocal):
    """Appends copies of a share of the items, at most one of each. DeepMutation, source level.

    Args:
        ratio: Share of the items.
        of: Class to choose items from; all items if ``None``.
    """

    code: ClassVar[str] = "DR"
    title: ClassVar[str] = "data repetition"

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """Appends the copies to all items."""
        del rng
        return Altered(program.data, np.concatenate([np.arange(len(program.data)), chosen]))


@dataclass(frozen=True)
class LabelError(GlobalOrLocal):
    """Gives a share of the items another label, drawn from all labels of the task. DeepMutation, source level.

    Args:
        ratio: Share of the items.
        of: Class to choose items from; all items if ``None``.
    """

    code: ClassVar[str] = "LE"
    title: ClassVar[str] = "label error"

    def groups(self, program: Program) -> list[Indices]:
        """All items, or those of the class."""
        if not isinstance(program.task, Classification):
            raise NotApplicable("targets are real numbers, so there is no other label to give")
        return super().groups(program)

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """Adds a random number between 1 and classes - 1 to the chosen labels, modulo the number of classes."""
        assert isinstance(program.task, Classification)
        labels, classes = targets_of(program), program.task.classes
        moved = (labels + rng.integers(1, classes, size=len(labels))) % classes
        labels[chosen] = moved[chosen]
        return Altered(program.data, targets=labels)


@dataclass(frozen=True)
class DataMissing(RemovalOperator, GlobalOrLocal):
    """Removes a share of the items regardless of class, but at least two items stay. DeepMutation, source level.

    Args:
        ratio: Share of the items; a ratio of 1 can remove a whole class.
        of: Class to choose items from; all items if ``None``.
    """

    code: ClassVar[str] = "DM"
    title: ClassVar[str] = "data missing"
    severe: ClassVar[float] = 0.99
    tries: ClassVar[str] = "ratio 0 to 0.99"

    def groups(self, program: Program) -> list[Indices]:
        """All items, or those of the class."""
        if len(program.data) <= LEFT:
            raise NotApplicable(f"too few items to remove one: {len(program.data)}")
        return super().groups(program)

    def count(self, size: int) -> int:
        """As given by the ratio; two items of all stay, but a whole class can go."""
        return super().count(size) if self.of is not None else min(max(0, size - LEFT), super().count(size))


@dataclass(frozen=True)
class DataShuffle(GlobalOrLocal):
    """Permutes a share of the items in one random cycle, so that each of them moves. DeepMutation, source level.

    At least two items are chosen. Labels move with their items, so only the order changes; because training shuffles
    the items in each epoch anyway, this has little effect. With ``labels_stay``, inputs move but labels stay.

    Args:
        ratio: Share of the items.
        of: Class to choose items from; all items if ``None``.
        labels_stay: Whether targets stay in their places.
    """

    code: ClassVar[str] = "DF"
    title: ClassVar[str] = "data shuffle"

    labels_stay: bool = False

    def groups(self, program: Program) -> list[Indices]:
        """All items, or those of the class; at least two."""
        groups = super().groups(program)
        if len(groups[0]) < 2:
            raise NotApplicable("a single item cannot be shuffled")
        return groups

    def count(self, size: int) -> int:
        """As given by the ratio, but at least two unless it is 0."""
        return max(2, super().count(size)) if self.ratio else 0

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """Moves each chosen item to the place of the one chosen before it."""
        del rng
        order = np.arange(len(program.data))
        order[chosen] = np.roll(chosen, -1)
        return Altered(program.data, order, program.data.targets if self.labels_stay else None)


@dataclass(frozen=True)
class NoisePerturbation(GlobalOrLocal):
    """Adds Gaussian noise ``N(0, sd^2)`` to a share of the items. DeepMutation, source level.

    Whole numbers, and masks of zeros and ones beside other inputs, stay unchanged.

    Args:
        ratio: Share of the items.
        of: Class to choose items from; all items if ``None``.
        sd: Standard deviation of the noise, in the unit of the inputs; 0.1 is meant for inputs between 0 and 1.
    """

    code: ClassVar[str] = "NP"
    title: ClassVar[str] = "noise perturbation"

    sd: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("NP sd", self.sd)

    def groups(self, program: Program) -> list[Indices]:
        """All items, or those of the class, if the inputs are real numbers."""
        noisy_parts(program)
        return super().groups(program)

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """Adds noise to the chosen items."""
        sd = np.zeros(len(program.data))
        sd[chosen] = self.sd
        return Altered(program.data, noise=ItemNoise(sd, int(rng.integers(2**63)), parts=noisy_parts(program)))
