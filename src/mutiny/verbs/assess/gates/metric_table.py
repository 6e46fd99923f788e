"""All metrics that a gate can name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mutiny.verbs.assess.gates import class_metrics, probability_metrics, regression_metrics

AVERAGES = ("macro", "micro", "weighted")
CLASSES, PROBABILITIES, OUTPUTS, CORRECT = "classes", "probabilities", "outputs", "correct answers"
"""What a metric is computed from."""


@dataclass(frozen=True)
class GateMetric:
    """A metric that a gate can name.

    Attributes:
        value: Function of answers, of weights of the inputs, and of the options.
        needs: What it is computed from.
        as_in: Function or class of another library that has this definition.
        low: Smallest value.
        high: Largest value.
        higher_is_better: Whether larger values are better.
        share: Whether it is a share, so that bounds may be in percent and points.
        options: Names of options: ``average`` and ``class`` (one of them), ``k``, ``bins``.
        aliases: Other names.
    """

    value: Callable[..., float]
    needs: str
    as_in: str
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool = True
    share: bool = True
    options: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


def _loss(value: Callable[..., float], as_in: str, alias: str, **settings: Any) -> GateMetric:
    defaults = {"needs": OUTPUTS, "high": math.inf, "higher_is_better": False, "share": False}
    return GateMetric(value, as_in=f"sklearn.metrics.{as_in}", aliases=(alias,), **{**defaults, **settings})


_OF_A_CLASS = ("average", "class")
METRICS: Mapping[str, GateMetric] = {
    "accuracy": GateMetric(
        class_metrics.accuracy, CLASSES, "sklearn.metrics.accuracy_score", aliases=("accuracy_score",)
    ),
    "balanced_accuracy": GateMetric(
        class_metrics.balanced_accuracy,
        CLASSES,
        "sklearn.metrics.balanced_accuracy_score",
        aliases=("balanced_accuracy_score",),
    ),
    "f1": GateMetric(class_metrics.f1, CLASSES, "sklearn.metrics.f1_score", options=_OF_A_CLASS, aliases=("f1_score",)),
    "precision": GateMetric(
        class_metrics.precision,
        CLASSES,
        "sklearn.metrics.precision_score",
        options=_OF_A_CLASS,
        aliases=("precision_score",),
    ),
    "recall": GateMetric(
        class_metrics.recall, CLASSES, "sklearn.metrics.recall_score", options=_OF_A_CLASS, aliases=("recall_score",)
    ),
    "cohen_kappa": GateMetric(
        class_metrics.cohen_kappa,
        CLASSES,
        "sklearn.metrics.cohen_kappa_score",
        low=-1.0,
        share=False,
        aliases=("cohen_kappa_score",),
    ),
    "matthews_corrcoef": GateMetric(
        class_metrics.matthews_corrcoef, CLASSES, "sklearn.metrics.matthews_corrcoef", low=-1.0, share=False
    ),
    "top_k_accuracy": GateMetric(
        probability_metrics.top_k_accuracy,
        PROBABILITIES,
        "sklearn.metrics.top_k_accuracy_score",
        options=("k",),
        aliases=("top_k_accuracy_score",),
    ),
    "roc_auc": GateMetric(
        probability_metrics.roc_auc,
        PROBABILITIES,
        "sklearn.metrics.roc_auc_score, with multi_class='ovr'",
        aliases=("roc_auc_score", "auroc"),
    ),
    "log_loss": _loss(probability_metrics.log_loss, "log_loss", "cross_entropy", needs=PROBABILITIES),
    "brier_score": _loss(
        probability_metrics.brier_score, "brier_score_loss", "brier_score_loss", needs=PROBABILITIES, high=2.0
    ),
    "expected_calibration_error": GateMetric(
        probability_metrics.calibration_error,
        PROBABILITIES,
        "torchmetrics.classification.MulticlassCalibrationError",
        higher_is_better=False,
        options=("bins",),
        aliases=("calibration_error", "ece"),
    ),
    "mse": _loss(regression_metrics.mse, "mean_squared_error", "mean_squared_error"),
    "mae": _loss(regression_metrics.mae, "mean_absolute_error", "mean_absolute_error"),
    "rmse": _loss(regression_metrics.rmse, "root_mean_squared_error", "root_mean_squared_error"),
    "r2": _loss(regression_metrics.r2, "r2_score", "r2_score", low=-math.inf, high=1.0, higher_is_better=True),
    "within_tolerance": GateMetric(
        class_metrics.accuracy, CORRECT, "the share of answers within the tolerance of the task"
    ),
}
"""Metrics by name."""
NAMES: Mapping[str, str] = {
    **{name: name for name in METRICS},
    **{alias: name for name, metric in METRICS.items() for alias in metric.aliases},
}
"""Names of metrics by every name that is understood."""
CHANGES = ("drop", "rise")
"""Words for the metric of the clean network minus that of the tested one, and the reverse."""
