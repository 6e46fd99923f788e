"""Activations of chosen layers, batch by batch, reduced to one number per neuron as they stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from mutiny.errors import BadInput
from mutiny.models.calls import ATTENTION, OWN, Call, in_place, tensors, weighted
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.layers import Layer
from mutiny.models.view import ModelView, parameter_names


def activations(
    view: ModelView,
    batches: Iterable[Any],
    layers: Sequence[str] | None = None,
    forward: Forward = default_forward,
    of: Literal["signal", "output"] = "signal",
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
    chosen = view.layers if layers is None else [view.layer(name) for name in layers]
    visible = [layer for layer in chosen if _shown(layer) is not None]
    if layers is not None and len(visible) < len(chosen):
        hidden = next(layer for layer in chosen if _shown(layer) is None)
        raise BadInput("layers", repr(hidden.name), "layers whose neurons can be seen outside their module")
    names = parameter_names(view.model)
    for batch in batches:
        recorder = _Recorder(names, visible, rows=_rows(batch), through=of == "signal")
        with steady(), torch.inference_mode(), recorder:
            forward(view.model, batch)
        yield recorder.means()


def _rows(batch: Any) -> int:
    first = next(tensors(batch), None)
    if first is None or not first.ndim:
        raise BadInput("batch", type(batch).__name__, "tensors with one row per input")
    return len(first)


def _shown(layer: Layer) -> tuple[int, int] | None:
    """Index of the output tensor that shows all neurons of the layer, and where they start in it."""
    if not layer.neurons or layer.channel is None:
        return None
    if not layer.slots:
        return (-1, 0) if not layer.consumers else None
    return next(((output, offset) for output, leading, offset in layer.slots if leading < 0), None)


class _Recorder(TorchFunctionMode):
    """Reduces on the spot: what follows may overwrite a tensor in place."""

    def __init__(self, names: Mapping[int, str], layers: Sequence[Layer], rows: int, through: bool) -> None:
        super().__init__()
        self.names, self.rows, self.through = names, rows, through
        self.layers: dict[tuple[str, str], list[Layer]] = {}
        for layer in layers:
            self.layers.setdefault((layer.kind, layer.weights[0].parameter), []).append(layer)
        self.calls: dict[str, list[Tensor]] = {layer.name: [] for layer in layers}
        self.live: dict[int, tuple[Tensor, list[tuple[Layer, int, int | None, int]]]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        before = self.live.get(id(args[0])) if args else None
        shape = tuple(before[0].shape) if before is not None else ()
        result = func(*args, **kwargs)
        if before is not None and name in OWN:
            self._follow(shape, before[1], next(tensors(result)))
        elif before is not None and in_place(name):  # an addition, say: no longer the neuron's own
            del self.live[id(before[0])]
        call = weighted(name, args, kwargs)
        if call is not None:
            self._begin(call, result)
        return result

    def _begin(self, call: Call, result: Any) -> None:
        kind = "attention_out" if call.kind == ATTENTION else call.kind
        for weight in call.weights:
            for layer in self.layers.get((kind, self.names.get(id(weight), "")), ()):
                output, offset = _shown(layer) or (-1, 0)
                tensor = result if output < 0 else result[output]
                if call.packed:
                    raise BadInput("layers", repr(layer.name), "layers with one row per input, not a packed sequence")
                calls = self.calls[layer.name]
                calls.append(self._mean(layer, tensor, call.batch_axis, offset))
                if self.through:
                    place = (layer, len(calls) - 1, call.batch_axis, offset)
                    self.live.setdefault(id(tensor), (tensor, []))[1].append(place)

    def _follow(self, before: tuple[int, ...], places: list[Any], after: Tensor) -> None:
        axes = {place[0].channel for place in places}
        if after.ndim == len(before) and all(after.shape[axis] == before[axis] for axis in axes):
            self.live[id(after)] = (after, places)
            for layer, position, batch_axis, offset in places:
                self.calls[layer.name][position] = self._mean(layer, after, batch_axis, offset)

    def _mean(self, layer: Layer, tensor: Tensor, batch_axis: int | None, offset: int) -> Tensor:
        """Mean over everything but input and neuron, ``(rows, neurons)``."""
        axis = -1 if layer.channel is None else layer.channel
        values = tensor.movedim(axis, -1)[..., offset : offset + layer.neurons]
        if batch_axis is None:
            batch_axis = 1 if values.ndim > 2 and len(values) != self.rows == values.shape[1] else 0
        values = values.movedim(batch_axis, 0)
        if values.ndim < 2 or len(values) % self.rows:
            raise BadInput(
                "layers", repr(layer.name), "layers with one row per input",
                f"Its output has the shape {tuple(tensor.shape)} for {self.rows} inputs; name other layers.",
            )  # fmt: skip
        return values.reshape(self.rows, -1, layer.neurons).mean(dim=1)

    def means(self) -> dict[str, Tensor]:
        """Of each layer that ran, in the order asked for."""
        return {name: torch.stack(calls).mean(dim=0) for name, calls in self.calls.items() if calls}
