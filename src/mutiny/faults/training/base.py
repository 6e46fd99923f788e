"""What a fault before training is: a change of data, settings or network, after which everything is trained anew."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Self, final

import numpy as np

from mutiny.core.errors import NotApplicable
from mutiny.models import Forward, ModelView, default_forward
from mutiny.models.view import PROBE_INPUTS
from mutiny.subjects.data import Data
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.tasks import Task
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.loop import built

Level = Literal["data", "settings", "network"]


@dataclass(frozen=True)
class Program:
    """All that a training needs but its seed.

    Attributes:
        recipe: how to train.
        data: on what; mutated by index, never copied.
        task: decides targets and loss.
        forward: how a network is called.
    """

    recipe: Recipe
    data: Data
    task: Task
    forward: Forward = default_forward

    @cached_property
    def view(self) -> ModelView:
        """A newly built network as operators see it: layers, modules and activations."""
        with seeded(0):
            return ModelView.of(built(self.recipe).eval(), self.data.first(PROBE_INPUTS), self.forward)


class Span(NamedTuple):
    """Where a binary search looks.

    Attributes:
        mild: value that changes nothing, or the least; it may be the larger number, as for epochs.
        severe: value that changes most; it is tried first, and if it is not killed nothing is.
        precision: the search ends when its interval is at most this wide.
        whole: whether values are whole numbers.
    """

    mild: float
    severe: float
    precision: float
    whole: bool = False


@dataclass(frozen=True)
class TrainingOperator(ABC):
    """One kind of fault that is made before training. The fields are its parameters.

    An author writes `change`, and `span` for a binary search or `values` for an exhaustive one; everything else is
    final.

    Attributes:
        code: the short name that the field uses.
        title: the name in words.
        source: where it was defined.
        level: what it changes.
        strength: the parameter that a binary search tunes; ``None`` if there is none.
        tries: what is tried, for a list.
    """

    code: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    level: ClassVar[Level]
    strength: ClassVar[str | None] = None
    tries: ClassVar[str] = "-"

    @final
    def at(self, strength: float | None) -> Self:
        """The same operator at another strength; ``None`` leaves it as it is."""
        return self if strength is None or self.strength is None else replace(self, **{self.strength: strength})

    @final
    def parameters(self) -> dict[str, Any]:
        """The parameters by name, ready for JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @final
    def configurations(self, program: Program) -> tuple[Self, ...]:
        """Every configuration that is tried, with all parameters set; one, to be tuned, for a binary search.

        Raises `NotApplicable`, with the reason, if there is nothing to change.
        """
        if self.strength is not None:
            self.span(program)
        found = tuple(self.values(program)) if self.strength is None else (self,)
        if not found:
            raise NotApplicable(f"nothing that {self.code} could change")
        ignored = program.recipe.ignored(name for one in found for name in one._changed(program))
        if ignored:
            raise NotApplicable(f"the training function does not obey {' and '.join(ignored)}")
        return found

    def _changed(self, program: Program) -> Iterator[str]:
        """Which settings this configuration changes; lazily, because only training functions of one's own ask."""
        faulty = self.change(program, np.random.default_rng(0))
        if faulty.data is not program.data:
            yield "data"
        for each in fields(Recipe):
            if getattr(faulty.recipe, each.name) != getattr(program.recipe, each.name):
                yield each.name

    @final
    def mutate(self, program: Program, rng: np.random.Generator) -> Program:
        """The faulty program; if parameters are open, with one of the values that they can have, drawn from ``rng``.

        Raises `NotApplicable`, with the reason, if nothing would change.
        """
        found = self.configurations(program)
        return found[int(rng.integers(len(found))) if len(found) > 1 else 0].change(program, rng)

    def span(self, program: Program) -> Span:
        """Where a binary search looks, for this program."""
        raise NotImplementedError

    def values(self, program: Program) -> Iterator[Self]:
        """Configurations of an exhaustive search for this program, without what is so already; by default itself."""
        del program
        yield self

    @abstractmethod
    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """The faulty program, for an operator with all parameters set. Draws must not depend on the strength."""
