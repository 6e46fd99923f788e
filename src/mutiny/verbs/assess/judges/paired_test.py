"""The paired test: does a test set notice that a fault answers worse than its original?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.core.checks import is_number
from mutiny.core.errors import BadInput
from mutiny.verbs.assess.cost_unit import unit_of
from mutiny.verbs.assess.judges.answers import NetworkAnswers
from mutiny.verbs.assess.judges.base import Judge, Judgement


@dataclass(frozen=True)
class PairedTest(Judge):
    """Notices a fault if a one-sided paired test over the test inputs is significant.

    The test compares a fault with its own original: McNemar's exact test on changed answers for classification; for
    regression, a t-test of whether the mean loss grows by more than 1%. A harmless change is noticed with a probability
    of at most ``alpha``.

    Args:
        alpha: Significance level.

    >>> PairedTest(alpha=2)
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: alpha=2: expected a probability between 0 and 1.
    """

    code: ClassVar[str] = "paired"
    title: ClassVar[str] = "paired test"
    source: ClassVar[str] = "McNemar (1947)"

    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not (is_number(self.alpha) and 0 < self.alpha < 1):
            raise BadInput("alpha", repr(self.alpha), "a probability between 0 and 1")

    def judge(self, clean: NetworkAnswers, faulty: NetworkAnswers) -> Judgement:
        """Compares the p-value of the test with ``alpha``."""
        p_value = unit_of(faulty.task).p_value(faulty.worse_than(clean), float(clean.shares.mean()))
        return Judgement.of(p_value < self.alpha, p_value=p_value)
