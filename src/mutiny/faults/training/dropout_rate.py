"""RCD: another rate of dropout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults.training.activation_places import names_by_layer
from mutiny.faults.training.base import Program
from mutiny.faults.training.heard_calls import Heard, heard_calls
from mutiny.faults.training.layer_operator import LayerOperator, with_change
from mutiny.models.dropout import BY_CHANNEL, BY_UNIT
from mutiny.models.torch_ops import ATTENTION, RECURRENT, argument
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.changes import DropoutCall, DropoutRate
from mutiny.subjects.training.loop import built
from mutiny.subjects.training.spots import Spot

DROPPING = BY_UNIT | BY_CHANNEL
FUNCTIONS = DROPPING | {f"{name}_" for name in DROPPING} | RECURRENT | {ATTENTION}
"""What drops units, or can do so inside."""


@dataclass(frozen=True)
class OtherDropoutRate(LayerOperator):
    """Another rate of one dropout: module, function, or what a recurrent or attention layer does inside. DeepCrime.

    Args:
        layer: path of the module; for a function, name of the layer before it.
        rate: share of the units that are dropped: 0.125, 0.25, 0.75 and 1 are tried, but any from 0 to 1 can be given.
    """

    code: ClassVar[str] = "RCD"
    title: ClassVar[str] = "change the rate of dropout"
    source: ClassVar[str] = "DeepCrime"
    choice: ClassVar[str | None] = "rate"
    options: ClassVar[tuple[Any, ...]] = (0.125, 0.25, 0.75, 1.0)

    rate: float | None = None

    def check(self, chosen: Any) -> None:
        """Any share will do."""
        if isinstance(chosen, bool) or not isinstance(chosen, (int, float)) or not 0 <= chosen <= 1:
            raise BadInput("RCD rate", repr(chosen), "a number between 0 and 1")

    def places(self, program: Program) -> dict[str, float]:
        """Dropout that acts in training."""
        return {name: rate for name, (rate, _) in _dropouts(program).items()}

    def changed(self, program: Program, layer: str) -> Recipe:
        """The rate set."""
        assert self.rate is not None
        _, where = _dropouts(program)[layer]
        change = DropoutRate(where, self.rate) if isinstance(where, str) else DropoutCall(*where, self.rate)
        return with_change(program.recipe, change)


def _dropouts(program: Program) -> dict[str, tuple[float, str | Spot]]:
    """Rate, and path or spot, of everything that drops units in a training pass."""
    with seeded(0):
        model = built(program.recipe).train()
    found: dict[str, tuple[float, str | Spot]] = {}
    calls: dict[Spot, float] = {}
    for call in heard_calls(program, model, FUNCTIONS):
        module = None if call.path is None else model.get_submodule(call.path)
        if isinstance(module, _DropoutNd):
            found[str(call.path)] = module.p, str(call.path)
        elif isinstance(module, (nn.RNNBase, nn.MultiheadAttention)):
            if module.dropout > 0 and getattr(module, "num_layers", 2) > 1:
                found[str(call.path)] = module.dropout, str(call.path)
        elif module is not None and call.spot.function in DROPPING and _acts(call):
            calls[call.spot] = float(argument(call.args, call.kwargs, 1, "p", 0.5))
    layers = {weight.parameter: layer.name for layer in program.view.layers for weight in layer.weights}
    names = names_by_layer([layers.get(spot.weight, spot.weight) for spot in calls], calls)
    found |= {name: (rate, spot) for name, (spot, rate) in zip(names, calls.items(), strict=True)}
    if not found:
        raise NotApplicable("no dropout layer")
    return found


def _acts(call: Heard) -> bool:
    """Whether a call of a dropout function drops anything in training mode."""
    return bool(argument(call.args, call.kwargs, 2, "training", call.kwargs.get("train", True)))
