"""A gate: a condition on metrics that a network must meet, such as ``accuracy >= 0.97 and drop <= 0.5pt``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from mutiny.core.checks import is_number
from mutiny.core.errors import BadInput
from mutiny.core.stats.samples import Floats
from mutiny.verbs.assess.gates.answers import GateAnswers
from mutiny.verbs.assess.gates.bounds import shown_bound
from mutiny.verbs.assess.gates.conditions import GateComparison, GateCondition
from mutiny.verbs.assess.gates.metric_use import MetricUse


@dataclass(frozen=True)
class GateExpression:
    """A gate; `parse_gate` makes one from text. Gates are equal if their texts are.

    Attributes:
        text: Canonical text, which parses to the same gate.
        condition: The condition that must hold.
        argument: Name of the user's argument, for messages.
    """

    text: str
    condition: GateCondition = field(compare=False, repr=False)
    argument: str = field(default="judge", compare=False, repr=False)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of(cls, condition: GateCondition, argument: str = "judge") -> GateExpression:
        """The gate of a condition."""
        return cls(str(condition), condition, argument)

    @property
    def metrics(self) -> tuple[MetricUse, ...]:
        """The metrics of all comparisons, each once."""
        return tuple(dict.fromkeys(comparison.metric for comparison in self.condition.comparisons()))

    @property
    def thresholds(self) -> GateComparison | None:
        """The comparison, if the gate is a single one; otherwise ``None``."""
        return self.condition if isinstance(self.condition, GateComparison) else None

    @property
    def is_paired(self) -> bool:
        """Whether it compares the tested network with the clean one in every comparison, as ``drop`` does."""
        return all(metric.change for metric in self.metrics)

    def passes(self, clean: GateAnswers, tested: GateAnswers, weights: Floats | None = None) -> bool:
        """Whether a network passes. It does not if that depends on a metric that is undefined.

        Args:
            clean: Answers of the clean network.
            tested: Answers of the tested network to the same inputs.
            weights: How often each input counts, ``(n,)``; once by default.
        """
        return self.condition.verdict(clean, tested, weights) is True

    def value(self, clean: GateAnswers, tested: GateAnswers, weights: Floats | None = None) -> float:
        """Value of the metric of a gate with a single comparison; NaN if it is undefined, or for other gates."""
        single = self.thresholds
        return math.nan if single is None else single.metric.value(clean, tested, weights)

    def reason(self, clean: GateAnswers, tested: GateAnswers) -> str:
        """Why a network passes, or does not: the comparisons that decide, such as ``accuracy 0.962 is below 0.97``."""
        return ", and ".join(dict.fromkeys(self.condition.reasons(clean, tested)))

    def check(self, clean: GateAnswers) -> None:
        """Raises `BadInput` if a metric does not fit the task, or is of a class that does not exist or has no inputs.

        Args:
            clean: Answers of the clean network.
        """
        for metric in self.metrics:
            metric.check(clean, self.text, self.argument)

    def check_clean_passes(self, clean: GateAnswers, network: str = "the clean network") -> None:
        """Raises `BadInput` if the clean network fails the gate, which could then notice nothing.

        Args:
            clean: Answers of the clean network.
            network: Name of the clean network in the message.
        """
        if not self.passes(clean, clean):
            reason = self.reason(clean, clean)
            raise BadInput(
                self.argument,
                f'"{self.text}"',
                f"a gate that {network} passes, but {reason}",
                "Choose bounds that it meets; a gate that always fails notices nothing.",
            )

    def with_bound(self, value: float) -> GateExpression:
        """The same gate with another bound.

        Args:
            value: The bound; for a share in 0 to 1, not in percent or points.

        Raises:
            BadInput: The gate has several comparisons, or the metric cannot have this value.
        """
        single = self.thresholds
        if single is None:
            raise BadInput(self.argument, f'"{self.text}"', "a gate with a single comparison")
        low, high = single.metric.range
        if not (is_number(value) and math.isfinite(value) and low <= value <= high):
            expected = f"a number from {shown_bound(low)} to {shown_bound(high)} for {single.metric}"
            raise BadInput("bound", value, expected)
        return GateExpression.of(replace(single, bound=float(value) + 0.0), self.argument)
