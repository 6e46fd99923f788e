"""Options of a metric in a gate, such as ``class=3`` in ``recall(class=3)``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mutiny.verbs.assess.gates.metric_table import AVERAGES
from mutiny.verbs.assess.gates.metric_use import MetricUse

WHOLE = re.compile(r"[0-9]{1,6}")
LEAST = {"class": 0, "k": 1, "bins": 1}
MOST = {"class": 10**6, "k": 10**6, "bins": 1000}
FORMS = {"average": f"{', '.join(AVERAGES)}", "class": "class=3", "k": "k=5", "bins": "bins=15"}
FIELDS = {"average": "average", "class": "label", "k": "k", "bins": "bins"}
"""Attributes of `MetricUse` by the name of the option."""


class MetricOptions:
    """Collects the options of one metric.

    Args:
        name: Name of the metric.
        allowed: Names of the options that it has.

    >>> options = MetricOptions("recall", ("average", "class"))
    >>> options.add("class", "3"), options.add("k", "5"), str(options.use())
    ('', 'macro, micro, weighted or class=3', 'recall(class=3)')
    """

    def __init__(self, name: str, allowed: Sequence[str]) -> None:
        self.name, self.allowed = name, allowed
        self.given: dict[str, str] = {}

    @property
    def expected(self) -> str:
        """The options that the metric has."""
        forms = [FORMS[option] for option in self.allowed]
        return " or ".join(forms) if forms else f"no options, because {self.name} has none,"

    def add(self, word: str, value: str | None) -> str:
        """Adds an option.

        Args:
            word: Word before the equals sign, or the only word.
            value: Word or number after the equals sign; ``None`` if there is no equals sign.

        Returns:
            What was expected instead; empty if the option is right.
        """
        option = "average" if value is None and word in AVERAGES else word
        chosen = word if value is None else value
        if option not in self.allowed or (value is None and option != "average"):
            return self.expected
        if self.given and (option in self.given or "average" in self.allowed):
            return "a single option" if "average" in self.allowed else f"{option} only once"
        if option == "average" and chosen not in AVERAGES:
            return f"one of {', '.join(AVERAGES)}"
        if option != "average":
            low, high = LEAST[option], MOST[option]
            if not WHOLE.fullmatch(chosen) or not low <= int(chosen) <= high:
                return f"a whole number from {low} to {high:,} for {option}"
        self.given[option] = chosen
        return ""

    @property
    def missing(self) -> str:
        """What is expected because a required option is missing; empty if none is."""
        return f"{self.name}(k=5), because k has no default," if "k" in self.allowed and "k" not in self.given else ""

    def use(self, change: str = "") -> MetricUse:
        """The metric with these options."""
        values = {FIELDS[name]: text if name == "average" else int(text) for name, text in self.given.items()}
        return MetricUse(self.name, change, **values)  # type: ignore[arg-type]  # types go with the names
