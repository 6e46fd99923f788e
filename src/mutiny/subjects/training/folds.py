"""Folds of the training set, so that each original has inputs that it was not trained on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.core.random import generator_for
from mutiny.subjects.data import Data


@dataclass(frozen=True)
class TrainingSet:
    """The training set of several originals, of which each may leave out one fold.

    Attributes:
        data: All inputs.
        folds: Number of folds; original ``i`` leaves out fold ``i`` modulo this number. ``None`` leaves nothing out.

    >>> from mutiny.subjects.data import as_data
    >>> training = TrainingSet(as_data((np.zeros((10, 1)), np.arange(10)), "train"), folds=5)
    >>> len(training.of(3)), len(training.held_out(3)), len(TrainingSet(training.data).of(3))
    (8, 2, 10)
    """

    data: Data
    folds: int | None = None

    def of(self, original: int) -> Data:
        """Inputs on which an original is trained."""
        return self.data if self.folds is None else self.data.subset(self._positions(original, held_out=False))

    def held_out(self, original: int) -> Data:
        """Inputs on which an original is not trained."""
        return self.data.subset(self._positions(original, held_out=True))

    def _positions(self, original: int, held_out: bool) -> npt.NDArray[np.int64]:
        if self.folds is None:
            return np.arange(0 if held_out else len(self.data))
        fold = generator_for(0, "folds", self.folds).permutation(len(self.data)) % self.folds
        return np.flatnonzero((fold == original % self.folds) == held_out)
