"""The chance that a fault passes a gate, predicted from what it does to inputs that are not tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mutiny.core.stats.gate_errors import (
    accuracy_pass_chance,
    drop_pass_chance,
    drop_pass_chance_given,
    least_count,
    most_count,
)
from mutiny.core.stats.samples import Floats
from mutiny.verbs.assess.gates.expression import GateExpression


def predicted_pass_chance(
    gate: GateExpression,
    broken: ArrayLike,
    repaired: ArrayLike,
    inputs: int,
    *,
    clean_accuracy: float,
    clean_right: int | None = None,
) -> Floats | None:
    """Probability that each fault passes a gate on accuracy, or on its drop, on a random test set.

    Args:
        gate: The gate.
        broken: Share of reference inputs that each fault breaks, ``(faults,)``.
        repaired: Share that it repairs, ``(faults,)``.
        inputs: Number of test inputs.
        clean_accuracy: Accuracy of the clean network on the reference set.
        clean_right: Number of test inputs that the clean network gets right, if the prediction is for a test set that
            is known so far; by default it is for any.

    Returns:
        The probabilities; ``None`` for gates on other metrics, or with lower bounds on drops.

    >>> from mutiny.verbs.assess.gates.grammar import parse_gate
    >>> predicted_pass_chance(parse_gate("drop <= 1pt"), [0.01, 0.03], [0.0, 0.0], 1000, clean_accuracy=0.98).round(3)
    array([0.583, 0.   ])
    """
    single = gate.thresholds
    if single is None or str(single.metric) not in ("drop", "drop(accuracy)", "accuracy"):
        return None
    drops = bool(single.metric.change)
    if drops != single.is_upper:
        return None
    strict = single.operator in ("<", ">")
    worse, better = np.asarray(broken, float), np.asarray(repaired, float)
    if drops:
        most = most_count(single.bound, inputs, strict)
    else:
        least = least_count(single.bound, inputs, strict)
        if clean_right is None:
            return accuracy_pass_chance(np.clip(clean_accuracy - worse + better, 0.0, 1.0), inputs, least)
        most = clean_right - least
    if clean_right is None:
        return drop_pass_chance(worse, better, inputs, most)
    of_right = np.clip(worse / clean_accuracy, 0.0, 1.0) if clean_accuracy > 0 else np.zeros_like(worse)
    of_wrong = np.clip(better / (1 - clean_accuracy), 0.0, 1.0) if clean_accuracy < 1 else np.zeros_like(better)
    return drop_pass_chance_given(clean_right, inputs, of_right, of_wrong, most)
