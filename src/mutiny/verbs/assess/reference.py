"""The reference set: inputs that are independent of the test set, on which the cost of faults is measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from mutiny.core.errors import BadInput
from mutiny.subjects import Subject
from mutiny.subjects.data import Data
from mutiny.subjects.data.labels import matched, unknown
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training.own import OwnTraining

FOLDS = 5
"""Number of folds of the training set, one of which each original of a recipe is trained without."""
FEWEST_HELD_OUT = 250
"""Smallest useful fold; on smaller ones, the noise of costs would move the notice rate by more than three points."""
FEWEST_INDEPENDENT = 100
"""Fewest inputs that must remain of a set from which tests are left out."""
PRECISE = 2000
"""Costs measured on this many inputs are precise; with fewer, they are measured on training inputs, too."""
MOST_UNLABELED, MOST_TRAINED = 3000, 5000
"""Inputs of an unlabeled pool, or training inputs beside others, that are used at most; more would take time and hardly
change the rate."""
KINDS = {
    "validation": "validation inputs",
    "pool": "labeled inputs of the pool",
    "folds": "training inputs that each original was not trained on",
    "unlabeled": "unlabeled inputs of the pool, by expectation",
    "train": "training inputs",
}
"""Kinds of reference sets, best first, in words."""
ARGUMENTS = {"validation": "validation", "pool": "pool", "folds": "train", "unlabeled": "pool", "train": "train"}
"""Arguments of the subject from which reference sets come, by kind."""
PARTS = {"validation": "validation inputs", "pool": "inputs of the pool", "train": "training inputs"}
"""Inputs of these arguments, in words."""


class Overlap(NamedTuple):
    """Tests among the inputs on which costs could be measured.

    Attributes:
        inputs: The inputs in words, from `PARTS`.
        tests: Number of them that are tests, which are left out.
        size: Number of them with the tests.
    """

    inputs: str
    tests: int
    size: int


@dataclass(frozen=True)
class Reference:
    """Inputs on which the cost of faults is measured.

    Attributes:
        kind: One of `KINDS`.
        sets: Inputs by the name of their split. There is one set for all originals, or one for each fold, or, for
            an unlabeled pool, one for each original, because the other originals predict its labels.
        trained: Training inputs by the name of their split, as many sets; empty if the reference set is large. If it is
            small, costs are measured on them, too: with less noise, and scaled to costs on the reference set.
        overlaps: Tests that are left out of the sets.
    """

    kind: str
    sets: dict[str, Data]
    trained: dict[str, Data] = field(default_factory=dict)
    overlaps: tuple[Overlap, ...] = ()

    def split(self, original: int) -> str:
        """Name of the split for an original."""
        names = [*self.sets]
        return names[original % len(names)]

    def trained_split(self, original: int) -> str | None:
        """Name of the split with the training inputs of an original on which costs are measured, or ``None``."""
        names = [*self.trained]
        return names[original % len(names)] if names else None

    def splits(self, original: int) -> list[str]:
        """Names of all splits on which the faults of an original are measured."""
        return [name for name in (self.split(original), self.trained_split(original)) if name is not None]

    @property
    def inputs(self) -> int:
        """Number of inputs for each original, at least."""
        return min(len(data) for data in self.sets.values())

    @property
    def inputs_per_fault(self) -> int:
        """Number of inputs on which each fault is measured."""
        return self.inputs + min(map(len, self.trained.values()), default=0)


def with_folds(subject: Subject) -> Subject:
    """The subject, which holds out folds for its originals if there is no better reference set, and if they suffice."""
    if subject.models or subject.recipe is None or subject.train is None or _labeled(subject) is not None:
        return subject
    if isinstance(subject.recipe, OwnTraining) and "data" not in subject.recipe.obeys:
        return subject  # it trains on data of its own, whatever is held out
    return subject.holding_out(FOLDS) if len(subject.train) >= FOLDS * FEWEST_HELD_OUT else subject


def reference_of(subject: Subject, originals: int, tests: Data | None = None) -> Reference | None:
    """The best reference set of a subject; ``None`` if it has none.

    Args:
        subject: Subject, from `with_folds`.
        originals: Number of originals.
        tests: Test set. Inputs that equal one of its inputs are left out, whatever their targets are. ``None`` leaves
            nothing out and reads no inputs.

    Raises:
        BadInput: Hardly any inputs remain.
    """
    if tests is not None and subject.folds is not None:
        subject.training.data.digests()  # folds take theirs from these, so that each input is hashed once
    found = _best(subject, originals)
    if found is None:
        return None
    if tests is None:
        return replace(found, trained=_trained(subject, found))
    known = frozenset(tests.digests())
    kept = replace(found, sets=_without(found.sets, known, ARGUMENTS[found.kind]))
    trained = _trained(subject, kept)
    if found.kind == "folds":
        compared = [("train", subject.training.data)]
    else:
        shared = next(iter(found.sets.values()))
        compared = [(ARGUMENTS[found.kind], shared), *(("train", data) for data in trained.values())]
    overlaps = tuple(_overlaps(compared, known))
    return replace(kept, trained=_without(trained, known, "train"), overlaps=overlaps)


def _best(subject: Subject, originals: int) -> Reference | None:
    """The best reference set, without training inputs beside it."""
    labeled = _labeled(subject)
    if labeled is not None:
        return labeled
    if subject.folds is not None:
        folds = range(min(originals, subject.folds))
        return Reference("folds", {f"fold {fold + 1}": subject.training.held_out(fold) for fold in folds})
    unlabeled = _unlabeled(subject)
    if unlabeled is not None:
        return Reference("unlabeled", {f"pool for original {number + 1}": unlabeled for number in range(originals)})
    return None if subject.train is None else Reference("train", {"train": subject.train})


def _trained(subject: Subject, reference: Reference) -> dict[str, Data]:
    """Training inputs on which costs are measured, too; none if the reference set is large."""
    if reference.kind not in ("validation", "pool", "folds") or not _small(reference.sets):
        return {}
    if reference.kind == "folds":
        folds = range(len(reference.sets))
        return {f"all but fold {fold + 1}": some(subject.training.of(fold), MOST_TRAINED) for fold in folds}
    if subject.train is None or len(subject.train) <= reference.inputs:
        return {}
    return {"train": some(subject.train, MOST_TRAINED)}


def _overlaps(compared: Iterable[tuple[str, Data]], tests: frozenset[bytes]) -> Iterator[Overlap]:
    """The overlap of each set of inputs with the tests, if there is one; sets are those of arguments of the subject."""
    for argument, data in compared:
        count = sum(digest in tests for digest in data.digests())
        if count:
            yield Overlap(PARTS[argument], count, len(data))


def _small(sets: dict[str, Data]) -> bool:
    return min(map(len, sets.values())) < PRECISE


def _labeled(subject: Subject) -> Reference | None:
    """The validation set, or the pool if all its labels are known."""
    if subject.validation is not None:
        return Reference("validation", {"validation": subject.validation})
    if subject.pool is None:
        return None
    pool = matched(subject.pool, subject.train, subject.task)
    if unknown(pool.targets, subject.task):
        return None
    return Reference("pool", {"pool": pool})


def _unlabeled(subject: Subject) -> Data | None:
    """A part of the pool, whose labels are unknown, if it is large enough."""
    pool = subject.pool
    if pool is None or not isinstance(subject.task, Classification) or len(pool) < FEWEST_HELD_OUT:
        return None
    return some(pool, MOST_UNLABELED)


def _without(sets: Mapping[str, Data], tests: frozenset[bytes], argument: str) -> dict[str, Data]:
    """The sets without tests; one object where several originals share a set.

    Args:
        sets: Inputs by the name of their split.
        tests: Hashes of the test inputs.
        argument: Argument of the subject from which the sets come, for the error if too few inputs remain.
    """
    kept = dict[int, Data]()
    for name, data in sets.items():
        if id(data) not in kept:
            part = "" if name == argument or argument == "pool" else f" ({name})"
            kept[id(data)] = _independent(data, tests, argument, part)
    return {name: kept[id(data)] for name, data in sets.items()}


def _independent(data: Data, tests: frozenset[bytes], argument: str, part: str) -> Data:
    new = np.array([digest not in tests for digest in data.digests()], bool)
    if new.all():
        return data
    if new.sum() < FEWEST_INDEPENDENT:
        raise BadInput(
            argument,
            f"{int((~new).sum()):,} of {len(data):,} inputs that are in the test set{part}",
            f"at least {FEWEST_INDEPENDENT} inputs that are not",
            "The cost of faults cannot be measured on the test set that should notice them.",
        )
    return data.subset(new)


def some(data: Data, most: int) -> Data:
    """At most ``most`` inputs, evenly spaced."""
    return data if len(data) <= most else data.subset(spread(len(data), most))


def spread(size: int, most: int) -> np.ndarray:
    """Positions of at most ``most`` inputs, evenly spaced."""
    return np.unique(np.linspace(0, size - 1, min(size, most)).astype(np.int64))
