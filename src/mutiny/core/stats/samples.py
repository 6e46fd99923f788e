"""Samples of a metric: checks, a common scale without rounding errors, and the agreement of instances."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mutiny.core.errors import BadInput

Floats = NDArray[np.float64]
ROUNDING = 1e-12
"""Differences below this share of the largest absolute value are rounding, not measurement."""


def sample(values: ArrayLike, name: str, least: int = 1) -> Floats:
    """``values`` as a finite ``(n,)`` array of floats with at least ``least`` elements.

    Args:
        values: Numbers of the sample.
        name: Name of the sample in error messages.
        least: Smallest allowed size.

    Returns:
        An array ``(n,)``.

    >>> sample([1, 2], "accuracies")
    array([1., 2.])
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise BadInput(name, f"an array of shape {array.shape}", "one number per instance, shape (n,)")
    if array.size < least:
        raise BadInput(name, f"{array.size} values", f"at least {least}")
    if not np.isfinite(array).all():
        raise BadInput(name, "values with NaN or infinity", "finite numbers", "Leave out the instances that diverged.")
    return array


def two_samples(originals: ArrayLike, mutants: ArrayLike, least: int = 1, together: int = 2) -> tuple[Floats, Floats]:
    """Both samples divided by their largest absolute value, so that squares neither overflow nor vanish.

    Args:
        originals: Metric of each original, ``(n1,)``.
        mutants: Metric of each mutant instance, ``(n2,)``.
        least: Smallest size of each sample.
        together: Smallest sum of both sizes.

    Returns:
        Both samples with values in [-1, 1]; every test here is invariant to the common factor.

    >>> two_samples([2.0, 4.0], [1.0])
    (array([0.5, 1. ]), array([0.25]))
    """
    first, second = sample(originals, "originals", least), sample(mutants, "mutants", least)
    if first.size + second.size < together:
        raise BadInput(
            "originals and mutants",
            f"{first.size} + {second.size} values",
            f"at least {together} together",
            "For a single original compare input by input: sign_flip.",
        )
    scale = max(float(np.abs(first).max()), float(np.abs(second).max()))
    return (first / scale, second / scale) if scale > 0 else (first, second)


def paired_samples(originals: ArrayLike, mutants: ArrayLike) -> Floats:
    """Differences original - mutant of pairs, on the scale of :func:`two_samples`; rounding errors become exactly zero.

    >>> paired_samples([2.0, 4.0], [1.0, 4.0])
    array([0.25, 0.  ])
    """
    first, second = two_samples(originals, mutants)
    if first.size != second.size:
        raise BadInput("originals and mutants", f"{first.size} and {second.size} values", "pairs, so equally many")
    differences = first - second
    return np.where(np.abs(differences) <= ROUNDING, 0.0, differences)


def pooled_variance(first: Floats, second: Floats) -> float:
    """Variance around the two means with n1 + n2 - 2 degrees of freedom; 0 if it is only rounding error.

    >>> pooled_variance(np.array([0.0, 1.0]), np.array([0.5]))
    0.5
    """
    squares = ((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum()
    variance = float(squares) / (first.size + second.size - 2)
    return variance if variance > ROUNDING**2 else 0.0


def levels(values: Floats) -> NDArray[np.int64]:
    """Order of the values as whole numbers; values that differ only by rounding get the same one.

    >>> levels(np.array([0.3, 0.1 + 0.2, 0.9, -1.0]))
    array([1, 1, 2, 0])
    """
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order], prepend=values[order[:1]]) > ROUNDING
    result = np.empty(values.size, dtype=np.int64)
    result[order] = np.cumsum(steps)
    return result


def relative_standard_error(values: ArrayLike) -> float:
    """Standard error of the mean as a share of the mean, ``(s / sqrt(n)) / |mean|``. MUFF, eq. 5.

    Args:
        values: Metric of each instance, ``(n,)``, n >= 1.

    Returns:
        0 if all values agree. Infinity if it is undefined: for a single value, any NaN or infinity, or mean 0 with a
        spread, so that such a mutant never counts as stable.

    >>> round(relative_standard_error([0.90, 0.92, 0.94]), 4)
    0.0126
    >>> relative_standard_error([0.9])
    inf
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise BadInput("values", f"an array of shape {array.shape}", "at least one number, shape (n,)")
    if array.size == 1 or not np.isfinite(array).all():
        return math.inf
    scale = float(np.abs(array).max())
    if scale == 0:
        return 0.0
    error, mean = float((array / scale).std(ddof=1)) / math.sqrt(array.size), abs(float((array / scale).mean()))
    if error <= ROUNDING:
        return 0.0
    return error / mean if mean > ROUNDING else math.inf


def disagreement_rate(correct: NDArray[np.bool_]) -> float:
    """Share of the inputs on which the instances are neither all correct nor all wrong.

    Args:
        correct: Correctness of each instance on each input, boolean ``(instances, n)``.

    Returns:
        A share from 0 to 1; 0 for a single instance.

    >>> disagreement_rate(np.array([[True, True, False], [True, False, False]]))
    0.3333333333333333
    """
    array = np.asarray(correct)
    if array.ndim != 2 or 0 in array.shape or array.dtype != np.bool_:
        raise BadInput(
            "correct",
            f"an array of {array.dtype} of shape {array.shape}",
            "booleans of shape (instances, n), not empty",
        )
    return float((array.any(axis=0) & ~array.all(axis=0)).mean())
