"""CES: cross entropy-based sampling, which draws a small sample that represents the whole pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mutiny.verbs.select.base import BOTH, Order, Scores, Selector, as_scores
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.traces import Traces

Codes = npt.NDArray[np.uint8]
LEAST = 1e-10
"""Share of an empty bin, instead of 0, whose logarithm is infinite."""
AT_ONCE = 1024
"""Inputs that are counted at once."""


@dataclass(frozen=True)
class Ces(Selector):
    """Inputs that together represent the pool, to estimate the accuracy from few labels. It does not search for faults.

    For each unit of the last hidden layer, the range of its values over the pool is divided into equal bins. The sample
    starts with random inputs and grows by one group at a time: of several random groups, the one that brings the sample
    closest to the pool by cross entropy (mean over units), or a random one if no group brings it closer. After a share
    of the pool, the rest follows in random order. Unlike in the authors' code, no input is chosen twice, and values on
    the border of two bins are in the upper bin instead of in none.

    Args:
        bins: Number of bins of each unit.
        first: Number of random inputs at the start.
        step: Number of inputs in a group.
        groups: Number of groups to compare in each step.
        share: Share of the pool after which inputs follow in random order.
        layers: Layers to read; the input of the output layer by default.
    """

    code: ClassVar[str] = "ces"
    title: ClassVar[str] = "cross entropy-based sampling"
    source: ClassVar[str] = "Li et al., CES, ESEC/FSE 2019"
    tasks: ClassVar[tuple[type, ...]] = BOTH

    bins: int = 4
    first: int = 30
    step: int = 5
    groups: int = 30
    share: float = 0.2
    layers: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        self._within("bins", 2, 256)
        for name in ("first", "step", "groups"):
            self._within(name, 1, 10_000)
        self._within("share", 0, 1)

    def score(self, evidence: Evidence) -> Scores:
        """The sample in its order, then all other inputs, which are tied."""
        evidence.note("ces makes the sample represent the pool, to estimate accuracy; it does not search for faults")
        points = evidence.read_points(self.code, "hidden", "unit", own=self.layers)
        codes = binned(evidence.traces("pool", points, "unit"), self.bins)
        wanted = round(self.share * evidence.size)
        sample = representative(codes, self.bins, self.first, self.step, self.groups, wanted, evidence.rng(self.code))
        return as_scores(sample, evidence.size)


def binned(traces: Traces, bins: int) -> Codes:
    """The bin of each value in its unit's range, ``(n, units)``; values of a constant unit are in the first bin.

    >>> import torch
    >>> traces = Traces(5, 1)
    >>> traces.add(torch.tensor([[0.0], [0.9], [1.0], [3.9], [4.0]]))
    >>> binned(traces, 4)[:, 0].tolist()
    [0, 0, 1, 3, 3]
    """
    ranges = [(chunk.amin(dim=0).double().numpy(), chunk.amax(dim=0).double().numpy()) for chunk in traces.chunks()]
    low, high = np.min([low for low, _ in ranges], axis=0), np.max([high for _, high in ranges], axis=0)
    width = np.where(high > low, high - low, 1.0) / bins
    codes = np.empty(traces.shape, np.uint8)
    at = 0
    for chunk in traces.chunks():
        place = np.subtract(chunk.numpy(), low) / width
        codes[at : at + len(place)] = np.minimum(place, bins - 1)  # truncated by the assignment
        at += len(place)
    return codes


def representative(
    codes: Codes, bins: int, first: int, step: int, groups: int, wanted: int, rng: np.random.Generator
) -> Order:
    """Positions of a sample in the order of choice, ``(wanted,)``.

    Args:
        codes: Bin of each unit for each input, ``(n, units)``.
        bins: Number of bins.
        first: Number of random inputs at the start.
        step: Number of inputs in a group.
        groups: Number of random groups to choose from in each step.
        wanted: Size of the sample.
        rng: Random generator.
    """
    n = len(codes)
    wanted = min(wanted, n)
    left = rng.permutation(n)
    sample, left = left[: min(first, wanted)], left[min(first, wanted) :]
    pool, counts = counted(codes, bins), counted(codes[sample], bins)
    closest = closeness(pool / n, counts[None], len(sample))[0] if len(sample) else -np.inf
    while len(sample) < wanted:
        size = min(step, wanted - len(sample))
        left = rng.permutation(left)
        starts = rng.integers(0, len(left) - size + 1, size=groups)
        drawn = left[starts[:, None] + np.arange(size)]
        grown = counts + np.stack([counted(codes[group], bins) for group in drawn])
        close = closeness(pool / n, grown, len(sample) + size)
        best = int(close.argmax()) if close.max() > closest else 0  # groups are random, so the first is a random one
        sample, counts, closest = np.append(sample, drawn[best]), grown[best], close[best]
        left = np.delete(left, starts[best] + np.arange(size))
    return sample


def counted(codes: Codes, bins: int) -> npt.NDArray[np.int64]:
    """Number of inputs in each bin of each unit, ``(bins, units)``."""
    counts = np.zeros((bins, codes.shape[1]), np.int64)
    for at in range(0, len(codes), AT_ONCE):
        counts += np.stack([np.count_nonzero(codes[at : at + AT_ONCE] == code, axis=0) for code in range(bins)])
    return counts


def closeness(shares: npt.NDArray[np.float64], counts: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.float64]:
    """``sum(P_pool log P_sample)`` over bins, mean over units, ``(groups,)``: the negative cross entropy.

    Bins in which a sample of this size is expected to have less than half an input do not count; an empty one of them
    would outweigh all others.

    Args:
        shares: Share of the pool in each bin, ``(bins, units)``.
        counts: Number of inputs of each sample in each bin, ``(groups, bins, units)``.
        size: Number of inputs in each sample.

    >>> closeness(np.array([[0.5], [0.5]]), np.array([[[1], [1]], [[2], [0]]]), 2).round(2).tolist()
    [-0.69, -11.51]
    """
    logs = np.log(np.maximum(np.arange(size + 1) / size, LEAST))
    weights = np.where(shares < 0.5 / size, 0.0, shares)
    return np.asarray(logs[counts].reshape(len(counts), -1) @ weights.ravel() / shares.shape[1])
