"""Activations of chosen layers, batch by batch: one number per neuron, or the full output of a layer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.layers import Layer
from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import ATTENTION, NEURON_OPS, WeightedCall, in_place, memory, tensors, weighted_call
from mutiny.models.view import ModelView, parameter_names

NeuronValue = Literal["signal", "output"]
"""Which value of a neuron: ``signal`` after its own normalization, activation and pooling, ``output`` before them."""


def activations(
    view: ModelView,
    batches: Iterable[Any],
    layers: Sequence[str] | None = None,
    forward: Forward = default_forward,
    of: NeuronValue = "signal",
) -> Iterator[dict[str, Tensor]]:
    """Yields the values of all neurons of the layers for each batch: ``{layer: (n, neurons)}``.

    Nothing is kept between batches, so memory is bounded by one batch. Where a neuron has several values for an input
    (pixels of a channel, steps of a sequence, several calls), their mean is taken. An activation after a rearrangement
    (``fc(x).transpose(1, 2).relu()``) or after arithmetic (``(x @ w + b).relu()``, ``h * sigmoid(h)``) is not followed.

    Args:
        view: Probed model.
        batches: Inputs, as the model's forward takes them.
        layers: Names of layers; by default all layers whose neurons are visible outside their module.
        forward: Function that calls the model.
        of: ``"signal"`` for values after the layer's own normalization, activation and pooling; ``"output"`` for the
            result of the multiplication itself.

    >>> from torch import nn
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    >>> view = ModelView.of(model, torch.zeros(1, 2))
    >>> batch = next(activations(view, [torch.ones(5, 2)], layers=["0"]))
    >>> batch["0"].shape, bool((batch["0"] >= 0).all())
    (torch.Size([5, 3]), True)
    """
    visible = visible_layers(view, layers)
    names = parameter_names(view.model)
    for batch in batches:
        recorder = ActivationRecorder(names, visible, of)
        with steady(), torch.inference_mode(), recorder:
            forward(view.model, batch)
        yield recorder.means(rows_of(batch))


def visible_layers(view: ModelView, layers: Sequence[str] | None = None) -> list[Layer]:
    """Layers with these names, or all layers whose neurons are visible outside their module."""
    chosen = view.layers if layers is None else [view.layer(name) for name in layers]
    visible = [layer for layer in chosen if visible_output(layer) is not None]
    if layers is not None and len(visible) < len(chosen):
        hidden = next(layer for layer in chosen if visible_output(layer) is None)
        raise BadInput("layers", repr(hidden.name), "layers whose neurons are visible outside their module")
    return visible


def rows_of(batch: Any) -> int:
    """Number of inputs in a batch."""
    first = next(tensors(batch), None)
    if first is None or not first.ndim:
        raise BadInput("batch", type(batch).__name__, "tensors with one row per input")
    return len(first)


def by_input(tensor: Tensor, rows: int, channel: int, name: str, batch_axis: int | None = None) -> Tensor:
    """A tensor with inputs first and neurons last, ``(rows, ..., neurons)``.

    Args:
        tensor: Output of a layer or module.
        rows: Number of inputs, which are on the second axis if the first has another length.
        channel: Axis of the neurons, from the end.
        name: Name of the layer, for the error message.
        batch_axis: Axis of the inputs after the neurons were moved to the end, if it is known.
    """
    values = tensor.movedim(channel, -1)
    if batch_axis is None:
        batch_axis = 1 if values.ndim > 2 and len(values) != rows == values.shape[1] else 0
    values = values.movedim(batch_axis, 0)
    if values.ndim < 2 or len(values) % rows:
        shape = f"Its output has the shape {tuple(tensor.shape)} for {rows} inputs; name other layers."
        raise BadInput("layers", repr(name), "layers with one row per input", shape)
    return values.reshape(rows, -1, values.shape[-1]) if len(values) != rows else values


def visible_output(layer: Layer) -> tuple[int, int] | None:
    """Index of the output tensor (-1 for the only one) that holds all neurons of the layer, and their offset in it."""
    if not layer.neurons or layer.channel is None:
        return None
    if not layer.slots:
        return (-1, 0) if not layer.consumers else None
    return next(((output, offset) for output, leading, offset in layer.slots if leading < 0), None)


def scaled(values: Tensor) -> Tensor:
    """Scales each row to 0..1, as DeepXplore does with the neurons of a layer; a constant row becomes 0.

    >>> scaled(torch.tensor([[2.0, 6.0, 3.0], [5.0, 5.0, 5.0]])).tolist()
    [[0.0, 1.0, 0.25], [0.0, 0.0, 0.0]]
    """
    low = values.amin(dim=1, keepdim=True)
    span = values.amax(dim=1, keepdim=True) - low
    return (values - low) / span.where(span != 0, 1)


class RecordedCall(NamedTuple):
    """One call of a layer.

    Attributes:
        layer: The layer.
        number: Position among the calls of the layer in this pass.
        batch_axis: Axis of the inputs in the output, if the call tells.
        offset: Position of the first neuron in the output.
    """

    layer: Layer
    number: int
    batch_axis: int | None
    offset: int


class ActivationRecorder(CallHandler):
    """Records the values of layers during a forward pass; copies them before something overwrites them in place.

    Args:
        names: Parameter names by identity.
        layers: Layers to record.
        of: See `activations`.

    Attributes:
        recorded: For each layer, its calls and the tensor that holds the neurons' values after each.
    """

    def __init__(self, names: Mapping[int, str], layers: Sequence[Layer], of: NeuronValue = "signal") -> None:
        self.names, self.follows = names, of == "signal"
        self.layers: dict[tuple[str, str], list[Layer]] = {}
        for layer in layers:
            self.layers.setdefault((layer.kind, layer.weights[0].parameter), []).append(layer)
        self.recorded: dict[str, list[tuple[Tensor, RecordedCall]]] = {layer.name: [] for layer in layers}
        self.live: dict[int, tuple[Tensor, list[RecordedCall]]] = {}

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        """Runs a call and records its result if it is, or continues, the output of a layer."""
        before = self.live.get(id(args[0])) if args else None
        shape = tuple(before[0].shape) if before is not None else ()
        if in_place(name) and args and isinstance(args[0], Tensor) and not (name in NEURON_OPS and before is not None):
            self._save(args[0])
        result = func(*args, **kwargs)
        if before is not None and name in NEURON_OPS:
            self._follow(shape, before[1], next(tensors(result)))
        call = weighted_call(name, args, kwargs)
        if call is not None:
            self._begin(call, result)
        return result

    def _save(self, changing: Tensor) -> None:
        """Copies recorded values out of a tensor that is about to change in place, such as by a residual addition."""
        changed = memory(changing)
        for calls in self.recorded.values():
            for position, (tensor, call) in enumerate(calls):
                if memory(tensor) == changed:
                    calls[position] = (tensor.clone(), call)
        self.live = {key: entry for key, entry in self.live.items() if memory(entry[0]) != changed}

    def _begin(self, call: WeightedCall, result: Any) -> None:
        kind = "attention_out" if call.kind == ATTENTION else call.kind
        for weight in call.weights:
            for layer in self.layers.get((kind, self.names.get(id(weight), "")), ()):
                output, offset = visible_output(layer) or (-1, 0)
                tensor = result if output < 0 else result[output]
                if call.packed:
                    raise BadInput("layers", repr(layer.name), "layers with one row per input, not a packed sequence")
                recorded = RecordedCall(layer, len(self.recorded[layer.name]), call.batch_axis, offset)
                self.recorded[layer.name].append((tensor if self.follows else tensor.clone(), recorded))
                if self.follows:
                    self.live.setdefault(id(tensor), (tensor, []))[1].append(recorded)

    def _follow(self, before: tuple[int, ...], calls: list[RecordedCall], after: Tensor) -> None:
        """Replaces recorded values by the result of an operation that belongs to the neurons."""
        axes = {call.layer.channel for call in calls}
        if after.ndim == len(before) and all(axis is not None and after.shape[axis] == before[axis] for axis in axes):
            self.live[id(after)] = (after, calls)
            for call in calls:
                self.recorded[call.layer.name][call.number] = (after, call)

    def values(self, layer: str, rows: int) -> Tensor:
        """Values of a layer, averaged over its calls: ``(rows, ..., neurons)``."""
        if not self.recorded[layer]:
            raise NotApplicable(f"{layer} takes no part in the forward pass of some inputs")
        return _mean([self._read(tensor, call, rows) for tensor, call in self.recorded[layer]])

    def means(self, rows: int) -> dict[str, Tensor]:
        """One number per input and neuron: ``{layer: (rows, neurons)}``."""
        means = {}
        for name, calls in self.recorded.items():
            if calls:
                values = [(self._read(tensor, call, rows), call.layer.neurons) for tensor, call in calls]
                means[name] = _mean([value.reshape(rows, -1, neurons).mean(dim=1) for value, neurons in values])
        return means

    def _read(self, tensor: Tensor, call: RecordedCall, rows: int) -> Tensor:
        layer, _, batch_axis, offset = call
        channel = -1 if layer.channel is None else layer.channel
        return by_input(tensor, rows, channel, layer.name, batch_axis)[..., offset : offset + layer.neurons]


def _mean(each: list[Tensor]) -> Tensor:
    return each[0] if len(each) == 1 else torch.stack(each).mean(dim=0)
