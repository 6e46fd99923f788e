"""Ranking of a pool by one method, or the reason why the method does not apply."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.verbs.select.base import Order, Scores, Selector
from mutiny.verbs.select.diverse import diversified
from mutiny.verbs.select.evidence import Evidence


@dataclass(frozen=True, eq=False)
class Ranked:
    """Ranking of a pool: indices, best first, and scores in the order of the pool, ``(n,)`` each, and the duration."""

    order: Order
    scores: Scores
    seconds: float
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Refused:
    """Reason why a method does not apply.

    Attributes:
        reason: Reason as a sentence.
        wrong: Argument, value, expectation and fix, if something about the input is wrong.
    """

    reason: str
    wrong: tuple[str, str, str, str] | None = None

    @classmethod
    def of(cls, error: NotApplicable | BadInput) -> Refused:
        """The reason that an error gives."""
        if isinstance(error, BadInput):
            return cls(str(error), (error.argument, str(error.value), error.expected, error.fix))
        return cls(str(error))

    def error(self, method: str) -> BadInput:
        """Error for the user if there is no other method."""
        if self.wrong is not None:
            return BadInput(*self.wrong)
        return BadInput("method", method, "a method that applies here", sentence(self.reason))


def ranked(method: Selector, evidence: Evidence, budget: int | None = None) -> Ranked | Refused:
    """Ranks the pool by one method.

    Args:
        method: Selection method.
        evidence: Model and data, with the seed to use.
        budget: Number of inputs that should be far from each other in the feature space; ``None`` keeps the order.
    """
    start = time.monotonic()
    try:
        order, scores = method.rank(evidence)
        if budget is not None:
            order = diversified(order, budget, evidence)
    except (NotApplicable, BadInput) as reason:
        return Refused.of(reason)
    return Ranked(order, scores, time.monotonic() - start, tuple(evidence.notes))


def none_applies(skipped: Mapping[str, str]) -> BadInput:
    """Error for the user if no method applies, with the reason of each."""
    reasons = " ".join(f"{name}: {sentence(reason)}" for name, reason in skipped.items())
    return BadInput("method", ", ".join(skipped), "at least one that applies here", reasons)


def sentence(text: str) -> str:
    """The text with a capital letter and a period.

    >>> sentence("it needs classes")
    'It needs classes.'
    """
    return f"{text[:1].upper()}{text[1:]}."
