"""Structure of a model as one probing forward pass shows it: layers, modules and activations in execution order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput
from mutiny.models.device import placement
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.layers import Activation, Indices, Layer, Site
from mutiny.models.probe import ModelProbe
from mutiny.models.state import check_parameters

PROBE_INPUTS = 4
"""Number of inputs in the probing forward pass."""


class ProbeData(Protocol):
    """A data set, as far as a probe needs it."""

    def first(self, n: int) -> Any:
        """The first ``n`` inputs as one batch."""


@dataclass(frozen=True)
class ModelView:
    """The parts of a model that operators may change. Made by `ModelView.of`; never changes the model.

    Attributes:
        model: The user's module, untouched.
        layers: Layers with weights, in execution order. Layers that the probe did not run are absent.
        sites: Modules that call no other module, in execution order, for structural operators.
        activations: Calls of activation functions, by modules or functions, in execution order.
        parameters: Parameters by name; tied ones once.
    """

    model: nn.Module
    layers: tuple[Layer, ...]
    sites: tuple[Site, ...]
    activations: tuple[Activation, ...]
    parameters: Mapping[str, nn.Parameter] = field(repr=False)

    @classmethod
    def of(cls, model: nn.Module, inputs: Any, forward: Forward = default_forward) -> ModelView:
        """Probes ``model`` with a few ``inputs``.

        >>> view = ModelView.of(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval(), torch.zeros(2, 4))
        >>> [(layer.name, layer.kind, layer.neurons, layer.output) for layer in view.layers]
        [('0', 'linear', 8, False), ('2', 'linear', 3, True)]
        >>> view.activations[0].name
        '1:relu#0'
        """
        names = parameter_names(model)
        probe = ModelProbe(names)
        with steady(), torch.inference_mode():
            probe.run(model, lambda: forward(model, inputs))
        layers = probe.layers(model)
        if not layers:
            raise BadInput(
                "model",
                type(model).__name__,
                "at least one layer with weights in its forward pass",
                "Layers are recognized when a parameter reaches a linear, convolution, embedding, recurrent, attention "
                "or matmul function.",
            )
        owners = {names[id(p)]: p for p in model.parameters()}
        return cls(model, layers, probe.sites(), probe.activations(model), owners)

    @classmethod
    def of_data(cls, model: nn.Module, data: ProbeData, forward: Forward = default_forward) -> ModelView:
        """Probes ``model`` with the first inputs of a data set, on the device and in the dtype of the model."""
        return cls.of(model, placement(model).put(data.first(PROBE_INPUTS)), forward)

    @property
    def unseen(self) -> tuple[str, ...]:
        """Weight matrices that belong to no layer: not run by the probe, or used by a function that is not recognized.

        >>> model = nn.ModuleDict({"used": nn.Linear(2, 2), "idle": nn.Linear(2, 2)}).eval()
        >>> ModelView.of(model, torch.zeros(1, 2), forward=lambda model, x: model["used"](x)).unseen
        ('idle.weight',)
        """
        held = {weight.parameter for layer in self.layers for weight in layer.weights}
        return tuple(name for name, p in self.parameters.items() if p.ndim > 1 and name not in held)

    def layer(self, name: str) -> Layer:
        """The layer with this name."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise BadInput("layer", repr(name), f"one of {', '.join(layer.name for layer in self.layers)}")

    def take(self, parameter: str, indices: Indices) -> Tensor:
        """A copy of some entries of a parameter, ``(k,)``, on the CPU."""
        tensor = self.parameters[parameter].detach()
        return tensor.take(torch.from_numpy(indices).to(tensor.device)).cpu()


def parameter_names(model: nn.Module) -> dict[int, str]:
    """Parameter names by identity; parameters that share memory (tied weights) share the first name."""
    check_parameters(model, "model")
    names: dict[int, str] = {}
    by_memory: dict[tuple[object, ...], str] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        pointer = parameter.untyped_storage().data_ptr()
        memory = (pointer, parameter.storage_offset(), tuple(parameter.shape), parameter.stride())
        known = by_memory.setdefault(memory, name) if pointer and parameter.numel() else name
        names.setdefault(id(parameter), known)
    return names


def aliases(model: nn.Module, wanted: Iterable[str]) -> dict[str, str]:
    """All names of the ``wanted`` parameters, including tied ones, mapped to the name that `parameter_names` uses."""
    names, some = parameter_names(model), set(wanted)
    every = model.named_parameters(remove_duplicate=False)
    return {name: names[id(parameter)] for name, parameter in every if names[id(parameter)] in some}
