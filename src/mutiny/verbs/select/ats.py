"""ATS: adaptive test selection, which covers directions from a predicted class towards pairs of other classes."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import NotApplicable
from mutiny.verbs.select.base import Scores, Selector
from mutiny.verbs.select.evidence import Evidence

Whole = npt.NDArray[np.int64]
UNIT = 10**9
"""Parts of an edge. Lengths are whole numbers of parts, so that sums are exact and equal inputs stay equal."""
AT_ONCE = 2**17
"""Intervals that are computed at once."""
BLOCK = 4
"""Candidates whose gains are updated together."""


@dataclass(frozen=True)
class Ats(Selector):
    """Inputs that together cover as many directions towards other classes as possible, for each predicted class.

    For a predicted class i and a pair of other classes, p and q, an input is a point in the triangle (i, p, q). Its
    projection from the corner i onto the edge p-q is the center of an interval, which is wider the farther the input is
    from i. The fitness of a selection is the total length of the union of its intervals over all pairs. Inputs are
    added greedily, the largest gain first. Inputs with a gain near zero follow, by the length that each covers alone;
    inputs about which the model is almost certain come last, in random order.

    Where the authors' code differs from their description, this follows the description. Their code drops inputs whose
    probability equals the threshold (here their gain is zero), and orders inputs without gain by the lengths of other
    inputs. It also swaps two coordinates of the triangle, so that edges run from q to p, which changes no length. It
    rounds to five digits; this implementation rounds to nine.

    Args:
        threshold: Probability of the predicted class above which the model counts as almost certain.
        radius: Half of an interval's length per unit of distance from the threshold.
        gain: Smallest gain of fitness for which an input is chosen.
        rivals: Number of other classes that form pairs. If there are more, as in ImageNet, those with the largest mean
            probability over inputs of the predicted class are used. Time and memory grow with the square.
    """

    code: ClassVar[str] = "ats"
    title: ClassVar[str] = "adaptive test selection"
    source: ClassVar[str] = "Gao et al., ATS, ICSE 2022"

    threshold: float = 0.99
    radius: float = 0.005
    gain: float = 0.001
    rivals: int = 100

    def __post_init__(self) -> None:
        self._within("threshold", 0, 1)
        self._within("radius", 0, 1)
        self._within("gain", 0, 1)
        self._within("rivals", 2, 300)

    def score(self, evidence: Evidence) -> Scores:
        """2 + share of fitness gained; without gain, 1 + share covered alone; 0 if the model is almost certain."""
        if evidence.classes < 3:
            raise NotApplicable("two classes have no pair of other classes; deepgini orders by distance")
        others = min(evidence.classes - 1, self.rivals)
        if others < evidence.classes - 1:
            evidence.note(f"ats uses pairs of the {others} most probable other classes of each predicted class")
        probabilities, predicted = evidence.probabilities().double().numpy(), evidence.predicted()
        unsure = probabilities[np.arange(evidence.size), predicted] <= self.threshold
        total = UNIT * others * (others - 1) / 2
        scores = np.zeros(evidence.size)
        for label in np.unique(predicted[unsure]):
            here = np.flatnonzero(unsure & (predicted == label))
            edges = Edges(probabilities[here], label, others, self.threshold, self.radius)
            alone = edges.lengths()
            gains = greedy(edges, alone, self.gain)
            scores[here] = np.where(gains > 0, 2 + gains / total, 1 + alone / total)
        return scores


class Edges:
    """Intervals that inputs of one predicted class cover on the edges between pairs of other classes.

    All edges lie on one line, one after another with a gap, so that all intervals form one sorted list.

    Args:
        probabilities: Class probabilities, ``(n, classes)``.
        label: Predicted class.
        others: Number of other classes that form pairs, those with the largest mean probability.
        threshold: Threshold of `Ats`.
        radius: Radius of `Ats`.
    """

    def __init__(
        self, probabilities: npt.NDArray[np.float64], label: int, others: int, threshold: float, radius: float
    ) -> None:
        likely = probabilities.mean(axis=0)
        likely[label] = -1
        near = np.sort(np.argsort(-likely, kind="stable")[:others])
        pairs = np.array(list(combinations(range(others), 2)))
        self.size, self._first, self._second = len(probabilities), pairs[:, 0], pairs[:, 1]
        self._own, self._near = probabilities[:, label, None], probabilities[:, near]
        self._offsets = np.arange(len(pairs)) * (UNIT + 1)
        self._threshold, self._radius = threshold, radius

    def intervals(self, which: Whole) -> tuple[Whole, Whole]:
        """Begin and end of the intervals of some inputs, ``(which, pairs)`` each.

        The projection onto the plane of a triangle gives each corner a third of the remaining probability.
        """
        own, first, second = self._own[which], self._near[which][:, self._first], self._near[which][:, self._second]
        part = (1 - own - first - second) / 3
        away = 1 - own - part
        place = (second + part) / np.maximum(away, 1e-12)
        reach = self._radius * np.maximum(self._threshold - 1 + away, 0)
        begin, end = (np.rint(np.clip(at, 0, 1) * UNIT).astype(np.int64) for at in (place - reach, place + reach))
        return begin + self._offsets, end + self._offsets

    def lengths(self) -> Whole:
        """Length that each input covers alone, ``(n,)``."""
        lengths = np.empty(self.size, np.int64)
        step = max(1, AT_ONCE // len(self._offsets))
        for at in range(0, self.size, step):
            begin, end = self.intervals(np.arange(at, min(at + step, self.size)))
            lengths[at : at + step] = (end - begin).sum(axis=1)
        return lengths


class Union:
    """Disjoint intervals on a line.

    >>> union = Union()
    >>> union.add(np.array([10, 30]), np.array([20, 40]))
    >>> union.within(np.array([15]), np.array([35])).tolist()
    [10]
    """

    def __init__(self) -> None:
        self.begin = self.end = np.full(1, -1)  # an empty interval before all others avoids a special case
        self._before = np.zeros(1, np.int64)

    def within(self, begin: Whole, end: Whole) -> Whole:
        """Covered length between each ``begin`` and ``end``."""
        return self._up_to(end) - self._up_to(begin)

    def add(self, begin: Whole, end: Whole) -> None:
        """Adds sorted intervals, ``(k,)``."""
        at = np.searchsorted(self.begin, begin)
        begins, ends = np.insert(self.begin, at, begin), np.maximum.accumulate(np.insert(self.end, at, end))
        new = np.append(True, begins[1:] > ends[:-1])
        self.begin, self.end = begins[new], ends[np.append(new[1:], True)]
        self._before = np.append(0, np.cumsum(self.end - self.begin)[:-1])

    def _up_to(self, place: Whole) -> Whole:
        last = np.searchsorted(self.begin, place, side="right") - 1
        return np.asarray(self._before[last] + np.minimum(place, self.end[last]) - self.begin[last])


def greedy(edges: Edges, alone: Whole, least: float) -> Whole:
    """Length that each chosen input adds to the union of those chosen before it, ``(n,)``; 0 for the others.

    Chooses the input with the largest gain, the first if several are equal, as long as it gains more than ``least``.
    Gains never increase, so a gain from an earlier round is an upper bound, and only the top of the heap is updated.
    """
    union, gains = Union(), np.zeros(edges.size, np.int64)
    heap = [(-int(length), position) for position, length in enumerate(alone) if length > least * UNIT]
    heapify(heap)
    fresh: set[int] = {heap[0][1]} if heap else set()
    while heap:
        if heap[0][1] in fresh:
            bound, position = heappop(heap)
            gains[position] = -bound
            begin, end = edges.intervals(np.array([position]))
            union.add(begin[0], end[0])
            fresh.clear()
            continue
        block: list[int] = []
        while heap and len(block) < BLOCK and heap[0][1] not in fresh:
            block.append(heappop(heap)[1])
        begin, end = edges.intervals(np.array(block))
        for position, gain in zip(block, (end - begin - union.within(begin, end)).sum(axis=1).tolist(), strict=True):
            if gain > least * UNIT:
                heappush(heap, (-gain, position))
                fresh.add(position)
    return gains
