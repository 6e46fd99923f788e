"""Derives layers from recorded torch calls: their weight tensors, neurons and axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from torch import Tensor, nn

from mutiny.models.layers import Consumers, Layer, Weight
from mutiny.models.torch_ops import ATTENTION, CELLS, CONVOLUTIONS, RECURRENT, TRANSPOSED, WeightedCall


def layers_of_call(model: nn.Module, names: Mapping[int, str], call: WeightedCall) -> Iterator[Layer]:
    """Layers behind one weighted call; ``order`` is set later, ``output`` says whether the call returns its neurons."""
    if call.kind in RECURRENT:
        yield from _recurrent(model, names, call)
    elif call.kind in CELLS:
        yield _cell(names, call.kind, call.weights)
    elif call.kind == ATTENTION:
        yield from _attention(names, call)
    else:
        yield _plain(names, call)


def _layer_name(parameter: str) -> str:
    owner, _, last = parameter.rpartition(".")
    return owner if last == "weight" and owner else parameter


def _bias(names: Mapping[int, str], bias: Any, units: int, offset: int = 0) -> tuple[Weight, ...]:
    known = isinstance(bias, nn.Parameter) and bias.ndim == 1 and id(bias) in names and len(bias) >= offset + units
    return (Weight(names[id(bias)], (units,), (0,), offset=offset),) if known else ()


def _added(names: Mapping[int, str], bias: nn.Parameter | None, units: int, channel: int) -> tuple[Weight, ...]:
    """A bias that is added by hand: one number per neuron, in a shape that broadcasts, such as ``(units, 1, 1)``."""
    if bias is None or id(bias) not in names or bias.numel() != units or bias.ndim < -channel:
        return ()
    return (Weight(names[id(bias)], (units,), (0,)),) if bias.shape[channel] == units else ()


def _plain(names: Mapping[int, str], call: WeightedCall) -> Layer:
    kind, weight = call.kind, call.weights[0]
    parameter, shape = names[id(weight)], tuple(weight.shape)
    name, channel = _layer_name(parameter), -1
    dims: tuple[int, ...]
    axes: tuple[int, ...]
    if kind in CONVOLUTIONS or kind == "bilinear" or (kind == "linear" and len(shape) == 2):
        units, dims, axes = shape[0], (shape[0], prod(shape[1:])), (0,)
        channel = -1 - CONVOLUTIONS.get(kind, 0)
    elif kind in TRANSPOSED:
        groups = call.argument(6, "groups", 1)
        units = shape[1] * groups
        dims, axes = (groups, shape[0] // groups, shape[1], prod(shape[2:])), (0, 2)
        channel = -1 - TRANSPOSED[kind]
    elif kind == "matmul" and len(shape) == 2:  # x @ weight: the columns are the neurons
        units, dims, axes = shape[1], shape, (1,)
    else:  # an embedding, or a stack of matrices
        return Layer(name, kind, 0, (Weight(parameter, shape, ()),), output=True)
    bias = _bias(names, call.bias, units) if call.bias is not None else _added(names, call.added, units, channel)
    return Layer(name, kind, 0, (Weight(parameter, dims, axes),), bias, units, output=True, channel=channel)


def _recurrent(model: nn.Module, names: Mapping[int, str], call: WeightedCall) -> Iterator[Layer]:
    path = names[id(call.weights[0])].rpartition(".")[0]
    module = model.get_submodule(path)
    if not isinstance(module, nn.RNNBase):
        return
    hidden, layers, directions = module.hidden_size, module.num_layers, 2 if module.bidirectional else 1
    gates = {"lstm": 4, "gru": 3}.get(call.kind, 1)
    seen = module.proj_size or hidden

    def named(which: str, layer: int, direction: int) -> str:
        return names[id(getattr(module, f"{which}_l{layer}" + ("_reverse" if direction else "")))]

    for layer, direction in np.ndindex(layers, directions):
        last = layer + 1 == layers
        fan = module.input_size if layer == 0 else seen * directions
        weights = (
            Weight(named("weight_ih", layer, direction), (gates, hidden, fan), (1,), 0),
            Weight(named("weight_hh", layer, direction), (gates, hidden, seen), (1,), 0),
        )
        biases = tuple(
            Weight(named(which, layer, direction), (gates, hidden), (1,), 0)
            for which in ("bias_ih", "bias_hh")
            if module.bias
        )
        slots: list[tuple[int, int, int]] = []
        if module.proj_size:  # the projection is the only reader of the hidden units
            consumers = [Consumers(named("weight_hr", layer, direction), seen, hidden)]
        else:
            consumers = [Consumers(named("weight_hh", layer, direction), gates * hidden, hidden)]
            for reader in range(0 if last else directions):
                above = named("weight_ih", layer + 1, reader)
                consumers.append(Consumers(above, gates * hidden, hidden * directions, direction * hidden))
            slots = [(1, layer * directions + direction, 0), *([(0, -1, direction * hidden)] if last else [])]
        name = (f"{path}." if path else "") + f"l{layer}" + ("_reverse" if direction else "")
        output = last and not module.proj_size
        yield Layer(name, call.kind, 0, weights, biases, hidden, output, -1, tuple(consumers), tuple(slots))
        if module.proj_size:
            projection = Weight(named("weight_hr", layer, direction), (seen, hidden), ())
            yield Layer(f"{name}.projection", "projection", 0, (projection,), output=last)


def _cell(names: Mapping[int, str], kind: str, parameters: Sequence[Tensor]) -> Layer:
    gates = {"lstm_cell": 4, "gru_cell": 3}.get(kind, 1)
    hidden = parameters[0].shape[0] // gates
    weights = tuple(Weight(names[id(w)], (gates, hidden, w.shape[1]), (1,), 0) for w in parameters if w.ndim == 2)
    biases = tuple(Weight(names[id(b)], (gates, hidden), (1,), 0) for b in parameters if b.ndim == 1)
    name = names[id(parameters[0])].rpartition(".")[0] or names[id(parameters[0])]
    recurrent = Consumers(weights[-1].parameter, gates * hidden, hidden)
    slots = ((0 if kind == "lstm_cell" else -1, -1, 0),)  # an LSTM cell returns (hidden, cell), the others hidden
    return Layer(name, kind, 0, weights, biases, hidden, True, -1, (recurrent,), slots)


def _attention(names: Mapping[int, str], call: WeightedCall) -> Iterator[Layer]:
    *inputs, out = call.weights
    for number, weight in enumerate(inputs):
        parameter, units = names[id(weight)], weight.shape[0]
        # Query, key and value share one bias tensor.
        bias = _bias(names, call.argument(6, "in_proj_bias"), units, number * units)
        weights = (Weight(parameter, tuple(weight.shape), (0,)),)
        yield Layer(parameter.removesuffix("_weight"), "attention", 0, weights, bias, units)
    units = out.shape[0]
    bias = _bias(names, call.argument(12, "out_proj_bias"), units)
    weights = (Weight(names[id(out)], tuple(out.shape), (0,)),)
    yield Layer(_layer_name(names[id(out)]), "attention_out", 0, weights, bias, units, True, -1, slots=((0, -1, 0),))
