"""The work of a selection: one method ranks the pool under one seed. Each task stands alone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from mutiny.campaigns.jobs import Job
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.verbs.select.base import Order, Scores, Selector
from mutiny.verbs.select.diverse import diversified
from mutiny.verbs.select.evidence import Evidence


@dataclass(frozen=True, eq=False)
class Ranked:
    """What a method says: indices, best first, and scores in the pool's order, ``(n,)`` each; how long it took."""

    order: Order
    scores: Scores
    seconds: float
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Refused:
    """Why a method does not apply.

    Attributes:
        reason: in words.
        wrong: argument, value, expectation and fix, if something about the input is wrong.
    """

    reason: str
    wrong: tuple[str, str, str, str] | None = None

    @classmethod
    def of(cls, error: NotApplicable | BadInput) -> Refused:
        """What a method raised."""
        if isinstance(error, BadInput):
            return cls(str(error), (error.argument, str(error.value), error.expected, error.fix))
        return cls(str(error))

    def error(self, method: str) -> BadInput:
        """What to tell if there is no other method."""
        if self.wrong is not None:
            return BadInput(*self.wrong)
        return BadInput("method", method, "a method that applies here", sentence(self.reason))


class Bench:
    """Ranks the pool.

    Args:
        evidence: what methods may know; what one of them computes, others in the same process find.
        methods: by name.
        budget: within which inputs should not look alike; ``None`` leaves every order as it is.
    """

    def __init__(self, evidence: Evidence, methods: Mapping[str, Selector], budget: int | None = None) -> None:
        self.evidence, self.methods, self.budget = evidence, dict(methods), budget

    @torch.inference_mode(False)  # some methods need gradients
    def __call__(self, task: Job) -> Ranked | Refused:
        """Ranks by the method and under the seed that ``task.given`` names."""
        name, seed = task.given
        evidence, start = self.evidence.reseeded(seed), time.monotonic()
        try:
            order, scores = self.methods[name].rank(evidence)
            if self.budget is not None:
                order = diversified(order, self.budget, evidence)
        except (NotApplicable, BadInput) as reason:
            return Refused.of(reason)
        return Ranked(order, scores, time.monotonic() - start, tuple(evidence.notes))


def none_applies(skipped: Mapping[str, str]) -> BadInput:
    """The error if no method applies, with each one's reason."""
    reasons = " ".join(f"{name}: {sentence(reason)}" for name, reason in skipped.items())
    return BadInput("method", ", ".join(skipped), "at least one that applies here", reasons)


def sentence(text: str) -> str:
    """With a capital and a full stop.

    >>> sentence("it needs classes")
    'It needs classes.'
    """
    return f"{text[:1].upper()}{text[1:]}."
