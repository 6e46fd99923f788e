"""Measures of an order of inputs: faults and fault types among the first inputs, and what a random order would find.

An ``order`` lists indices of a pool, best first: all ``n``, or only the first few. ``wrong`` tells whether the model
fails on each input of the pool, ``(n,)`` bool: misclassified, or outside the tolerance of a regression. ``types`` are
the fault types of the inputs, ``(n,)`` int, see `fault_types`; only classification has them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from mutiny.core.errors import BadInput
from mutiny.core.stats import Interval
from mutiny.core.stats.samples import Floats, sample

Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Normalize = Literal["possible", "present", "ideal"]
Per = Literal["input", "type"]

AUTHORS_SHARE = 0.05
"""Share of the pool that the published APFD script of NSS evaluates: 500 of 10,000 inputs."""


@dataclass(frozen=True)
class Rauc:
    """Ratio of the area under the curve of fault types.

    Args:
        value: Area as a share.
        total: Number of fault types T: all possible types, or all in the pool.
        normalize: Meaning of a value of 1, see `rauc`.
    """

    value: float
    total: int
    normalize: Normalize


@dataclass(frozen=True)
class Repeated:
    """Mean over ``n`` repeats with a confidence interval, which is ``None`` for one repeat."""

    mean: float
    n: int
    interval: Interval | None


# Faults


def fdr(order: ArrayLike, wrong: ArrayLike, budget: int) -> float:
    """Fault detection rate: the share of failing inputs among the first ``budget``. NSS, section 4.3.1.

    >>> fdr([2, 0, 1], [False, False, True], budget=2)
    0.5
    """
    fails = flags(wrong, "wrong")
    if budget < 1 or budget != int(budget):
        raise BadInput("budget", budget, "a whole number of inputs", f"A tenth of this pool is {len(fails) // 10}.")
    return float(fails[_order(order, len(fails), least=budget)[: int(budget)]].mean())


def apfd(
    order: ArrayLike, faults: ArrayLike, per: Per = "input", variant: Literal["formula", "authors-code"] = "formula"
) -> float | None:
    """Average percentage of faults detected: ``1 - sum(TF) / (n m) + 1 / (2 n)``. NSS, section 4.3.3.

    ``TF`` is the position, from 1, of the first input that reveals a fault, ``n`` the length of the order and ``m`` the
    number of faults in the pool. If the order omits part of the pool, faults that it does not reveal add nothing (NAPFD
    of Qu, Cohen and Woolf, 2007), as if at position ``n + 1/2``; the common ``n + 1`` would give values below 0.

    Args:
        order: Indices, best first.
        faults: ``wrong`` with ``per="input"``, ``types`` with ``per="type"``.
        per: Definition of a fault: each failing input (DeepGini, dnn-tip), or each fault type, which its first input
            reveals.
        variant: ``"authors-code"`` is what the published script of NSS computes instead of the paper's formula: only
            the first 5% of the pool, only types found there, positions from 0. It needs ``per="type"`` and can exceed
            1.

    Returns:
        Area under the curve of faults found, from 0 to 1; ``None`` without faults.

    >>> apfd([1, 0, 2, 3], [False, True, True, False])  # positions 1 and 3
    0.625
    """
    if variant not in ("formula", "authors-code"):
        raise BadInput("variant", repr(variant), '"formula" or "authors-code"')
    kinds = _faults(faults, per)
    if variant == "formula":
        chosen = _order(order, len(kinds))
        positions, m = _first_positions(chosen, kinds), len(_sizes(kinds))
    elif per == "type":
        reach = max(1, _nearest(AUTHORS_SHARE * len(kinds)))
        chosen = _order(order, len(kinds), least=reach)[:reach]
        positions = _first_positions(chosen, kinds) - 1
        m = len(positions)
    else:
        raise BadInput("per", repr(per), '"type"', "The script of the authors counts fault types.")
    if not m:
        return None
    n = len(chosen)
    total = positions.sum() + (m - len(positions)) * (n + 0.5)
    return float(n + 0.5 - total / m) / n


def max_apfd(n: int, m: int) -> float:
    """Largest possible `apfd` of ``n`` inputs and ``m`` faults, each revealed by its own input: ``1 - m / (2 n)``.

    Most values for NSS in the paper's Table 9 are larger, so its faults cannot be misclassified inputs.

    >>> max_apfd(10_000, 2130)  # MNIST, LeNet-1: the paper reports 0.9918
    0.8935
    """
    if not 1 <= m <= n:
        raise BadInput("m", m, f"a number of faults from 1 to {n}, one per input at most")
    return 1 - m / (2 * n)


# Fault types


def fault_types(truth: ArrayLike, predicted: ArrayLike) -> Integers:
    """One code for each pair (true class, predicted class); -1 where they agree. NSS, section 4.3.2.

    Args:
        truth: Class numbers or names, ``(n,)``.
        predicted: Class numbers or names, ``(n,)``.

    Returns:
        Codes, ``(n,)``. They are comparable within one pool only, because they number the classes that occur in it.

    >>> fault_types([0, 1, 1, 7], [0, 7, 7, 1])
    array([-1,  5,  5,  7])
    """
    first, second = np.asarray(truth), np.asarray(predicted)
    if first.ndim != 1 or first.shape != second.shape or not first.size:
        raise BadInput("truth, predicted", f"shapes {first.shape} and {second.shape}", "one class per input, (n,)")
    if {first.dtype.kind, second.dtype.kind} & set("fcO"):
        raise BadInput(
            "truth, predicted",
            f"{first.dtype} and {second.dtype}",
            "class numbers or names",
            "Regression has no fault types; fdr and apfd only need which answers are wrong.",
        )
    classes, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    rows, columns = places[: first.size].astype(np.int64), places[first.size :].astype(np.int64)
    return np.where(rows == columns, -1, rows * len(classes) + columns)


def type_curve(order: ArrayLike, types: ArrayLike, steps: ArrayLike) -> Integers:
    """Number of distinct fault types among the first inputs, for each number of inputs in ``steps``.

    >>> type_curve([0, 1, 2, 3], [4, -1, 4, 7], steps=[0, 1, 3, 4])
    array([0, 1, 1, 2])
    """
    kinds, counts = _types(types), _counts(steps)
    positions = _first_positions(_order(order, len(kinds), least=int(counts.max())), kinds)
    return np.searchsorted(positions, counts, side="right").astype(np.int64)


def budgets(n: int, share: float = 0.2, steps: int = 20) -> Integers:
    """``steps`` equally spaced numbers of inputs up to ``share`` of ``n``, rounded half up.

    >>> budgets(10_000)[[0, 1, -1]]
    array([ 100,  200, 2000])
    """
    if not 0 < share <= 1:
        raise BadInput("share", share, "a share of the pool above 0, at most 1")
    if steps < 1:
        raise BadInput("steps", steps, "at least 1")
    counts = np.array([_nearest(share * n * step / steps) for step in range(1, steps + 1)], dtype=np.int64)
    if counts[-1] < 1:
        raise BadInput("share", share, f"enough for one of {n} inputs", f"Use at least {1 / n:.3g}.")
    return counts


def rauc(
    order: ArrayLike,
    types: ArrayLike,
    share: float = 0.2,
    steps: int = 20,
    normalize: Normalize = "possible",
    classes: int | None = None,
) -> Rauc | None:
    """Ratio of the area under the curve of fault types: mean of `type_curve` over T. NSS, section 4.3.2.

    Args:
        order: Indices, best first, at least up to ``share`` of the pool.
        types: Fault types of the pool, ``(n,)``.
        share: Share of the pool at which the curve ends; 20% in the paper.
        steps: Number of points of the curve, see `budgets`.
        normalize: Meaning of 1: all ``classes (classes - 1)`` types from the first point on (``"possible"``, as in the
            authors' code, T = 90 for ten classes), all types in the pool (``"present"``), or as many as any order could
            find (``"ideal"``, a ratio of areas as in PRIMA; T is then the number of types in the pool).
        classes: Number of classes of the task, for ``"possible"``.

    Returns:
        Value with its T; ``None`` without faults.

    >>> rauc([2, 0, 1, 3], [-1, 5, 3, 5], share=0.5, steps=2, classes=3)  # 1 and 1 of 6 types
    Rauc(value=0.16666666666666666, total=6, normalize='possible')
    >>> rauc([2, 0, 1, 3], [-1, 5, 3, 5], share=0.5, steps=2, normalize="ideal").value  # 1 + 1 against 1 + 2
    0.6666666666666666
    """
    kinds = _types(types)
    counts = budgets(len(kinds), share, steps)
    return _ratio(type_curve(order, kinds, counts), kinds, counts, normalize, classes)


# References: the best order, and the mean of all orders


def ideal_order(wrong: ArrayLike) -> Integers:
    """All failing inputs first: no order has a higher `fdr`, or `apfd` per input.

    >>> ideal_order([False, True, False, True])
    array([1, 3, 0, 2])
    """
    return np.argsort(~flags(wrong, "wrong"), kind="stable").astype(np.int64)


def ideal_type_order(types: ArrayLike) -> Integers:
    """One input of each fault type, then the other faults, then the rest: the best order by every measure here.

    >>> ideal_type_order([-1, 4, 4, -1, 7])
    array([1, 4, 2, 0, 3])
    """
    kinds = _types(types)
    classes = np.where(kinds < 0, 2, 1)
    classes[_first_positions(np.arange(len(kinds)), kinds) - 1] = 0
    return np.argsort(classes, kind="stable").astype(np.int64)


def expected_fdr(wrong: ArrayLike) -> float:
    """Mean `fdr` of all orders, at any budget: the share of failing inputs in the pool.

    >>> expected_fdr([True, False, False, False])
    0.25
    """
    return float(flags(wrong, "wrong").mean())


def expected_apfd(faults: ArrayLike, per: Per = "input") -> float | None:
    """Mean `apfd` of all orders of the whole pool: one half per input, more per type if types have several inputs.

    The first of ``k`` inputs is at position ``(n + 1) / (k + 1)`` on average.

    >>> expected_apfd([True, True, False]), expected_apfd([4, 4, -1], per="type")
    (0.5, 0.7222...)
    """
    kinds = _faults(faults, per)
    sizes, n = _sizes(kinds), len(kinds)
    return float(n + 0.5 - ((n + 1) / (sizes + 1)).mean()) / n if len(sizes) else None


def expected_type_curve(types: ArrayLike, steps: ArrayLike) -> Floats:
    """Mean `type_curve` of all orders: the sum over types with ``k`` inputs of ``1 - C(n - k, b) / C(n, b)``.

    >>> expected_type_curve([4, 4, -1, 7], steps=[0, 1, 4])
    array([0.  , 0.75, 2.  ])
    """
    kinds, counts = _types(types), _counts(steps)
    if counts.max() > len(kinds):
        raise BadInput("steps", int(counts.max()), f"at most {len(kinds)}, the inputs of the pool")
    sizes, repeats = np.unique(_sizes(kinds), return_counts=True)
    missed = stats.hypergeom.pmf(0, len(kinds), sizes, counts[:, None])
    return np.asarray(((1 - missed) * repeats).sum(axis=1), dtype=np.float64)


def expected_rauc(
    types: ArrayLike,
    share: float = 0.2,
    steps: int = 20,
    normalize: Normalize = "possible",
    classes: int | None = None,
) -> Rauc | None:
    """Mean `rauc` of all orders, with the same arguments.

    >>> expected_rauc([-1, 5, 3, 5], share=0.5, steps=2, normalize="present").value
    0.5208333333333334
    """
    kinds = _types(types)
    counts = budgets(len(kinds), share, steps)
    return _ratio(expected_type_curve(kinds, counts), kinds, counts, normalize, classes)


def over_repeats(values: ArrayLike, level: float = 0.95) -> Repeated:
    """Mean of a measure over repeats, with Student's interval; the paper averages five repeats without interval.

    >>> over_repeats([0.81, 0.84, 0.82, 0.80, 0.83])
    Repeated(mean=0.82, n=5, interval=Interval(low=0.800..., high=0.839..., level=0.95, method='student'))
    """
    data = sample(values, "values")
    if not 0 < level < 1:
        raise BadInput("level", level, "a confidence between 0 and 1, e.g. 0.95")
    mean, n = float(data.mean()), data.size
    if n == 1:
        return Repeated(mean, 1, None)
    half = float(stats.t.isf((1 - level) / 2, n - 1)) * float(data.std(ddof=1)) / math.sqrt(n)
    return Repeated(mean, n, Interval(mean - half, mean + half, level, "student"))


def _ratio(
    curve: NDArray[np.number], types: Integers, counts: Integers, normalize: Normalize, classes: int | None
) -> Rauc | None:
    """Mean of a curve, divided by what ``normalize`` defines as 1."""
    if normalize not in ("possible", "present", "ideal"):
        raise BadInput("normalize", repr(normalize), '"possible", "present" or "ideal"')
    total = present = len(_sizes(types))
    if normalize == "possible":
        if classes is None or classes * (classes - 1) < present or classes < 2:
            raise BadInput(
                "classes",
                classes,
                f"the task's number of classes, enough for {present} fault types",
                'Give classes=10, for example, or normalize="present".',
            )
        total = classes * (classes - 1)
    if not present:
        return None
    best = np.minimum(counts, present).mean() if normalize == "ideal" else total
    return Rauc(float(curve.mean() / best), total, normalize)


def _first_positions(order: Integers, types: Integers) -> Integers:
    """Positions in ``order``, from 1 and ascending, at which a fault type appears for the first time."""
    distinct, first = np.unique(types[order], return_index=True)
    return np.sort(first[distinct >= 0]).astype(np.int64) + 1


def _sizes(types: Integers) -> Integers:
    """Number of inputs of each fault type."""
    return np.unique(types[types >= 0], return_counts=True)[1].astype(np.int64)


def _nearest(number: float) -> int:
    return math.floor(number + 0.5 + 1e-9)  # products such as 0.05 * 10 may be rounded to less than a half


def _faults(faults: ArrayLike, per: Per) -> Integers:
    """Fault types; with ``per="input"`` each failing input is a type of its own."""
    if per not in ("input", "type"):
        raise BadInput("per", repr(per), '"input" or "type"')
    if per == "type":
        return _types(faults)
    wrong = flags(faults, "faults")
    return np.where(wrong, np.arange(wrong.size), -1)


def flags(values: ArrayLike, name: str) -> Bools:
    """Booleans, one per input of the pool, ``(n,)``; an error for anything else."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype != bool or not array.size:
        raise BadInput(name, f"{array.dtype} of shape {array.shape}", "one True or False per input of the pool, (n,)")
    return array


def _types(values: ArrayLike) -> Integers:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size or array.min() < -1:
        raise BadInput(
            "types",
            f"{array.dtype} of shape {array.shape}",
            "one code >= 0 per input, -1 for correct ones",
            "Use fault_types(truth, predicted).",
        )
    return array.astype(np.int64)


def _counts(steps: ArrayLike) -> Integers:
    array = np.asarray(steps)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size or array.min() < 0:
        raise BadInput("steps", f"{array.dtype} of shape {array.shape}", "whole numbers of inputs, (steps,)")
    return array.astype(np.int64)


def _order(order: ArrayLike, n: int, least: int = 1) -> Integers:
    """Distinct indices of a pool of ``n`` inputs, at least ``least`` of them; an error for anything else."""
    array = np.asarray(order)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size:
        raise BadInput("order", f"{array.dtype} of shape {array.shape}", "indices of inputs, best first")
    outside = (array < 0) | (array >= n)
    if outside.any():
        raise BadInput("order", f"index {array[outside][0]}", f"indices from 0 to {n - 1}")
    repeated = np.flatnonzero(np.bincount(array.astype(np.int64), minlength=n) > 1)
    if repeated.size:
        raise BadInput("order", f"index {repeated[0]} more than once", "each input once")
    if array.size < least:
        raise BadInput("order", f"{array.size} inputs", f"at least {least}", "Order more inputs, or look at fewer.")
    return array.astype(np.int64)
