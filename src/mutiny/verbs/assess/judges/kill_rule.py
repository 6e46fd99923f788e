"""MUFF's kill rule for one original: significance and effect size over inputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from mutiny.core.errors import BadInput
from mutiny.verbs.assess.judges.answers import NetworkAnswers
from mutiny.verbs.assess.judges.base import Judge, Judgement
from mutiny.verbs.assess.muff.kill_rule import KillRule, Sample


@dataclass(frozen=True)
class SingleKillRule(Judge):
    """Notices a fault that MUFF's kill rule kills, with the original of the fault as the only one.

    The tests of the paper compare trainings, several originals with several mutants. A fault here has one original, so
    the rule is that for one original: McNemar's test over inputs, two-sided, with Cohen's g of at least ``beta``. Tests
    that compare trainings are refused; ``method="muff"`` uses them.

    Args:
        test: Statistical test: ``mcnemar``, or ``fisher`` on pooled correctness.
        alpha: Significance level.
        beta: Effect size that a fault needs; a medium effect by default, 0.15 for Cohen's g.

    >>> SingleKillRule(test="glm")
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: test='glm': expected mcnemar or fisher, because a fault has one original. \
method="muff" has the others.
    """

    code: ClassVar[str] = "kill-rule"
    title: ClassVar[str] = "kill rule of MUFF"
    source: ClassVar[str] = "MUFF, eq. 2"

    test: str = "mcnemar"
    alpha: float = 0.05
    beta: float | None = None

    def __post_init__(self) -> None:
        if self.test not in ("mcnemar", "fisher"):
            fix = 'method="muff" has the others.'
            raise BadInput("test", repr(self.test), "mcnemar or fisher, because a fault has one original", fix)
        _ = self._rule

    @cached_property
    def _rule(self) -> KillRule:
        return KillRule(test=self.test, alpha=self.alpha, beta=self.beta).resolve(originals=1)

    def judge(self, clean: NetworkAnswers, faulty: NetworkAnswers) -> Judgement:
        """Applies the rule to the correctness of all answers."""
        higher = faulty.task.higher_is_better
        sample = Sample(
            originals=np.array([clean.shares.mean()]),
            mutants=np.array([[faulty.shares.mean()]]),
            right=np.array([clean.correct.sum()]),
            mutants_right=np.array([[faulty.correct.sum()]]),
            differences=clean.correct.astype(np.int16) - faulty.correct,
        )
        evidence = self._rule.judge(sample, higher)
        return Judgement.of(evidence.killed, evidence.note, float(np.clip(evidence.p_value, 0.0, 1.0)))
