"""Base class of the operators that change one layer before training, and functions that find layers by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
from torch import nn
from torch.nn.modules.conv import _ConvNd

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults.training.base import Level, Program, TrainingOperator
from mutiny.models import Layer, ModelView
from mutiny.subjects.training import Recipe

WHOLE = "model"
"""Name of the layer if the network is a single layer."""


@dataclass(frozen=True)
class LayerOperator(TrainingOperator):
    """A fault in one layer. By default every layer that can have it is tried, with every option.

    An author writes `places` and `changed`.

    Attributes:
        choice: Parameter that selects one of the options; ``None`` if there is nothing to choose.
        options: Values of that parameter that are tried.

    Args:
        layer: Name of the layer; all layers are tried by default.
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
        """The option, if it is set."""
        return None if self.choice is None else getattr(self, self.choice)

    def check(self, chosen: Any) -> None:
        """Raises `BadInput` if the value is not an option."""
        if chosen not in self.options:
            raise BadInput(f"{self.code} {self.choice}", repr(chosen), f"one of {', '.join(map(str, self.options))}")

    @final
    def values(self, program: Program) -> Iterator[Self]:
        """Every layer with every option except the one that it has."""
        places = self.places(program)
        if self.layer is not None:
            if self.layer not in places:
                raise BadInput(f"{self.code} layer", repr(self.layer), f"one of {', '.join(places)}")
            places = {self.layer: places[self.layer]}
        if self.choice is None:
            yield from (replace(self, layer=layer) for layer in places)
            return
        options = self.options if self.chosen is None else (self.chosen,)
        pairs = [(layer, option) for layer, now in places.items() for option in options if option != now]
        if not pairs:
            raise NotApplicable(f"{self.choice} {self.chosen} would change nothing in {', '.join(places)}")
        yield from (replace(self, **{"layer": layer, self.choice: option}) for layer, option in pairs)

    @final
    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """The faulty program; layer and option are drawn if they are not set."""
        if self.layer is None or (self.choice is not None and self.chosen is None):
            return self.mutate(program, rng)
        return replace(program, recipe=self.changed(program, self.layer))

    @abstractmethod
    def places(self, program: Program) -> Mapping[str, Any]:
        """Layers that can have the fault; for each, the option that would change nothing there.

        Raises `NotApplicable`, with the reason, if there is no such layer.
        """

    @abstractmethod
    def changed(self, program: Program, layer: str) -> Recipe:
        """The faulty recipe."""


def places_of(names: Iterable[str], reason: str) -> dict[str, None]:
    """Places without a current option; raises `NotApplicable` with the reason if there are none."""
    places = dict.fromkeys(names)
    if not places:
        raise NotApplicable(reason)
    return places


def with_change(recipe: Recipe, change: Any) -> Recipe:
    """The recipe with one more change of the network."""
    return replace(recipe, changes=(*recipe.changes, change))


def path_of(view: ModelView, name: str) -> str:
    """Path of the module of that name."""
    return "" if name == WHOLE and not hasattr(view.model, WHOLE) else name


def weighted_modules(view: ModelView) -> list[str]:
    """Modules that hold the weights of layers, except embeddings; an attention layer is one module.

    Weights held by the network itself, next to those of other layers, have no name of their own and are omitted.
    """
    layers = [layer for layer in view.layers if not layer.kind.startswith("embedding")]
    owners = dict.fromkeys(weight.parameter.rpartition(".")[0] for layer in layers for weight in layer.weights)
    paths = [path for path in owners if path and not (path.endswith(".out_proj") and path[:-9] in owners)]
    if not paths and len(layers) == 1:
        return [WHOLE]
    if not paths:
        raise NotApplicable("no module holds the weights of one layer")
    return paths


def plain_modules(view: ModelView) -> dict[str, nn.Linear | _ConvNd]:
    """Linear layers and convolutions, including transposed ones, that are called as modules."""
    modules = {site.path: view.model.get_submodule(site.path) for site in view.sites} or {WHOLE: view.model}
    plain = {name: module for name, module in modules.items() if isinstance(module, (nn.Linear, _ConvNd))}
    if not plain:
        raise NotApplicable("no layer is a linear module or a convolution module")
    return plain


def hidden_modules(view: ModelView) -> dict[str, Layer]:
    """Layers by name of their module, for those of `plain_modules` whose outputs another layer reads."""
    layers = {id(view.parameters[layer.weights[0].parameter]): layer for layer in view.layers if not layer.output}
    modules = plain_modules(view).items()
    hidden = {name: layers[id(module.weight)] for name, module in modules if id(module.weight) in layers}
    if not hidden:
        raise NotApplicable("no hidden layer is a linear module or a convolution module")
    return hidden
