"""What one network answers to a test set: all that a gate is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mutiny.core.errors import BadInput
from mutiny.core.stats.samples import Floats

UNDEFINED = -1
"""Predicted class where the outputs are not numbers."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GateAnswers:
    """Answers of one network to the inputs of a test set.

    Attributes:
        targets: Classes ``(n,)``, or numbers ``(n, outputs)`` for regression.
        correct: Which answers are correct, ``(n,)``; for regression, those within the tolerance of the task.
        metric: Metric of the task: ``accuracy``, ``mse`` or ``mae``.
        classes: Number of classes; ``None`` for regression.
        predicted: Predicted classes ``(n,)``. An undefined answer is -1: wrong, and of no class.
        probabilities: Probabilities ``(n, classes)``.
        losses: Share of each input in the metric of a regression, ``(n,)``.
        values: Outputs of a regression, ``(n, outputs)``.

    >>> right = np.array([0, 1, 1])
    >>> GateAnswers(targets=right, predicted=right, correct=right == right, classes=2).confusion().tolist()
    [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    """

    targets: NDArray[np.generic]
    correct: NDArray[np.bool_]
    metric: str = "accuracy"
    classes: int | None = None
    predicted: NDArray[np.integer] | None = None
    probabilities: NDArray[np.floating] | None = None
    losses: NDArray[np.floating] | None = None
    values: NDArray[np.floating] | None = None

    def __post_init__(self) -> None:
        inputs = len(self.correct)
        if not inputs:
            raise BadInput("test set", "no inputs", "at least one input")
        for name in ("targets", "predicted", "probabilities", "losses", "values"):
            given = getattr(self, name)
            if given is not None and len(given) != inputs:
                raise BadInput(name, f"{len(given)} rows", f"one row for each of {inputs} inputs")

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return len(self.correct)

    def mean(self, of: NDArray[np.generic], weights: Floats | None = None) -> float:
        """Mean over inputs of values ``(n,)``.

        Args:
            of: The values.
            weights: How often each input counts, ``(n,)``; once by default.
        """
        if weights is None:
            # An exact count first: a share of inputs is then the number that a script would compute.
            total = np.count_nonzero(of) if of.dtype == bool else of.sum(dtype=np.float64)
            return float(total) / len(of)
        return float(weights @ np.asarray(of, np.float64) / weights.sum())

    def confusion(self, weights: Floats | None = None) -> Floats:
        """Inputs by class and predicted class, ``(classes, classes + 1)``; the last column has undefined answers."""
        return self._unweighted_confusion if weights is None else self._counted(weights)

    @cached_property
    def _unweighted_confusion(self) -> Floats:
        return self._counted(None)

    @cached_property
    def _cells(self) -> NDArray[np.int64]:
        assert self.predicted is not None
        assert self.classes is not None
        said = np.where(self.predicted == UNDEFINED, self.classes, self.predicted)
        return self.targets.astype(np.int64) * (self.classes + 1) + said

    def _counted(self, weights: Floats | None) -> Floats:
        assert self.classes is not None
        shape = self.classes, self.classes + 1
        return np.bincount(self._cells, weights, shape[0] * shape[1]).reshape(shape).astype(np.float64)

    @cached_property
    def ranks(self) -> tuple[NDArray[np.int64], ...]:
        """For each class, place of each input among the distinct probabilities of the class, ``(n,)``."""
        assert self.probabilities is not None
        return tuple(np.unique(column, return_inverse=True)[1] for column in self.probabilities.T)

    @cached_property
    def has_undefined_probabilities(self) -> bool:
        """Whether some probability is not a number."""
        return self.probabilities is not None and bool(np.isnan(self.probabilities).any())
