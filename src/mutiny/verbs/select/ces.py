"""CES: cross entropy-based sampling, which draws a small sample that is like the whole pool."""

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
"""Share that stands for an empty bin, whose logarithm would be infinite."""

AT_ONCE = 1024
"""Inputs that are counted at once."""


@dataclass(frozen=True)
class Ces(Selector):
    """Inputs that together are like the pool, for an estimate of the accuracy from few labels. It seeks no faults.

    For each unit of the last hidden layer, the range of its values over the pool is cut into equal bins. The sample
    begins with random inputs and grows by a few at a time: of several random groups, the one with which the sample is
    closest to the pool by cross entropy, mean of all units; a random one if no group makes it closer than it was.
    After some inputs the rest follows at random. Unlike in the authors' code, no input is chosen twice, and values on
    the border of two bins are in the upper one, not in none.

    Args:
        bins: for each unit.
        first: inputs with which the sample begins.
        step: inputs in a group.
        groups: that are compared in each step.
        share: of the pool, beyond which inputs follow at random.
        layers: where to read; what the output layer reads if not given.
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
        """By falling score: the sample in its order, then all others as equals."""
        evidence.note("ces makes the sample like the pool, to estimate its accuracy; it does not look for faults")
        places = evidence.read_points(self.code, "hidden", "unit", own=self.layers)
        codes = binned(evidence.traces("pool", places, "unit"), self.bins)
        wanted = round(self.share * evidence.size)
        sample = representative(codes, self.bins, self.first, self.step, self.groups, wanted, evidence.rng(self.code))
        return as_scores(sample, evidence.size)


def binned(traces: Traces, bins: int) -> Codes:
    """The bin of each value in its unit's range, ``(n, units)``; all of a constant unit are in the first.

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
        codes[at : at + len(place)] = np.minimum(place, bins - 1)  # cut off to a whole number
        at += len(place)
    return codes


def representative(
    codes: Codes, bins: int, first: int, step: int, groups: int, wanted: int, rng: np.random.Generator
) -> Order:
    """Positions of a sample in the order of choice, ``(wanted,)``.

    Args:
        codes: the bin of each input's units, ``(n, units)``.
        bins: their number.
        first: random inputs at the beginning.
        step: inputs in a group.
        groups: random groups to choose from in each step.
        wanted: size of the sample.
        rng: draws them.
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
        found = closeness(pool / n, grown, len(sample) + size)
        best = int(found.argmax()) if found.max() > closest else 0  # groups are random, so the first is as good as any
        sample, counts, closest = np.append(sample, drawn[best]), grown[best], found[best]
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

    A bin in which a sample of this size would hold less than half an input does not count: it would decide everything.

    Args:
        shares: of the pool in each bin, ``(bins, units)``.
        counts: of samples, ``(groups, bins, units)``.
        size: of each sample.

    >>> closeness(np.array([[0.5], [0.5]]), np.array([[[1], [1]], [[2], [0]]]), 2).round(2).tolist()
    [-0.69, -11.51]
    """
    logs = np.log(np.maximum(np.arange(size + 1) / size, LEAST))
    weights = np.where(shares < 0.5 / size, 0.0, shares)
    return np.asarray(logs[counts].reshape(len(counts), -1) @ weights.ravel() / shares.shape[1])
