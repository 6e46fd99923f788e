"""What a result says about its subject: frozen records, one class per verb on a common base.

The attribute ``source`` is the key ``from`` in JSON, which Python reserves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mutiny.core.from_plain import expect, expect_least


def json_key(name: str) -> Any:
    """A dataclass field whose key in JSON is ``name``; its default is an empty string."""
    return field(default="", metadata={"key": name})


def omitted_if_none() -> Any:
    """A dataclass field with the default ``None`` that JSON leaves out while it is ``None``."""
    return field(default=None, metadata={"omit_none": True})


@dataclass(frozen=True)
class TaskRecord:
    """What the model is for.

    Attributes:
        kind: ``"classification"`` or ``"regression"``.
        metric: name of the metric, such as ``"accuracy"``.
        classes: number of classes; classification only.
        outputs: ``"logits"`` or ``"probabilities"``; classification only.
        tolerance: largest absolute error that counts as correct; regression only.
    """

    kind: str
    metric: str
    classes: int | None = omitted_if_none()
    outputs: str | None = omitted_if_none()
    tolerance: float | None = omitted_if_none()


@dataclass(frozen=True)
class SplitRecord:
    """One set of inputs, and the metric of the originals on it.

    Attributes:
        inputs: number of inputs.
        metric_mean: mean over originals.
        metric_sd: standard deviation over originals; ``None`` for one original.
        metrics: one value per original.
    """

    inputs: int
    metric_mean: float
    metric_sd: float | None = None
    metrics: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        expect_least(self.inputs, "subject.splits: inputs")


@dataclass(frozen=True)
class PoolRecord:
    """The inputs to choose from.

    Attributes:
        inputs: number of inputs.
        source: where they come from.
        labeled: whether their labels are known.
    """

    inputs: int
    source: str = json_key("from")
    labeled: bool = False

    def __post_init__(self) -> None:
        expect_least(self.inputs, "subject.pool.inputs")


@dataclass(frozen=True)
class SubjectRecord:
    """What was tested: the name of the subject, and the class name of the model."""

    name: str
    model: str


@dataclass(frozen=True)
class ModelAndInputs(SubjectRecord):
    """A model and the inputs on which it was examined, as in `attack` and `repair`.

    Attributes:
        task: what the model is for.
        inputs: number of inputs.
        source: where they come from.
    """

    task: TaskRecord
    inputs: int
    source: str = json_key("from")


@dataclass(frozen=True)
class AssessedSubject(SubjectRecord):
    """The subject of `assess`.

    Attributes:
        originals: number of originals.
        task: what the model is for.
        splits: the sets of inputs by name: ``train``, ``test``, and ``weak`` if there is one.
        layers: names of the layers that operators can change.
        pool: number of inputs in the subject's pool; ``None`` without a pool.
        more_originals: whether the subject's recipe can train more originals.
    """

    originals: int
    task: TaskRecord
    splits: Mapping[str, SplitRecord]
    layers: tuple[str, ...] = ()
    pool: int | None = None
    more_originals: bool = False

    def __post_init__(self) -> None:
        expect_least(self.originals, "subject.originals")
        expect_least(self.pool, "subject.pool")


@dataclass(frozen=True)
class RankedPool(PoolRecord):
    """The pool of `select`; ``wrong`` is the number of wrong answers, ``None`` if labels are not known."""

    wrong: int | None = None


@dataclass(frozen=True)
class RankedSubject(SubjectRecord):
    """The subject of `select`: originals, task and pool."""

    originals: int
    task: TaskRecord
    pool: RankedPool


@dataclass(frozen=True)
class StrengthenedSubject(SubjectRecord):
    """The subject of `strengthen`.

    Attributes:
        originals: number of originals.
        task: what the model is for.
        test: number of test inputs.
        pool: inputs to choose from; ``None`` if only a smaller test set was searched.
    """

    originals: int
    task: TaskRecord
    test: int
    pool: PoolRecord | None = None

    def __post_init__(self) -> None:
        expect_least(self.originals, "subject.originals")
        expect_least(self.test, "subject.test")


@dataclass(frozen=True)
class LocatedSubject(ModelAndInputs):
    """The subject of `locate`: also the number of hidden neurons, in all and by layer."""

    neurons: int = 0
    layers: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes = self.layers.values()
        expect(all(0 < size < 2**31 for size in sizes), "subject.layers", [*sizes], "sizes of at least 1")
