"""ATS: adaptive test selection, which covers how inputs of one predicted class lean towards pairs of others."""

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
"""Lengths are whole numbers of this part of an edge, so that their sums are exact and equal inputs are equal."""
AT_ONCE = 2**17
"""Intervals that are worked on at once."""
BLOCK = 4
"""Candidates whose gains are brought up to date together."""


@dataclass(frozen=True)
class Ats(Selector):
    """Inputs that lean, together, in as many directions as possible; per predicted class, then by gain over all.

    For a predicted class i and a pair of others, p and q, an input is a point in the triangle (i, p, q); seen from the
    corner i it falls on a place of the edge p-q, and covers an interval around it that is the wider, the further the
    input is from i. The fitness of a selection is the total length of the union of its intervals over all pairs.
    Inputs are added greedily, the largest gain first. Those that add next to nothing come after all chosen ones, by
    the length that they cover alone; last come those of which the model is all but sure, in random order.

    Where the authors' code slips, this does what they describe. There, an input whose probability is exactly the
    threshold is lost (here it is one that adds nothing), and those that add nothing are ordered by lengths of others.
    There, one coordinate of the triangle is written into another's place, so that edges run from q to p; that changes
    no length. They round to five digits, here it is nine.

    Args:
        threshold: probability of the predicted class above which the model is all but sure.
        radius: half of an interval's length for each unit of distance from the threshold.
        gain: least gain of fitness for which an input is chosen.
        rivals: number of other classes that form pairs. Where there are more, as with ImageNet's, those take part that
            inputs of the predicted class find likeliest on average: time and memory grow with the square.
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
        """2 and the share of the fitness gained, or 1 and the share covered alone, or 0 where the model is sure."""
        if evidence.classes < 3:
            raise NotApplicable("with two classes there is no pair of others; deepgini gives the order by distance")
        others = min(evidence.classes - 1, self.rivals)
        if others < evidence.classes - 1:
            evidence.note(f"ats takes pairs of the {others} likeliest other classes of each predicted class")
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
    """Where inputs of one predicted class fall on the edges between pairs of other classes.

    All edges lie on one line, one after another with a gap, so that intervals on many are handled as one sorted list.

    Args:
        probabilities: ``(n, classes)``.
        label: the predicted class.
        others: number of other classes that form pairs, the likeliest on average.
        threshold: see `Ats`.
        radius: see `Ats`.
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
        """Begin and end of what inputs cover, ``(which, pairs)`` each.

        The projection onto the plane of a triangle gives each corner an equal part of what the other classes hold.
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
        found = np.empty(self.size, np.int64)
        step = max(1, AT_ONCE // len(self._offsets))
        for at in range(0, self.size, step):
            begin, end = self.intervals(np.arange(at, min(at + step, self.size)))
            found[at : at + step] = (end - begin).sum(axis=1)
        return found


class Union:
    """Disjoint intervals on a line.

    >>> union = Union()
    >>> union.add(np.array([10, 30]), np.array([20, 40]))
    >>> union.within(np.array([15]), np.array([35])).tolist()
    [10]
    """

    def __init__(self) -> None:
        self.begin = self.end = np.full(1, -1)  # an empty interval before all others spares a special case
        self._before = np.zeros(1, np.int64)

    def within(self, begin: Whole, end: Whole) -> Whole:
        """Length that is covered between each ``begin`` and ``end``."""
        return self._up_to(end) - self._up_to(begin)

    def add(self, begin: Whole, end: Whole) -> None:
        """Covers sorted intervals, ``(k,)``."""
        at = np.searchsorted(self.begin, begin)
        every, ends = np.insert(self.begin, at, begin), np.maximum.accumulate(np.insert(self.end, at, end))
        new = np.append(True, every[1:] > ends[:-1])
        self.begin, self.end = every[new], ends[np.append(new[1:], True)]
        self._before = np.append(0, np.cumsum(self.end - self.begin)[:-1])

    def _up_to(self, place: Whole) -> Whole:
        last = np.searchsorted(self.begin, place, side="right") - 1
        return np.asarray(self._before[last] + np.minimum(place, self.end[last]) - self.begin[last])


def greedy(edges: Edges, alone: Whole, least: float) -> Whole:
    """What each input adds to the union of those chosen before it, ``(n,)``; 0 for those that are not chosen.

    The input with the largest gain is next, the first of equals, while it gains more than ``least``. Gains never grow,
    so a gain from an earlier round is a bound, and only inputs at the top of the heap are looked at again.
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
