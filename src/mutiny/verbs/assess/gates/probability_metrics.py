"""Metrics of predicted probabilities: NaN if some probability is not a number."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mutiny.core.stats.samples import Floats
from mutiny.verbs.assess.gates.answers import GateAnswers

BINS = 15
"""Default number of bins of the calibration error, as in torchmetrics."""


def top_k_accuracy(answers: GateAnswers, weights: Floats | None = None, k: int = 1) -> float:
    """Share of inputs whose class is among the ``k`` most probable; of equals, the later counts as more probable."""
    chances, own, classes = _chances(answers)
    before = (chances > own[:, None]) | ((chances == own[:, None]) & (np.arange(chances.shape[1]) > classes[:, None]))
    return answers.mean((before.sum(1) < k) & ~np.isnan(chances).any(1), weights)


def log_loss(answers: GateAnswers, weights: Floats | None = None) -> float:
    """Mean of ``-log p`` of the classes; probabilities are moved away from 0 by the precision of their type."""
    _, own, _ = _chances(answers)
    if answers.has_undefined_probabilities:
        return math.nan
    least = float(np.finfo(own.dtype).eps)
    return answers.mean(-np.log(np.clip(own.astype(np.float64), least, 1 - least)), weights)


def brier_score(answers: GateAnswers, weights: Floats | None = None) -> float:
    """Mean squared error of probabilities: of class 1 if there are two, otherwise summed over classes."""
    chances, _, classes = _chances(answers)
    wanted = np.arange(chances.shape[1]) == classes[:, None]
    squares = ((chances.astype(np.float64) - wanted) ** 2).sum(1)
    return answers.mean(squares / 2 if chances.shape[1] == 2 else squares, weights)


def calibration_error(answers: GateAnswers, weights: Floats | None = None, bins: int = BINS) -> float:
    """Mean over bins of how far the confidence in the most probable class is from its accuracy (L1 norm).

    Bins ``[low, high)`` are equally wide, and a confidence of 1 has a bin of its own, as in torchmetrics.
    """
    chances, _, classes = _chances(answers)
    if answers.has_undefined_probabilities:
        return math.nan
    confidence = chances.max(1).astype(np.float64)
    surplus = confidence - (chances.argmax(1) == classes)
    place = np.searchsorted(np.linspace(0, 1, bins + 1), confidence, side="right")
    counts = np.ones(len(place)) if weights is None else weights
    return float(np.abs(np.bincount(place, counts * surplus)).sum() / counts.sum())


def roc_auc(answers: GateAnswers, weights: Floats | None = None) -> float:
    """Probability that an input of a class scores higher than one of another; mean over classes if there are many.

    NaN if a class has no inputs.
    """
    chances, _, classes = _chances(answers)
    if answers.has_undefined_probabilities:
        return math.nan
    counts = np.ones(len(classes)) if weights is None else weights
    each = [1] if chances.shape[1] == 2 else range(chances.shape[1])
    return float(np.mean([_area(answers.ranks[label], counts, classes == label) for label in each]))


def _area(ranks: NDArray[np.int64], counts: Floats, own: NDArray[np.bool_]) -> float:
    inside, outside = (np.bincount(ranks, np.where(side, counts, 0.0)) for side in (own, ~own))
    pairs = inside.sum() * outside.sum()
    below = np.cumsum(outside) - outside / 2  # ties count one half
    return float(inside @ below / pairs) if pairs > 0 else math.nan


def _chances(answers: GateAnswers) -> tuple[NDArray[np.floating], NDArray[np.floating], NDArray[np.int64]]:
    """Probabilities ``(n, classes)``, those of the targets ``(n,)``, and the targets."""
    assert answers.probabilities is not None
    classes = answers.targets.astype(np.int64)
    return answers.probabilities, answers.probabilities[np.arange(len(classes)), classes], classes
