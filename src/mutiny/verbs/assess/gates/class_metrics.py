"""Metrics of predicted classes, with the definitions of scikit-learn.

Undefined answers are wrong and of no class: they lower recall, and leave the precision of all classes alone.
"""

from __future__ import annotations

import math

import numpy as np

from mutiny.core.stats.samples import Floats
from mutiny.verbs.assess.gates.answers import GateAnswers

Option = str | int


def accuracy(answers: GateAnswers, weights: Floats | None = None) -> float:
    """Share of correct answers; for regression, of answers within the tolerance."""
    return answers.mean(answers.correct, weights)


def recall(answers: GateAnswers, weights: Floats | None = None, average: str = "", label: int | None = None) -> float:
    """Share of the inputs of a class that are recognized."""
    counts = answers.confusion(weights)
    return _averaged(np.diag(counts), counts.sum(1), counts, average, label)


def precision(
    answers: GateAnswers, weights: Floats | None = None, average: str = "", label: int | None = None
) -> float:
    """Share of the inputs with a predicted class that belong to it."""
    counts = answers.confusion(weights)
    return _averaged(np.diag(counts), counts[:, :-1].sum(0), counts, average, label)


def f1(answers: GateAnswers, weights: Floats | None = None, average: str = "", label: int | None = None) -> float:
    """Harmonic mean of precision and recall, ``2 tp / (2 tp + fp + fn)``."""
    counts = answers.confusion(weights)
    return _averaged(2 * np.diag(counts), counts.sum(1) + counts[:, :-1].sum(0), counts, average, label)


def _averaged(above: Floats, below: Floats, counts: Floats, average: str, label: int | None) -> float:
    """Ratio of one class, or a mean of the ratios of all; a class without inputs and answers does not count."""
    if average == "micro":
        total = float(below.sum())
        return float(above.sum()) / total if total > 0 else 0.0
    ratio = np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
    if average == "weighted":
        return float(ratio @ counts.sum(1) / counts.sum())
    if average == "macro":
        return float(ratio[(counts.sum(1) + counts[:, :-1].sum(0)) > 0].mean())
    return float(ratio[1 if label is None else label])  # class 1 is the positive one of two


def balanced_accuracy(answers: GateAnswers, weights: Floats | None = None) -> float:
    """Mean recall of the classes that have inputs."""
    counts = answers.confusion(weights)
    inputs = counts.sum(1)
    return float((np.diag(counts)[inputs > 0] / inputs[inputs > 0]).mean())


def cohen_kappa(answers: GateAnswers, weights: Floats | None = None) -> float:
    """Agreement with the targets beyond that of chance, ``(p_o - p_e) / (1 - p_e)``; NaN if chance agrees fully."""
    counts = answers.confusion(weights)
    total = counts.sum()
    by_chance = float(counts.sum(1) @ counts[:, :-1].sum(0) / total**2)
    seen = float(np.trace(counts[:, :-1]) / total)
    return (seen - by_chance) / (1 - by_chance) if by_chance < 1 else math.nan


def matthews_corrcoef(answers: GateAnswers, weights: Floats | None = None) -> float:
    """Correlation of classes and predicted classes; 0 if either is constant."""
    counts = answers.confusion(weights)
    total, inputs, said = float(counts.sum()), counts.sum(1), counts.sum(0)
    covariance = total * float(np.trace(counts[:, :-1])) - float(inputs @ said[:-1])
    spread = (total**2 - float(inputs @ inputs)) * (total**2 - float(said @ said))
    return covariance / math.sqrt(spread) if spread > 0 else 0.0
