"""Many tests at once: p-values adjusted so that false alarms stay rare, any of them or their share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mutiny.core.errors import BadInput
from mutiny.core.stats.samples import Floats


def holm(p_values: ArrayLike) -> Floats:
    """Holm's step-down correction: valid however the tests depend on each other, never weaker than Bonferroni.

    ``p̃(i) = max over j <= i of min(1, (m - j + 1) p(j))`` for the sorted p-values ``p(1) <= ... <= p(m)``.

    Args:
        p_values: ``(m,)`` values in [0, 1]; empty gives empty.

    Returns:
        Adjusted p-values ``(m,)`` in the same order: reject where they are below the level.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    raw = _checked(p_values)
    order = np.argsort(raw, kind="stable")
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(raw[order] * np.arange(raw.size, 0, -1)))
    return adjusted


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini and Hochberg's step-up correction: of what is rejected, so large a share is expected to be false.

    ``q(i) = min over j >= i of min(1, m p(j) / j)`` for the sorted p-values. It holds for independent tests and for
    those that depend positively on each other.

    Args:
        p_values: ``(m,)`` values in [0, 1]; empty gives empty.

    Returns:
        Adjusted p-values ``(m,)`` in the same order.

    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.5])
    array([0.04      , 0.05333333, 0.05333333, 0.5       ])
    """
    raw = _checked(p_values)
    order = np.argsort(raw, kind="stable")
    adjusted = np.empty_like(raw)
    steps = raw[order] * raw.size / np.arange(1, raw.size + 1)
    adjusted[order] = np.minimum(1, np.minimum.accumulate(steps[::-1])[::-1])
    return adjusted


def _checked(p_values: ArrayLike) -> Floats:
    raw = np.asarray(p_values, dtype=np.float64)
    if raw.ndim != 1:
        raise BadInput("p_values", f"an array of shape {raw.shape}", "shape (m,)")
    if not ((raw >= 0) & (raw <= 1)).all():
        raise BadInput("p_values", "a value outside [0, 1] or NaN", "probabilities")
    return raw
