"""Units in which faults cost something: accuracy points, or percent added to a loss."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mutiny.core.stats.notice import POINTS, mcnemar_worse, mean_worse
from mutiny.subjects.tasks import Classification, Task

Floats = npt.NDArray[np.float64]
WORSENING = (5.0, 10.0, 20.0, 40.0, 80.0)
"""Edges of the bins for a loss, in percent of the original's loss."""
TOLERATED = 0.01
"""Growth of the mean loss that is too small to be noticed, as a share of the original's loss on the same inputs."""
LARGEST_COST = 1e6
"""Replaces a cost that is not finite."""
ADDED_TO = "percent added to the "
"""Beginning of the name of a relative unit, before that of the metric."""


@dataclass(frozen=True)
class CostUnit:
    """How changed answers become a cost, and when a test set notices them.

    Attributes:
        name: Name of the unit in sentences.
        edges: Ascending edges of the bins of cost.
        relative: Whether a cost is relative to the metric of the original.

    >>> unit = unit_of(Classification(10))
    >>> change = np.repeat([1.0, -1.0, 0.0], [5, 1, 194])  # 5 answers broken, 1 repaired
    >>> unit.cost(change, 0.98), round(unit.p_value(change, 0.98), 3)
    (2.0, 0.109)
    """

    name: str
    edges: tuple[float, ...]
    relative: bool

    @property
    def targets(self) -> tuple[float, ...]:
        """Geometric center of each bin."""
        return tuple(float(np.sqrt(low * high)) for low, high in pairwise(self.edges))

    def cost(self, change: npt.ArrayLike, metric: float) -> float:
        """Cost of a fault.

        Args:
            change: How much worse the fault answers each input, ``(n,)``; in shares of the metric.
            metric: Metric of the original on these inputs.
        """
        mean = float(np.mean(np.asarray(change, float)))
        if self.relative:
            mean = mean / metric if metric > 0 else np.inf * np.sign(mean) if mean else 0.0
        return float(np.clip(np.nan_to_num(100 * mean, nan=LARGEST_COST), -LARGEST_COST, LARGEST_COST))

    def error(self, error: float, inputs: int, metric: float) -> float:
        """Standard error of a cost.

        Args:
            error: Standard error of the mean change.
            inputs: Number of inputs. Half a changed answer is added: a fault that changes none may change others.
            metric: Metric of the original on these inputs.
        """
        if self.relative:
            return (
                float(np.nan_to_num(100 * error / metric, nan=LARGEST_COST, posinf=LARGEST_COST)) if metric > 0 else 0.0
            )
        return float(100 * np.hypot(error, np.sqrt(0.5) / inputs))

    def tolerated(self, metric: float) -> float:
        """Mean change that is too small to be noticed: 1% of a loss, and no change of an accuracy.

        Args:
            metric: Metric of the original on the same inputs.
        """
        return TOLERATED * metric if self.relative else 0.0

    def p_value(self, change: npt.ArrayLike, metric: float) -> float:
        """P-value of a one-sided paired test over inputs: is the fault worse than its original, by more than tolerated?

        Args:
            change: How much worse the fault answers each input, ``(n,)``; in shares of the metric.
            metric: Metric of the original on these inputs.
        """
        values = np.asarray(change, float)
        if self.relative:
            return mean_worse(values, self.tolerated(metric))
        return float(mcnemar_worse(int((values > 0).sum()), int((values < 0).sum())))


def unit_of(task: Task) -> CostUnit:
    """Accuracy points for classification, percent added to the loss for regression."""
    if isinstance(task, Classification):
        return CostUnit("accuracy points", POINTS, relative=False)
    return CostUnit(f"{ADDED_TO}{task.metric}", WORSENING, relative=True)


def metric_of(unit: str) -> str | None:
    """The metric to which a unit of this name adds a percentage; ``None`` for accuracy points.

    >>> metric_of("percent added to the mse"), metric_of("accuracy points")
    ('mse', None)
    """
    return unit.removeprefix(ADDED_TO) if unit.startswith(ADDED_TO) else None
