"""Accuracy in equal parts of a pool by score, to see whether the scores of a method tell where the model fails."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from mutiny.core.errors import BadInput
from mutiny.core.stats.samples import Floats, sample
from mutiny.verbs.select.metrics import flags


@dataclass(frozen=True)
class Correlation:
    """Pearson's and Spearman's coefficients; ``None`` where one side does not vary."""

    pearson: float | None
    spearman: float | None


def partition_accuracy(scores: ArrayLike, correct: ArrayLike, parts: int = 10) -> Floats:
    """Accuracy in equal parts of the pool, lowest scores first. NSS, Fig. 4.

    Inputs with equal scores share their accuracy, so the order of the pool does not matter.

    Args:
        scores: Score of each input, ``(n,)``.
        correct: Whether the model is right, ``(n,)``.
        parts: Number of parts; their sizes differ by one at most, larger ones first.

    Returns:
        Accuracies, ``(parts,)``.

    >>> partition_accuracy([0.1, 0.9, 0.2, 0.8], [True, False, True, True], parts=2)
    array([1. , 0.5])
    """
    values, right = sample(scores, "scores"), flags(correct, "correct")
    if values.shape != right.shape:
        raise BadInput("scores", f"{values.size} values", f"one for each of {right.size} inputs")
    if not 1 <= parts <= values.size:
        raise BadInput("parts", parts, f"from 1 to {values.size}, the inputs of the pool")
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    shares = np.bincount(group, weights=right) / sizes
    return np.array([part.mean() for part in np.array_split(shares[np.sort(group)], parts)])


def partition_correlation(
    scores: ArrayLike, correct: ArrayLike, parts: int = 10, of: Literal["mean", "rank"] = "mean"
) -> Correlation:
    """Correlation of score and accuracy over equal parts of the pool. NSS, Table 6.

    Args:
        scores: Score of each input, ``(n,)``.
        correct: Whether the model is right, ``(n,)``.
        parts: Number of parts, at least 2.
        of: A part's mean score, or its number. The paper leaves that open, but speaks of "the TNSScore and model
            accuracy", hence the default. The number does not depend on the scale of the scores or on a single huge one.

    Returns:
        Both coefficients; negative if the model errs where scores are high.

    >>> partition_correlation([1, 2, 3, 6], [True, True, True, False], parts=4)
    Correlation(pearson=-0.9258..., spearman=-0.7745...)
    """
    if of not in ("mean", "rank"):
        raise BadInput("of", repr(of), '"mean" or "rank"')
    if parts < 2:
        raise BadInput("parts", parts, "at least 2")
    accuracy = partition_accuracy(scores, correct, parts).round(12)  # equal shares must not differ by rounding
    values = np.sort(sample(scores, "scores"))
    pieces = np.array_split(values / (np.abs(values).max() or 1.0), parts)
    # Taken from a part's first score, the mean of equal scores is exact.
    place = np.array([piece[0] + (piece - piece[0]).mean() for piece in pieces]) if of == "mean" else np.arange(parts)
    return Correlation(_pearson(place, accuracy), _pearson(stats.rankdata(place), stats.rankdata(accuracy)))


def _pearson(first: NDArray[np.number], second: Floats) -> float | None:
    sides = [side - side.mean() for side in (first, second) if np.ptp(side) > 0]
    if len(sides) < 2:
        return None
    x, y = (side / np.abs(side).max() for side in sides)  # squares of tiny numbers would vanish
    return float(np.clip(x @ y / math.sqrt((x @ x) * (y @ y)), -1, 1))
