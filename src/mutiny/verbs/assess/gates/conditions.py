"""The tree of a gate: comparisons, joined by ``and``, ``or`` and ``not``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from mutiny.core.stats.gate_curve import BoundRule
from mutiny.core.stats.samples import Floats
from mutiny.verbs.assess.gates.answers import GateAnswers
from mutiny.verbs.assess.gates.bounds import holds, shown_bound, side
from mutiny.verbs.assess.gates.metric_use import MetricUse

LEAST_DIGITS, MOST_DIGITS = 3, 17
"""Decimal places of a value in a sentence: as many as tell it from the bound."""


@dataclass(frozen=True)
class GateComparison:
    """A metric and its bound.

    Attributes:
        metric: The metric.
        operator: ``>=``, ``>``, ``<=`` or ``<``.
        bound: The bound.
    """

    metric: MetricUse
    operator: str
    bound: float

    def __str__(self) -> str:
        return f"{self.metric} {self.operator} {shown_bound(self.bound, self.in_points)}"

    @property
    def in_points(self) -> bool:
        """Whether values are shown in points: changes of shares are."""
        return bool(self.metric.change) and self.metric.metric.share

    @property
    def is_upper(self) -> bool:
        """Whether the bound is the largest accepted value, so that larger bounds are looser."""
        return self.operator in ("<=", "<")

    @property
    def rule(self) -> BoundRule:
        """Which values satisfy a bound."""
        return BoundRule(self.is_upper, self.operator in ("<", ">"))

    def verdict(self, clean: GateAnswers, tested: GateAnswers, weights: Floats | None = None) -> bool | None:
        """Whether the comparison holds; ``None`` if the metric is undefined."""
        return holds(self.metric.value(clean, tested, weights), self.operator, self.bound)

    def reasons(self, clean: GateAnswers, tested: GateAnswers) -> Iterator[str]:
        """The value and its side of the bound."""
        value = self.metric.value(clean, tested)
        satisfied = holds(value, self.operator, self.bound)
        if satisfied is None:
            yield f"{self.metric} is undefined"
            return
        bound = shown_bound(self.bound, self.in_points)
        yield f"{self.metric} {self._shown(value)} is {side(self.operator, satisfied)} {bound}"

    def comparisons(self) -> Iterator[GateComparison]:
        """This comparison."""
        yield self

    def _shown(self, value: float) -> str:
        """A value with enough digits to tell it from the bound."""
        if not math.isfinite(value) or abs(value) >= 1e15:
            return f"{value:g}"
        if holds(value, ">=", self.bound) and holds(value, "<=", self.bound):
            return shown_bound(self.bound, self.in_points)
        for digits in range(LEAST_DIGITS, MOST_DIGITS):
            text = shown_bound(value, self.in_points, digits)
            if text != shown_bound(self.bound, self.in_points, digits):
                return text
        return shown_bound(value, self.in_points)


@dataclass(frozen=True)
class GateNegation:
    """The opposite of a condition. What is undefined stays undefined."""

    of: GateCondition

    def __str__(self) -> str:
        return f"not ({self.of})" if isinstance(self.of, GateJunction) else f"not {self.of}"

    def verdict(self, clean: GateAnswers, tested: GateAnswers, weights: Floats | None = None) -> bool | None:
        """Whether the condition does not hold; ``None`` if that is undefined."""
        inner = self.of.verdict(clean, tested, weights)
        return None if inner is None else not inner

    def reasons(self, clean: GateAnswers, tested: GateAnswers) -> Iterator[str]:
        """What decides the condition."""
        return self.of.reasons(clean, tested)

    def comparisons(self) -> Iterator[GateComparison]:
        """The comparisons of the condition."""
        return self.of.comparisons()


@dataclass(frozen=True)
class GateJunction:
    """Several conditions that must all hold (``and``), or one of which must (``or``).

    Attributes:
        word: ``and`` or ``or``.
        parts: The conditions, at least two; none is a junction of the same word.
    """

    word: str
    parts: tuple[GateCondition, ...]

    def __str__(self) -> str:
        loose = self.word == "and"  # a part of an "and" that is an "or" needs parentheses
        shown = (f"({part})" if loose and isinstance(part, GateJunction) else str(part) for part in self.parts)
        return f" {self.word} ".join(shown)

    def verdict(self, clean: GateAnswers, tested: GateAnswers, weights: Floats | None = None) -> bool | None:
        """Whether all or one of the conditions hold; ``None`` if that depends on an undefined one."""
        verdicts = [part.verdict(clean, tested, weights) for part in self.parts]
        if self._decisive in verdicts:
            return self._decisive
        return None if None in verdicts else not self._decisive

    def reasons(self, clean: GateAnswers, tested: GateAnswers) -> Iterator[str]:
        """What decides: the conditions with the verdict of the whole."""
        whole = self.verdict(clean, tested)
        for part in self.parts:
            if part.verdict(clean, tested) is whole:
                yield from part.reasons(clean, tested)

    def comparisons(self) -> Iterator[GateComparison]:
        """The comparisons of all conditions."""
        for part in self.parts:
            yield from part.comparisons()

    @property
    def _decisive(self) -> bool:
        """The verdict on one condition that decides the whole."""
        return self.word == "or"


GateCondition = GateComparison | GateNegation | GateJunction


def joined(word: str, parts: list[GateCondition]) -> GateCondition:
    """A junction of conditions; those that are junctions of the same word become part of it."""
    flat: list[GateCondition] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, GateJunction) and part.word == word else [part])
    return flat[0] if len(flat) == 1 else GateJunction(word, tuple(flat))
