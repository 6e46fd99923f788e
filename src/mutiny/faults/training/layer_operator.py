"""What a fault in one layer is: which layer, and what it gets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults.training.base import Level, Program, TrainingOperator
from mutiny.subjects.training import Recipe


@dataclass(frozen=True)
class LayerOperator(TrainingOperator):
    """A fault in one layer. Every layer that can have it is tried, with everything that it can get.

    An author writes `places` and `changed`.

    Attributes:
        choice: the parameter that says what the layer gets; ``None`` if there is nothing to choose.
        options: what it can be.

    Args:
        layer: its name; all are tried if not given.
    """

    level: ClassVar[Level] = "network"
    choice: ClassVar[str | None] = None
    options: ClassVar[tuple[Any, ...]] = ()
    tries: ClassVar[str] = "each layer"

    layer: str | None = None

    def __post_init__(self) -> None:
        if self.chosen is not None:
            self.check(self.chosen)

    @property
    def chosen(self) -> Any:
        """The value of the choice."""
        return None if self.choice is None else getattr(self, self.choice)

    def check(self, chosen: Any) -> None:
        """An error for what is no option."""
        if chosen not in self.options:
            raise BadInput(f"{self.code} {self.choice}", repr(chosen), f"one of {', '.join(map(str, self.options))}")

    @final
    def values(self, program: Program) -> Iterator[Self]:
        """Every layer with every option but what it has."""
        places = self.places(program)
        if self.layer is not None:
            if self.layer not in places:
                raise BadInput(f"{self.code} layer", repr(self.layer), f"one of {', '.join(places)}")
            places = {self.layer: places[self.layer]}
        if self.choice is None:
            yield from (replace(self, layer=layer) for layer in places)
            return
        options = self.options if self.chosen is None else (self.chosen,)
        found = [(layer, option) for layer, now in places.items() for option in options if option != now]
        if not found:
            raise NotApplicable(f"{self.choice} {self.chosen} would change nothing in {', '.join(places)}")
        yield from (replace(self, **{"layer": layer, self.choice: option}) for layer, option in found)

    @final
    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """The faulty program; what is left open is drawn."""
        if self.layer is None or (self.choice is not None and self.chosen is None):
            return self.mutate(program, rng)
        return replace(program, recipe=self.changed(program, self.layer))

    @abstractmethod
    def places(self, program: Program) -> Mapping[str, Any]:
        """By name of each layer that can have the fault, which option would change nothing there; at least one layer.

        Raises `NotApplicable`, with the reason, if there is no such layer.
        """

    @abstractmethod
    def changed(self, program: Program, layer: str) -> Recipe:
        """The faulty recipe."""


def with_change(recipe: Recipe, change: Any) -> Recipe:
    """The recipe with one more change of the network."""
    return replace(recipe, changes=(*recipe.changes, change))
