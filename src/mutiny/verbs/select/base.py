"""Base class of selection methods, which score a pool of unlabeled inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from mutiny.core.checks import check_one_of
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.parsing import parameters_of
from mutiny.subjects.tasks import Classification, Regression
from mutiny.verbs.select.evidence import Evidence

Scores = npt.NDArray[np.float64]
Order = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Selector(ABC):
    """A method that chooses inputs to label. Its fields are its parameters.

    Subclasses define `score`; the other public methods are final. Labels of the pool are not available.

    Attributes:
        code: Name that users type.
        title: Name in words.
        source: Publication that defines it.
        tasks: Kinds of tasks that it supports.
    """

    code: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    tasks: ClassVar[tuple[type, ...]] = (Classification,)

    @abstractmethod
    def score(self, evidence: Evidence) -> Scores:
        """One number per input of the pool, ``(n,)``, the inputs to label first highest. May raise `NotApplicable`."""

    @final
    def rank(self, evidence: Evidence) -> tuple[Order, Scores]:
        """Indices of the pool, best first, and the scores. The seed decides the order of inputs with equal scores."""
        if not isinstance(evidence.task, self.tasks):
            wanted = " or ".join(task.__name__.lower() for task in self.tasks)
            raise NotApplicable(f"{self.code} works for {wanted} only")
        scores = np.asarray(self.score(evidence), dtype=np.float64)
        if scores.shape != (evidence.size,):
            raise TypeError(f"{self.code} gave scores of shape {scores.shape} for {evidence.size} inputs")
        if np.isnan(scores).any():
            raise BadInput(
                self.code,
                f"a score that is not a number for input {int(np.isnan(scores).argmax())}",
                "numbers",
                "The activations of this input may be too large for the method.",
            )
        return ordered(scores, evidence.rng("ties")), scores

    @final
    def parameters(self) -> dict[str, Any]:
        """Parameters by name, as JSON values."""
        return parameters_of(self)

    def _one_of(self, name: str, allowed: tuple[str, ...]) -> None:
        """Raises `BadInput` unless the parameter has one of the allowed values."""
        check_one_of(f"{self.code} {name}", getattr(self, name), allowed)

    def _within(self, name: str, low: float, high: float) -> None:
        """Raises `BadInput` unless the parameter is a number between the bounds, whole if its annotation is ``int``."""
        value = getattr(self, name)
        whole = any(field.name == name and str(field.type).startswith("int") for field in fields(self))
        number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        if not number or not low <= value <= high:
            kind = "a whole number" if whole else "a number"
            raise BadInput(f"{self.code} {name}", repr(value), f"{kind} between {low:g} and {high:g}")


BOTH = (Classification, Regression)
"""Value of `Selector.tasks` for methods that need no classes."""


def ordered(scores: Scores, rng: np.random.Generator) -> Order:
    """Indices by decreasing score; ties in random order, because the order of a pool often follows its classes.

    >>> ordered(np.array([0.1, 0.9, 0.5]), np.random.default_rng(0)).tolist()
    [1, 2, 0]
    """
    shuffled = rng.permutation(len(scores))
    return shuffled[np.argsort(-scores[shuffled], kind="stable")]


def as_scores(order: Order, size: int) -> Scores:
    """Scores that result in this order, for methods that build an order; inputs not in it are tied at the end.

    >>> as_scores(np.array([2, 0]), 4).tolist()
    [3.0, 0.0, 4.0, 0.0]
    """
    scores = np.zeros(size)
    scores[order] = np.arange(size, size - len(order), -1)
    return scores
