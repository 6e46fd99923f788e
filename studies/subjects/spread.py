"""Less of a data set."""

from __future__ import annotations

import numpy as np

from mutiny.subjects.data import Data


def spread(data: Data, count: int) -> Data:
    """So many items, spread evenly over the data, which may be sorted by class; all if there are not so many.

    >>> from mutiny.subjects.data import as_data
    >>> spread(as_data((np.zeros((5, 2)), [0, 0, 1, 1, 2]), "train"), 3).targets
    array([0, 1, 2])
    """
    return data.subset(np.unique(np.linspace(0, len(data) - 1, min(count, len(data))).astype(np.int64)))
