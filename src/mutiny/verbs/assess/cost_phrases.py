"""Costs of faults in sentences, for accuracy points and for a loss that rises."""

from __future__ import annotations

from dataclasses import dataclass

from mutiny.verbs.assess.cost_unit import metric_of


@dataclass(frozen=True)
class CostPhrases:
    """Phrases about costs in one unit.

    Attributes:
        unit: Name of the unit, from `CostUnit.name`.
        place: Inputs on which costs were measured, such as ``on training inputs``, if sentences have to say so.

    >>> points, loss = CostPhrases("accuracy points"), CostPhrases("percent added to the mse")
    >>> points.cost(points.between(0.5, 8)), loss.cost(loss.between(5, 80))
    ('cost 1/2 to 8 accuracy points', 'raise the mse by 5% to 80%')
    >>> points.loss(1), loss.loss(10)
    ('a loss of 1 accuracy point', 'a rise of the mse by 10%')
    """

    unit: str
    place: str = ""

    def number(self, cost: float) -> str:
        """A round cost, without its unit unless that is percent."""
        if metric_of(self.unit) is not None:
            return f"{cost:g}%"
        return "1/2" if cost == 0.5 else f"{cost:g}"

    def between(self, low: float, high: float) -> str:
        """A range of costs, without their unit unless that is percent."""
        return f"{self.number(low)} to {self.number(high)}"

    def column(self, low: float, high: float) -> str:
        """A range of costs as the title of a narrow column."""
        return self.between(low, high) if metric_of(self.unit) is None else f"{low:g}-{high:g}%"

    def cost(self, numbers: str, one: bool = False) -> str:
        """What faults do, or what one does, with numbers from `number` or `between`."""
        metric, ending = metric_of(self.unit), "s" * one
        if metric is not None:
            return f"raise{ending} the {metric}{self._place} by {numbers}"
        return f"cost{ending} {numbers} {self.unit}{self._place}"

    def cost_at_least(self, cost: float, one: bool = False) -> str:
        """What faults do, or what one does, that cost so much or more."""
        return f"{self.cost(self.number(cost), one)} or more"

    def briefly(self, numbers: str) -> str:
        """What faults do, after a sentence that has named unit and place."""
        metric = metric_of(self.unit)
        return f"cost {numbers}" if metric is None else f"raise the {metric} by {numbers}"

    def cost_of_one(self, cost: float) -> str:
        """What one fault of a measured cost does."""
        metric = metric_of(self.unit)
        return f"costs {cost:.3g} {self.unit}" if metric is None else f"raises the {metric} by {cost:.3g}%"

    def loss(self, cost: float, below: bool = False) -> str:
        """A round cost, or any that is lower, as a noun."""
        metric, less = metric_of(self.unit), "less than " * below
        if metric is not None:
            return f"a rise of the {metric}{self._place} by {less}{self.number(cost)}"
        unit = self.unit.removesuffix("s") if cost == 1 else self.unit
        return f"a loss of {less}{self.number(cost)} {unit}{self._place}"

    @property
    def any_loss(self) -> str:
        """A loss of any size, as a noun."""
        metric = metric_of(self.unit)
        return "a loss" if metric is None else f"a rise of the {metric}"

    def amount(self, cost: float) -> str:
        """A round cost with its unit.

        >>> CostPhrases("accuracy points").amount(1), CostPhrases("percent added to the mse").amount(10)
        ('1 accuracy point', '10%')
        """
        if metric_of(self.unit) is not None:
            return self.number(cost)
        return f"{self.number(cost)} {self.unit.removesuffix('s') if cost == 1 else self.unit}"

    def lost_on(self, inputs: str) -> str:
        """What a cost is, on the inputs on which it was measured."""
        return f"{self.unit} on {inputs}" if metric_of(self.unit) is not None else f"{self.unit} lost on {inputs}"

    def worse_on_tests(self, memorized: float) -> str:
        """How much worse originals are on test inputs than on training inputs."""
        metric = metric_of(self.unit)
        if metric is not None:
            return f"the {metric} is {memorized:.3g}% higher on test inputs"
        return f"the originals are {memorized:.3g} {self.unit} worse on test inputs"

    @property
    def heading(self) -> str:
        """The unit, with the place, after a word such as "cost in"."""
        return f"{self.unit}{self._place}"

    @property
    def _place(self) -> str:
        return f" {self.place}" if self.place else ""
