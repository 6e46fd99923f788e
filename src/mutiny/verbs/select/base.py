"""What a selection method is: a frozen set of parameters that scores a pool of unlabeled inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.subjects.tasks import Classification, Regression
from mutiny.verbs.select.evidence import Evidence

Scores = npt.NDArray[np.float64]
Order = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Selector(ABC):
    """One way to choose what to label. The fields are its parameters.

    An author writes `score`; everything public is final. Labels of the pool are never seen.

    Attributes:
        code: the name that users type.
        title: the name in words.
        source: where it was defined.
        tasks: what it works for.
    """

    code: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    tasks: ClassVar[tuple[type, ...]] = (Classification,)

    @abstractmethod
    def score(self, evidence: Evidence) -> Scores:
        """One number per input of the pool, ``(n,)``; higher means: label first. Raises `NotApplicable`."""

    @final
    def rank(self, evidence: Evidence) -> tuple[Order, Scores]:
        """The pool's indices, best first, and the scores. Inputs of equal score come in random order, by the seed."""
        if not isinstance(evidence.task, self.tasks):
            wanted = " or ".join(task.__name__.lower() for task in self.tasks)
            raise NotApplicable(f"{self.code} works for {wanted} only")
        scores = np.asarray(self.score(evidence), dtype=np.float64)
        if scores.shape != (evidence.size,):
            raise TypeError(f"{self.code} gave scores of shape {scores.shape} for {evidence.size} inputs")
        if np.isnan(scores).any():
            raise BadInput(
                self.code, f"a score that is not a number for input {int(np.isnan(scores).argmax())}", "numbers",
                "The activations of this input may be too large for the method.",
            )  # fmt: skip
        return ordered(scores, evidence.rng("ties")), scores

    @final
    def parameters(self) -> dict[str, Any]:
        """The parameters by name, ready for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def _one_of(self, name: str, allowed: tuple[str, ...]) -> None:
        if getattr(self, name) not in allowed:
            raise BadInput(f"{self.code} {name}", repr(getattr(self, name)), f"one of {', '.join(allowed)}")

    def _within(self, name: str, low: float, high: float) -> None:
        value = getattr(self, name)
        whole = any(field.name == name and str(field.type).startswith("int") for field in fields(self))
        number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        if not number or not low <= value <= high:
            kind = "a whole number" if whole else "a number"
            raise BadInput(f"{self.code} {name}", repr(value), f"{kind} between {low:g} and {high:g}")


BOTH = (Classification, Regression)


def ordered(scores: Scores, rng: np.random.Generator) -> Order:
    """Indices by falling score; ties in random order, since a pool's own order often follows its classes.

    >>> ordered(np.array([0.1, 0.9, 0.5]), np.random.default_rng(0)).tolist()
    [1, 2, 0]
    """
    shuffled = rng.permutation(len(scores))
    return shuffled[np.argsort(-scores[shuffled], kind="stable")]


def as_scores(order: Order, size: int) -> Scores:
    """Scores that give this order, for methods that build an order; inputs that are not in it come last, as equals.

    >>> as_scores(np.array([2, 0]), 4).tolist()
    [3.0, 0.0, 4.0, 0.0]
    """
    scores = np.zeros(size)
    scores[order] = np.arange(size, size - len(order), -1)
    return scores
