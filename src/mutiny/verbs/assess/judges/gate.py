"""A gate as a judge: a fault is noticed if the faulty network fails a condition on metrics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from mutiny.verbs.assess.gates.answers import GateAnswers
from mutiny.verbs.assess.gates.expression import GateExpression
from mutiny.verbs.assess.gates.grammar import parse_gate
from mutiny.verbs.assess.gates.metric_table import PROBABILITIES
from mutiny.verbs.assess.judges.answers import NetworkAnswers
from mutiny.verbs.assess.judges.base import Judge, Judgement, shortened


@dataclass(frozen=True)
class Gate(Judge):
    """Notices a fault if the faulty network fails a gate, such as ``accuracy >= 0.97`` or ``drop <= 0.5pt``.

    Args:
        text: The gate; see the page about gates for its language.

    >>> Gate("accuracy>=97%").label
    'accuracy >= 0.97'
    """

    code: ClassVar[str] = "gate"
    title: ClassVar[str] = "gate"
    source: ClassVar[str] = "the user's own test"

    text: str

    def __post_init__(self) -> None:
        _ = self.expression

    @cached_property
    def expression(self) -> GateExpression:
        """The gate as parsed."""
        return parse_gate(self.text)

    @property
    def label(self) -> str:
        """The gate in its canonical form."""
        return self.expression.text

    def judge(self, clean: NetworkAnswers, faulty: NetworkAnswers) -> Judgement:
        """Evaluates the gate; the values are those of its comparisons, in their order."""
        before, after = self.read(clean), self.read(faulty)
        reason = shortened(self.expression.reason(before, after))
        noticed = not self.expression.passes(before, after)
        return Judgement(Judgement.of(noticed).outcome, reason, None, self.values(before, after))

    def check(self, clean: NetworkAnswers, name: str) -> None:
        """Raises `BadInput` if a metric does not fit the task, or if the original fails the gate."""
        answers = self.read(clean)
        self.expression.check(answers)
        self.expression.check_clean_passes(answers, name)

    def values(self, clean: GateAnswers, tested: GateAnswers) -> tuple[float, ...]:
        """Values of the metrics of all comparisons, in their order."""
        comparisons = self.expression.condition.comparisons()
        return tuple(float(comparison.metric.value(clean, tested)) for comparison in comparisons)

    def read(self, answers: NetworkAnswers) -> GateAnswers:
        """The answers of a network as the gate reads them."""
        return answers.probabilities_for_gates if self.needs_probabilities else answers.classes_for_gates

    @property
    def needs_probabilities(self) -> bool:
        """Whether a metric is computed from probabilities, which may be large."""
        return any(metric.metric.needs == PROBABILITIES for metric in self.expression.metrics)
