"""Samples of a metric: checked, brought to a common scale, freed of floating-point dust."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mutiny.core.errors import BadInput

Floats = NDArray[np.float64]

DUST = 1e-12
"""Differences below this share of the largest absolute value are rounding, not measurement."""


def sample(values: ArrayLike, name: str, least: int = 1) -> Floats:
    """``values`` as a finite ``(n,)`` array of floats with at least ``least`` elements.

    Args:
        values: the numbers.
        name: what the user calls them, for the error message.
        least: the smallest size that makes sense.

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
        originals: the metric of each original, ``(n1,)``.
        mutants: the metric of each mutant instance, ``(n2,)``.
        least: smallest size of each sample.
        together: smallest sum of both sizes.

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
    """Differences original - mutant of pairs, on the scale of :func:`two_samples`; dust becomes exactly zero.

    >>> paired_samples([2.0, 4.0], [1.0, 4.0])
    array([0.25, 0.  ])
    """
    first, second = two_samples(originals, mutants)
    if first.size != second.size:
        raise BadInput("originals and mutants", f"{first.size} and {second.size} values", "pairs, so equally many")
    differences = first - second
    return np.where(np.abs(differences) <= DUST, 0.0, differences)


def pooled_variance(first: Floats, second: Floats) -> float:
    """Variance around the two means with n1 + n2 - 2 degrees of freedom; 0 where it is only dust.

    >>> pooled_variance(np.array([0.0, 1.0]), np.array([0.5]))
    0.5
    """
    squares = ((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum()
    variance = float(squares) / (first.size + second.size - 2)
    return variance if variance > DUST**2 else 0.0


def levels(values: Floats) -> NDArray[np.int64]:
    """Order of the values as whole numbers; values that differ only by dust get the same one.

    >>> levels(np.array([0.3, 0.1 + 0.2, 0.9, -1.0]))
    array([1, 1, 2, 0])
    """
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order], prepend=values[order[:1]]) > DUST
    result = np.empty(values.size, dtype=np.int64)
    result[order] = np.cumsum(steps)
    return result
