"""Activations of chosen layers, batch by batch: one number per neuron, or all that a layer says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.layers import Layer
from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import ATTENTION, OWN, Call, in_place, memory, tensors, weighted
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
    """For each batch, what every neuron of the layers said: ``{layer: (n, neurons)}``.

    Nothing is kept between batches, so memory is bounded by one batch. Where a neuron speaks more than once for an
    input (pixels of a channel, steps of a sequence, several calls) its value is the mean. An activation after a
    rearrangement (``fc(x).transpose(1, 2).relu()``) or after arithmetic (``(x @ w + b).relu()``, ``h * sigmoid(h)``) is
    not followed.

    Args:
        view: the probed model.
        batches: inputs, as the model's forward takes them.
        layers: names; all layers with neurons whose values are visible if not given.
        forward: how the model is called.
        of: ``"signal"`` after the layer's own normalisation, activation and pooling; ``"output"`` straight from the
            multiplication.

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
        recorder = Recorder(names, visible, of)
        with steady(), torch.inference_mode(), recorder:
            forward(view.model, batch)
        yield recorder.means(rows_of(batch))


def visible_layers(view: ModelView, layers: Sequence[str] | None = None) -> list[Layer]:
    """The layers of these names, or all layers whose neurons can be seen outside their module."""
    chosen = view.layers if layers is None else [view.layer(name) for name in layers]
    visible = [layer for layer in chosen if shown(layer) is not None]
    if layers is not None and len(visible) < len(chosen):
        hidden = next(layer for layer in chosen if shown(layer) is None)
        raise BadInput("layers", repr(hidden.name), "layers whose neurons can be seen outside their module")
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
        tensor: what a layer or module said.
        rows: number of inputs; where the first axis counts something else, the second does.
        channel: axis that counts neurons, from the end.
        name: of the layer, for the message.
        batch_axis: axis that counts inputs once neurons are last, where it is known.
    """
    values = tensor.movedim(channel, -1)
    if batch_axis is None:
        batch_axis = 1 if values.ndim > 2 and len(values) != rows == values.shape[1] else 0
    values = values.movedim(batch_axis, 0)
    if values.ndim < 2 or len(values) % rows:
        raise BadInput(
            "layers", repr(name), "layers with one row per input",
            f"Its output has the shape {tuple(tensor.shape)} for {rows} inputs; name other layers.",
        )  # fmt: skip
    return values.reshape(rows, -1, values.shape[-1]) if len(values) != rows else values


def shown(layer: Layer) -> tuple[int, int] | None:
    """Index of the output tensor that shows all neurons of the layer, and where they start in it."""
    if not layer.neurons or layer.channel is None:
        return None
    if not layer.slots:
        return (-1, 0) if not layer.consumers else None
    return next(((output, offset) for output, leading, offset in layer.slots if leading < 0), None)


Spot = tuple[Layer, int, int | None, int]
"""A layer, which of its calls, the axis that counts inputs, and where its neurons begin."""


class Recorder(CallHandler):
    """Holds what each layer said last; a copy where something may overwrite it in place.

    Args:
        names: of the model's parameters, by identity.
        layers: which to hold.
        of: see `activations`.
    """

    def __init__(self, names: Mapping[int, str], layers: Sequence[Layer], of: NeuronValue = "signal") -> None:
        self.names, self.through = names, of == "signal"
        self.layers: dict[tuple[str, str], list[Layer]] = {}
        for layer in layers:
            self.layers.setdefault((layer.kind, layer.weights[0].parameter), []).append(layer)
        self.said: dict[str, list[tuple[Tensor, Spot]]] = {layer.name: [] for layer in layers}
        self.live: dict[int, tuple[Tensor, list[Spot]]] = {}

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        """Runs a call and records its result if it is, or continues, the output of a layer."""
        before = self.live.get(id(args[0])) if args else None
        shape = tuple(before[0].shape) if before is not None else ()
        if in_place(name) and args and isinstance(args[0], Tensor) and not (name in OWN and before is not None):
            self._save(args[0])
        result = func(*args, **kwargs)
        if before is not None and name in OWN:
            self._follow(shape, before[1], next(tensors(result)))
        call = weighted(name, args, kwargs)
        if call is not None:
            self._begin(call, result)
        return result

    def _save(self, changing: Tensor) -> None:
        """Copies what is held of a tensor that is no longer the neurons' own, such as one to which another is added."""
        place = memory(changing)
        for said in self.said.values():
            for position, (held, where) in enumerate(said):
                if memory(held) == place:
                    said[position] = (held.clone(), where)
        self.live = {key: entry for key, entry in self.live.items() if memory(entry[0]) != place}

    def _begin(self, call: Call, result: Any) -> None:
        kind = "attention_out" if call.kind == ATTENTION else call.kind
        for weight in call.weights:
            for layer in self.layers.get((kind, self.names.get(id(weight), "")), ()):
                output, offset = shown(layer) or (-1, 0)
                tensor = result if output < 0 else result[output]
                if call.packed:
                    raise BadInput("layers", repr(layer.name), "layers with one row per input, not a packed sequence")
                place = (layer, len(self.said[layer.name]), call.batch_axis, offset)
                self.said[layer.name].append((tensor if self.through else tensor.clone(), place))
                if self.through:
                    self.live.setdefault(id(tensor), (tensor, []))[1].append(place)

    def _follow(self, before: tuple[int, ...], places: list[Spot], after: Tensor) -> None:
        axes = {place[0].channel for place in places}
        if after.ndim == len(before) and all(axis is not None and after.shape[axis] == before[axis] for axis in axes):
            self.live[id(after)] = (after, places)
            for place in places:
                self.said[place[0].name][place[1]] = (after, place)

    def values(self, layer: str, rows: int) -> Tensor:
        """All that a layer said, mean of its calls: ``(rows, ..., neurons)``."""
        if not self.said[layer]:
            raise NotApplicable(f"{layer} takes no part in the forward pass of some inputs")
        return _mean([self._read(*one, rows) for one in self.said[layer]])

    def means(self, rows: int) -> dict[str, Tensor]:
        """One number per input and neuron: ``{layer: (rows, neurons)}``."""
        found = {}
        for name, said in self.said.items():
            if said:
                each = [self._read(*one, rows).reshape(rows, -1, one[1][0].neurons).mean(dim=1) for one in said]
                found[name] = _mean(each)
        return found

    def _read(self, tensor: Tensor, place: Spot, rows: int) -> Tensor:
        layer, _, batch_axis, offset = place
        channel = -1 if layer.channel is None else layer.channel
        return by_input(tensor, rows, channel, layer.name, batch_axis)[..., offset : offset + layer.neurons]


def _mean(each: list[Tensor]) -> Tensor:
    return each[0] if len(each) == 1 else torch.stack(each).mean(dim=0)
