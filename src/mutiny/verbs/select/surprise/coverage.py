"""Surprise coverage: one input for every level of surprise."""

from __future__ import annotations

from typing import Literal

import numpy as np

from mutiny.verbs.select.base import Order, Scores, ordered

Rest = Literal["random", "score"]


def buckets_of(surprises: Scores, upper: float, buckets: int) -> Order:
    """The bucket of each surprise, ``(n,)``: equal steps from the smallest surprise to ``upper``.

    Surprises from ``upper`` on are in the last bucket.

    >>> buckets_of(np.array([0.0, 0.4, 0.5, 1.0, 70.0]), upper=1.0, buckets=2).tolist()
    [0, 0, 1, 1, 1]
    """
    lower = float(surprises.min())
    if upper <= lower:
        return np.full(len(surprises), buckets - 1)
    edges = np.linspace(lower, upper, buckets + 1)
    return np.clip(np.digitize(surprises, edges) - 1, 0, buckets - 1)


def coverage_order(
    surprises: Scores, upper: float, buckets: int, rest: Rest, rng: np.random.Generator
) -> tuple[Order, int]:
    """An order that starts with one random input from each nonempty bucket, and the number of these buckets.

    Args:
        surprises: One finite number per input, ``(n,)``.
        upper: Upper end of the buckets.
        buckets: Number of buckets.
        rest: Order of the other inputs: random, or by decreasing surprise.
        rng: Random generator.

    >>> order, first = coverage_order(np.array([0.0, 0.1, 0.9, 0.2]), 1.0, 2, "score", np.random.default_rng(0))
    >>> first, sorted(order[:2].tolist())[1]
    (2, 2)
    """
    shuffled = rng.permutation(len(surprises))
    _, first = np.unique(buckets_of(surprises, upper, buckets)[shuffled], return_index=True)
    others = np.delete(shuffled, first)
    if rest == "score":
        others = others[ordered(surprises[others], rng)]
    return np.concatenate([shuffled[rng.permutation(first)], others]), len(first)
