"""Base class of the operators that change the training program: its data, its settings or its network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Self, final

import numpy as np

from mutiny.core.errors import NotApplicable
from mutiny.core.parsing import parameters_of
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
    """Everything that a training run needs, except the seed.

    Attributes:
        recipe: Recipe of the training.
        data: Training data; operators change it by index and never copy it.
        task: Task, which gives the meaning of the targets and the default loss.
        forward: Function that calls the network.
    """

    recipe: Recipe
    data: Data
    task: Task
    forward: Forward = default_forward

    @cached_property
    def view(self) -> ModelView:
        """Layers, modules and activations of a newly built network."""
        with seeded(0):
            return ModelView.of(built(self.recipe).eval(), self.data.first(PROBE_INPUTS), self.forward)


class Span(NamedTuple):
    """Range of a binary search.

    Attributes:
        mild: Value that changes nothing or least; may be the larger number, as for epochs.
        severe: Value that changes most; tried first, and if it is not killed, the search ends.
        precision: Width of the interval at which the search ends.
        whole: Whether values are whole numbers.
    """

    mild: float
    severe: float
    precision: float
    whole: bool = False


@dataclass(frozen=True)
class TrainingOperator(ABC):
    """One kind of fault made before training. The fields are its parameters.

    An author writes `change`, and either `span` for a binary search or `values` for an exhaustive one; everything
    else is final.

    Attributes:
        code: Short name used in the literature.
        title: Name in words.
        source: Publication that defines it.
        family: Group in listings.
        level: Part of the program that it changes.
        strength: Parameter tuned by a binary search; ``None`` if there is none.
        tries: Values that are tried, for listings.
    """

    code: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    family: ClassVar[str] = "training"
    level: ClassVar[Level]
    strength: ClassVar[str | None] = None
    tries: ClassVar[str] = "-"

    @final
    def at(self, strength: float | None) -> Self:
        """The same operator at another strength; ``None`` keeps the strength."""
        return self if strength is None or self.strength is None else replace(self, **{self.strength: strength})

    @final
    def parameters(self) -> dict[str, Any]:
        """Parameters by name, ready for JSON."""
        return parameters_of(self)

    @final
    def configurations(self, program: Program) -> tuple[Self, ...]:
        """All configurations to try, with every parameter set; a single one, to be tuned, for a binary search.

        Raises `NotApplicable`, with the reason, if there is nothing to change.
        """
        if self.strength is not None:
            self.span(program)
        configurations = tuple(self.values(program)) if self.strength is None else (self,)
        if not configurations:
            raise NotApplicable(f"the program has nothing that {self.code} could change")
        changed = (name for configuration in configurations for name in configuration._changed(program))
        ignored = program.recipe.ignored(changed)
        if ignored:
            raise NotApplicable(f"the training function does not obey {' and '.join(ignored)}")
        return configurations

    def _changed(self, program: Program) -> Iterator[str]:
        """Names of the settings that this configuration changes; lazy, because only custom training functions ask."""
        faulty = self.change(program, np.random.default_rng(0))
        if faulty.data is not program.data:
            yield "data"
        for field in fields(Recipe):
            if getattr(faulty.recipe, field.name) != getattr(program.recipe, field.name):
                yield field.name

    @final
    def mutate(self, program: Program, rng: np.random.Generator) -> Program:
        """The faulty program; parameters that are not set are drawn from ``rng``.

        Raises `NotApplicable`, with the reason, if nothing would change.
        """
        configurations = self.configurations(program)
        index = int(rng.integers(len(configurations))) if len(configurations) > 1 else 0
        return configurations[index].change(program, rng)

    def span(self, program: Program) -> Span:
        """Range of the binary search for this program."""
        raise NotImplementedError

    def values(self, program: Program) -> Iterator[Self]:
        """Configurations of the exhaustive search, without those that would change nothing; by default itself."""
        del program
        yield self

    @abstractmethod
    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """The faulty program, for an operator with every parameter set. Draws must not depend on the strength."""
