"""Metrics of regression, with the definitions of scikit-learn: the mean over outputs of the metric of each."""

from __future__ import annotations

import numpy as np

from mutiny.core.stats.samples import Floats
from mutiny.verbs.assess.gates.answers import GateAnswers


def mse(answers: GateAnswers, weights: Floats | None = None) -> float:
    """Mean squared error."""
    if answers.metric == "mse" and answers.losses is not None:
        return answers.mean(answers.losses, weights)
    return float(_means(_errors(answers) ** 2, weights).mean())


def mae(answers: GateAnswers, weights: Floats | None = None) -> float:
    """Mean absolute error."""
    if answers.metric == "mae" and answers.losses is not None:
        return answers.mean(answers.losses, weights)
    return float(_means(np.abs(_errors(answers)), weights).mean())


def rmse(answers: GateAnswers, weights: Floats | None = None) -> float:
    """Root of the mean squared error of each output."""
    return float(np.sqrt(_means(_errors(answers) ** 2, weights)).mean())


def r2(answers: GateAnswers, weights: Floats | None = None) -> float:
    """Explained share of the variance, ``1 - mse / variance``; for a constant target, 1 without errors, otherwise 0."""
    wanted = _rows(answers.targets)
    left = _means(_errors(answers) ** 2, weights)
    variance = _means((wanted - _means(wanted, weights)) ** 2, weights)
    spread = variance > 0
    explained = 1 - np.divide(left, variance, out=np.zeros(len(left)), where=spread)
    return float(np.where(spread | (left == 0), explained, np.where(np.isnan(left), np.nan, 0.0)).mean())


def _errors(answers: GateAnswers) -> Floats:
    assert answers.values is not None
    return _rows(answers.values) - _rows(answers.targets)


def _rows(values: np.ndarray) -> Floats:
    return values.reshape(len(values), -1).astype(np.float64)


def _means(rows: Floats, weights: Floats | None) -> Floats:
    """Mean over inputs of each column."""
    return np.asarray(rows.mean(0) if weights is None else weights @ rows / weights.sum())
