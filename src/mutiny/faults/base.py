"""Base class of operators on trained models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np

from mutiny.core.checks import check_one_of
from mutiny.core.errors import BadInput
from mutiny.core.parsing import parameters_of
from mutiny.models import ActivationEdit, ModelView, ModuleEdit, Patch, SignalEdit, WeightEdit

Edits = Iterable[WeightEdit | SignalEdit | ActivationEdit | ModuleEdit]


@dataclass(frozen=True)
class Operator(ABC):
    """One kind of fault in a trained network. The fields are its parameters.

    An author writes `edits`; the other public methods are final, except `choices`. For a given generator, the choice
    of weights, neurons or layers must not depend on the strength, so that the probes of a search differ in strength
    only.

    Attributes:
        code: Short name used in the literature.
        title: Name in words.
        source: Publication that defines it.
        family: Group in listings, by where the fault sits.
        tunable: Parameters that a search may tune, with bounds; the first is the default. A larger value means a
            larger change. An operator without tunable parameters has no strength.
    """

    code: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    family: ClassVar[str] = "other"
    tunable: ClassVar[Mapping[str, tuple[float, float]]] = {}

    @property
    def strength(self) -> str | None:
        """Name of the parameter that a search tunes."""
        return getattr(self, "search", None) or next(iter(self.tunable), None)

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the strength."""
        if self.strength is None:
            raise BadInput("operator", self.code, "an operator with a strength")
        return self.tunable[self.strength]

    @final
    def at(self, strength: float | None) -> Self:
        """The same operator at another strength; ``None`` keeps the strength."""
        return self if strength is None or self.strength is None else replace(self, **{self.strength: float(strength)})

    @final
    def parameters(self) -> dict[str, Any]:
        """Parameters by name, ready for JSON."""
        return parameters_of(self)

    @final
    def patch(self, view: ModelView, rng: np.random.Generator) -> Patch:
        """The patch of one original. Raises `NotApplicable`, with the reason, if there is nothing to change."""
        edits = tuple(self.edits(view, rng))
        return Patch(edits, _first_touched(view, edits))

    def choices(self, view: ModelView) -> int | None:
        """Number of different patches that the operator can make of this model; ``None`` if there are many.

        With a single patch, repetitions would be copies and are not made.
        """
        del view
        return None

    @abstractmethod
    def edits(self, view: ModelView, rng: np.random.Generator) -> Edits:
        """The edits of the model, with random choices drawn from ``rng``."""

    def __post_init__(self) -> None:
        for name, (low, high) in self.tunable.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
                raise BadInput(f"{self.code} {name}", repr(value), f"a number between {low:g} and {high:g}")
        if self.strength is not None and self.strength not in self.tunable:
            raise BadInput(f"{self.code} search", repr(self.strength), f"one of {', '.join(self.tunable)}")
        layers = getattr(self, "layers", None)
        if layers is not None:
            names = (layers,) if isinstance(layers, str) else tuple(layers)
            object.__setattr__(self, "layers", names)
            if not names:
                raise BadInput(f"{self.code} layers", "()", "at least one name or pattern, or None for all layers")

    def _one_of(self, name: str, allowed: tuple[str, ...]) -> None:
        check_one_of(f"{self.code} {name}", getattr(self, name), allowed)


def _first_touched(view: ModelView, edits: tuple[Any, ...]) -> str:
    """The earliest layer or module, in execution order, that an edit touches."""
    owner: dict[str, str] = {}
    for layer in reversed(view.layers):
        for tensor in (*layer.weights, *layer.biases):
            owner[tensor.parameter] = layer.name
    order = {layer.name: layer.order for layer in view.layers}
    touched = {owner[e.parameter] for e in edits if isinstance(e, WeightEdit) and e.parameter in owner}
    touched |= {e.layer.name for e in edits if isinstance(e, SignalEdit)}
    if touched:
        return min(touched, key=lambda name: order[name])
    modules = [e.path for e in edits if isinstance(e, ModuleEdit)]
    calls = [view.activations[e.ordinal] for e in edits if isinstance(e, ActivationEdit)]
    return next(iter([*modules, *(call.after or call.path for call in calls)]), "")
