"""Do the instances of a mutant agree, or is its result an accident of the seed?"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mutiny.core.errors import BadInput
from mutiny.core.stats.samples import DUST


def relative_standard_error(values: ArrayLike) -> float:
    """Standard error of the mean as a share of the mean, ``(s / sqrt(n)) / |mean|``. MUFF, eq. 5.

    Args:
        values: metric of each instance, ``(n,)``, n >= 1.

    Returns:
        0 where all values agree. Infinity where nothing can be said: one value only, any NaN or infinity, or mean 0
        with a spread. Unknown is not stable.

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
    if error <= DUST:
        return 0.0
    return error / mean if mean > DUST else math.inf


def disagreement_rate(correct: NDArray[np.bool_]) -> float:
    """Share of the inputs on which the instances are neither all right nor all wrong.

    Args:
        correct: which instance is right on which input, boolean ``(instances, n)``.

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
