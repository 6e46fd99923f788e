"""A metric as a gate names it, such as ``f1(macro)``, ``recall(class=3)`` or ``drop(accuracy)``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mutiny.core.errors import BadInput
from mutiny.core.stats.samples import Floats
from mutiny.verbs.assess.gates.answers import GateAnswers
from mutiny.verbs.assess.gates.metric_table import CLASSES, CORRECT, METRICS, OUTPUTS, PROBABILITIES, GateMetric
from mutiny.verbs.assess.gates.probability_metrics import BINS

_Refuse = Callable[..., BadInput]


@dataclass(frozen=True)
class MetricUse:
    """A metric with its options, or how much a metric changes from the clean network to the tested one.

    Attributes:
        name: Name of the metric; empty for the metric of the task, which ``drop`` alone means.
        change: ``drop`` for the clean value minus the tested one, ``rise`` for the reverse; empty for the tested value.
        average: ``macro``, ``micro`` or ``weighted``; empty if there is none.
        label: The class that it is about; ``None`` if it is about all.
        k: How many of the most probable classes count; ``None`` for other metrics.
        bins: Number of bins of the calibration error; ``None`` for other metrics.

    >>> str(MetricUse("recall", label=3)), str(MetricUse("f1", "drop", average="macro")), str(MetricUse("", "drop"))
    ('recall(class=3)', 'drop(f1(macro))', 'drop')
    """

    name: str
    change: str = ""
    average: str = ""
    label: int | None = None
    k: int | None = None
    bins: int | None = None

    def __str__(self) -> str:
        options = [self.average] if self.average else []
        options += [f"class={self.label}"] if self.label is not None else []
        options += [f"k={self.k}"] if self.k is not None else []
        options += [f"bins={self.bins}"] if self.bins not in (None, BINS) else []
        metric = self.name + (f"({', '.join(options)})" if options else "")
        return f"{self.change}({metric})" if self.change and metric else self.change or metric

    @property
    def metric(self) -> GateMetric:
        """The metric; accuracy for the metric of the task, because only that of a classification can drop."""
        return METRICS[self.name or "accuracy"]

    @property
    def range(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        low, high = self.metric.low, self.metric.high
        return (low - high, high - low) if self.change else (low, high)

    def value(self, clean: GateAnswers, tested: GateAnswers, weights: Floats | None = None) -> float:
        """Value for a network; NaN if it is undefined.

        Args:
            clean: Answers of the clean network.
            tested: Answers of the tested network.
            weights: How often each input counts, ``(n,)``; once by default.
        """
        after = self._of(tested, weights)
        if not self.change:
            return after
        with np.errstate(invalid="ignore"):
            growth = float(np.subtract(after, self._of(clean, weights)))
        return growth if self.change == "rise" else -growth + 0.0

    def _of(self, answers: GateAnswers, weights: Floats | None) -> float:
        options = {"average": self.average or None, "label": self.label, "k": self.k, "bins": self.bins}
        given = {name: option for name, option in options.items() if option is not None}
        return self.metric.value(answers, weights, **given)

    def check(self, clean: GateAnswers, gate: str, argument: str) -> None:
        """Raises `BadInput` if this metric cannot be computed for such answers.

        Args:
            clean: Answers of the clean network.
            gate: Text of the gate, for messages.
            argument: Name of the argument, for messages.
        """

        def refuse(expected: str, fix: str = "") -> BadInput:
            return BadInput(argument, f'"{gate}"', expected, fix)

        needs, regression = self.metric.needs, clean.classes is None
        if regression and not self.name:
            raise refuse(
                f"a metric, because {clean.metric} gets worse by rising", f"Write rise({clean.metric}) <= NUMBER."
            )
        if regression and needs in (CLASSES, PROBABILITIES):
            raise refuse(f"a metric of regression, not {self.name}", f"Regression has {_of_task(OUTPUTS, CORRECT)}.")
        if not regression and needs in (OUTPUTS, CORRECT):
            known = _of_task(CLASSES, PROBABILITIES)
            raise refuse(f"a metric of classification, not {self.name}", f"Classification has {known}.")
        if needs == PROBABILITIES and clean.probabilities is None:
            raise refuse(f"a metric without probabilities, because there are none for {self.name}")
        if needs == CLASSES and self.name not in ("", "accuracy") and clean.predicted is None:
            raise refuse(f"accuracy or drop, because there are no predicted classes for {self.name}")
        from_losses = self.name == clean.metric and clean.losses is not None
        if needs == OUTPUTS and clean.values is None and not from_losses:
            raise refuse(f"another metric, because there are no outputs for {self.name}")
        if clean.classes is not None:
            self._check_classes(clean, clean.classes, refuse)

    def _check_classes(self, clean: GateAnswers, classes: int, refuse: _Refuse) -> None:
        if "class" in self.metric.options and not self.average and self.label is None and classes != 2:
            raise refuse(
                f"{self.name} of a class or a mean over classes, because there are {classes} classes",
                f"Write {self.name}(macro) or {self.name}(class=3).",
            )
        if self.label is not None and self.label >= classes:
            raise refuse(f"a class from 0 to {classes - 1}, not {self.label}")
        if self.k is not None and self.k >= classes:
            raise refuse(f"k below the number of classes, {classes}, because the {self.k} most probable are all")
        inputs = np.bincount(clean.targets.astype(np.int64), minlength=classes)
        if self.label is not None and not inputs[self.label]:
            raise refuse(f"a class that the test set has inputs of, not class {self.label}")
        if self.name == "roc_auc" and not inputs.all():
            raise refuse(f"inputs of every class for {self.name}, but class {int(inputs.argmin())} has none")


def _of_task(*needs: str) -> str:
    """Names of the metrics that are computed from one of these."""
    return ", ".join(name for name, metric in METRICS.items() if metric.needs in needs)
