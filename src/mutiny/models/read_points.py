"""Points where features can be read in a model: layers, modules, and the input of the classifier head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from math import prod
from typing import Any, Literal

import torch

from mutiny.core.errors import BadInput
from mutiny.models.capture import ActivationRecorder, by_input, rows_of, visible_layers
from mutiny.models.dataflow import DataflowTrace, TensorVersion
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.layers import Layer
from mutiny.models.torch_ops import CONVOLUTIONS, TRANSPOSED
from mutiny.models.view import ModelView, parameter_names

Units = Literal["unit", "neuron"]
ENCODER, HIDDEN, ALL = "encoder", "hidden", "all"
"""Names of automatic choices."""

HEADS = ("linear", "matmul", "bilinear")


@dataclass(frozen=True)
class ReadPoint:
    """One point of a forward pass where features are read.

    Attributes:
        name: Name as users write it: a layer (its values after normalization, activation and pooling), another module
            (its output), or ``module:input`` (the input of a module); ``input`` and ``output`` are those of the model.
        kind: Which of the three it is.
        path: Path of the hooked module; for a layer, of a module that returns exactly its values, if there is one.
        channel: Axis of the neurons, from the end.
        shape: Shape of the features of one input.
        calls: Calls of the module in one forward pass; the values of several calls are averaged.
        why: Reason for the choice, if it was made automatically.
    """

    name: str
    kind: Literal["signal", "output", "input"]
    path: str
    channel: int
    shape: tuple[int, ...]
    calls: int = 1
    why: str = ""

    def count(self, units: Units) -> int:
        """Numbers per input: every unit, or one per neuron."""
        return prod(self.shape) if units == "unit" else self.shape[self.channel]

    def describe(self, units: Units) -> str:
        """One line of text about the point."""
        shape = " x ".join(map(str, self.shape))
        many = f"{shape} = {self.count('unit')} units" if len(self.shape) > 1 else f"{shape} units"
        if units == "neuron" and len(self.shape) > 1:
            many = f"{self.count(units)} neurons, each the mean over {shape}"
        return f"{self.name}{f', {self.why}' if self.why else ''}: {many}"


class ReadPoints:
    """All read points of one model, found by one recorded forward pass.

    >>> from torch import nn
    >>> model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)).eval()
    >>> points = ReadPoints(ModelView.of(model, torch.zeros(2, 1, 8, 8)), torch.zeros(2, 1, 8, 8))
    >>> points.choose("encoder")[0].describe("unit")
    '2, the last feature layer before the classifier head (4): 4 x 3 x 3 = 36 units'
    """

    def __init__(self, view: ModelView, inputs: Any, forward: Forward = default_forward) -> None:
        self.view, self.rows = view, rows_of(inputs)
        self._layers = visible_layers(view)
        names = parameter_names(view.model)
        self._recorder, self._trace = ActivationRecorder(names, self._layers), DataflowTrace(names)
        with steady(), torch.inference_mode(), self._trace.watching(view.model), self._recorder, self._trace:
            forward(view.model, inputs)
        signals = [self._signal(layer) for layer in self._layers if self._recorder.recorded[layer.name]]
        self.signals: dict[str, ReadPoint] = {point.name: point for point in signals if point is not None}
        self.modules: dict[str, ReadPoint] = {}
        for kind, runs in (("output", self._trace.outputs), ("input", self._trace.inputs)):
            for path, calls in runs.items():
                point = self._module(path, kind, calls)
                if point is not None:
                    self.modules[point.name] = point
        self.encoder, self.hidden = self._automatic()
        del self._recorder, self._trace  # they hold tensors

    def automatic(self, name: str) -> tuple[ReadPoint, ...]:
        """What ``encoder``, ``hidden`` or ``all`` stands for, whatever the model's own layers are called."""
        return {ENCODER: (self.encoder,), HIDDEN: (self.hidden,), ALL: (*self.signals.values(),)}[name]

    def choose(self, wanted: str | Sequence[str]) -> tuple[ReadPoint, ...]:
        """Points by name or pattern; ``encoder``, ``hidden`` and ``all`` (every layer) are found automatically.

        A model's own layer of such a name comes first.
        """
        chosen: dict[str, ReadPoint] = {}
        if not isinstance(wanted, Sequence) or not all(isinstance(name, str) for name in wanted):
            raise BadInput("layers", repr(wanted), "a name or pattern, or a list of them")
        for name in [wanted] if isinstance(wanted, str) else wanted:
            for point in self._named(name):
                chosen.setdefault(point.name, point)
        if not chosen:
            raise BadInput("layers", repr(wanted), "at least one name or pattern")
        return tuple(chosen.values())

    def _named(self, name: str) -> list[ReadPoint]:
        known = {**self.modules, **self.signals}
        if name in known:
            return [known[name]]
        if name in (ENCODER, HIDDEN, ALL):
            return [*self.automatic(name)]
        matching = [point for key, point in known.items() if fnmatchcase(key, name) and point.kind != "input"]
        ordered = [point for point in matching if point.kind == "signal"] or matching
        if not ordered:
            near = get_close_matches(name, known, 3, 0.4)
            shown = [key for key in known if not key.endswith((":input", ":output"))]
            fix = f"Did you mean {' or '.join(near)}?" if near else f"It has: {', '.join(shown[:30])}."
            expected = f"a layer or module of the model, a pattern, {ENCODER}, {HIDDEN} or {ALL}"
            raise BadInput("layers", repr(name), expected, fix)
        return ordered

    def _signal(self, layer: Layer) -> ReadPoint | None:
        if len({tuple(tensor.shape) for tensor, _ in self._recorder.recorded[layer.name]}) > 1:
            return None  # a layer that is shared by maps of several sizes; they cannot be averaged
        try:
            shape = tuple(self._recorder.values(layer.name, self.rows).shape[1:])
        except BadInput:  # no axis holds the inputs, for instance because steps come first
            return None
        channel = -1 if layer.channel is None else max(layer.channel, -len(shape))
        return ReadPoint(layer.name, "signal", self._returned_by(layer), channel, _channel_at(shape, channel))

    def _returned_by(self, layer: Layer) -> str:
        """Path of a module that returns exactly the values of the layer, not changed in place afterwards; or empty."""
        recorded = self._recorder.recorded[layer.name]
        (tensor, (_, _, batch_axis, offset)), now = recorded[0], self._trace.version(recorded[0][0])
        whole = not offset and layer.channel is not None and tensor.shape[layer.channel] == layer.neurons
        if len(recorded) > 1 or batch_axis is not None or not whole:
            return ""
        calls = self._trace.outputs.items()
        return next((path for path, (first, *more) in calls if path and not more and first.key == now.key), "")

    def _module(self, path: str, kind: Any, calls: list[TensorVersion]) -> ReadPoint | None:
        """A read point for a module's tensors, if they have one row per input and always the same shape."""
        tensor, _, after = calls[-1]
        if (
            len({tuple(version.tensor.shape) for version in calls}) > 1
            or not tensor.is_floating_point()
            or tensor.ndim < 2
        ):
            return None
        layer = next((y for y in self.view.layers if any(w.parameter == after for w in y.weights)), None)
        channel = layer.channel if layer is not None and layer.channel is not None else -1
        channel = channel if -channel < tensor.ndim else -1
        try:
            shape = tuple(by_input(tensor, self.rows, channel, path).shape[1:])
        except BadInput:
            return None
        name = f"{path}:{kind}" if kind == "input" or path in self.signals else path
        return ReadPoint(name if path else kind, kind, path, channel, _channel_at(shape, channel), len(calls))

    def _automatic(self) -> tuple[ReadPoint, ReadPoint]:
        """The last feature layer before the classifier head, and the input of the output layer."""
        ran = [layer for layer in self.view.layers if layer.weights[0].parameter in self._trace.reads]
        output = next((layer for layer in reversed(ran) if layer.output), ran[-1])
        hidden = self._read_by(output, f"what the output layer {output.name} reads")
        head = self._head(ran, output)
        before = [layer for layer in ran[: ran.index(head[0])] if not self._flat(layer)]
        if not before:  # linear layers only: all but the output layer are features
            return hidden, hidden
        return self._features(head, before[-1]), hidden

    def _head(self, ran: Sequence[Layer], output: Layer) -> list[Layer]:
        """The output layer and the layers before it that map vectors to vectors."""
        known = {layer.weights[0].parameter: layer for layer in ran}
        head = [output]
        while len(sources := self._trace.layers(self._read(head[0]))) == 1:
            layer = known.get(sources.pop())
            if layer is None or layer in head or not (self._flat(layer) or self._pointlike(layer)):
                break
            head.insert(0, layer)
        return head

    def _read(self, layer: Layer) -> TensorVersion:
        return self._trace.reads[layer.weights[0].parameter]

    def _flat(self, layer: Layer) -> bool:
        return layer.kind in HEADS and self._read(layer).tensor.ndim == 2

    def _pointlike(self, layer: Layer) -> bool:
        """Whether a convolution reads pooled features, one number per channel, and so acts as a linear layer."""
        read = self._read(layer)
        pooled = layer.kind in CONVOLUTIONS and None not in self._trace.unpooled(read)
        return pooled and prod(read.tensor.shape[-CONVOLUTIONS[layer.kind] :]) == 1

    def _features(self, head: Sequence[Layer], last: Layer) -> ReadPoint:
        """The input of the head's first layer before it was flattened or pooled; ``last`` ran before the head.

        Pooling over the steps of a sequence is kept unless they come from convolutions, since lengths may differ.
        """
        named = f"the classifier head ({', '.join(layer.name for layer in head)})"
        why = f"the last feature layer before {named}"
        read, convolved = self._read(head[0]), last.kind in CONVOLUTIONS or last.kind in TRANSPOSED
        pooled = self._trace.unpooled(read)
        whole = pooled[0] if len(pooled) == 1 else None
        point = None
        if whole is not None and (convolved or whole.tensor.ndim > 3):
            point = self._nearest(whole, why, named)
        elif not any(pooled):
            point = self._at(self._trace.unshaped(read) if convolved else read)
            point = point and replace(point, why=why)
        point = point or self._read_by(head[0], f"what {named} reads{', pooled already' if any(pooled) else ''}")
        return _with_channel(point, last, read.tensor[0].numel())

    def _read_by(self, layer: Layer, why: str) -> ReadPoint:
        read = self._read(layer)
        for path in sorted(self._trace.inputs, key=lambda path: path != layer.name):
            name = f"{path}:input" if path else "input"
            if name in self.modules and any(version.key == read.key for version in self._trace.inputs[path]):
                return replace(self.modules[name], why=why)
        point = self._nearest(read, why, layer.name)
        earlier = [name for name in self.signals if self.view.layer(name).order < layer.order] or [*self.signals]
        if point is None and not earlier:
            expected = "layers whose outputs have one row per input"
            fix = "Put the inputs on the first axis: batch_first=True."
            raise BadInput("model", type(self.view.model).__name__, expected, fix)
        return point or replace(self.signals[earlier[-1]], why=f"since what {layer.name} reads cannot be read")

    def _nearest(self, version: TensorVersion, why: str, reader: str) -> ReadPoint | None:
        """The read point of a tensor, or of the largest tensor that it was made from, and so on."""
        lost: list[str] = []
        while (point := self._at(version)) is None:
            step = self._trace.earlier(version)
            if step is None:
                return None
            name, version = step
            lost = [name, *(other for other in lost if other != name)] if name else lost
        if lost:
            listed = " and ".join([", ".join(lost[:-1]), lost[-1]][len(lost) == 1 :])
            why = f"the last point before {reader} that can be read, without {listed} after it"
        return replace(point, why=why)

    def _at(self, version: TensorVersion) -> ReadPoint | None:
        """Read point of a tensor: a module that returned it (outermost first), its layer, or a module that reads it."""
        recorded = ((name, calls[0][0]) for name, calls in self._recorder.recorded.items() if len(calls) == 1)
        returned = (name for path in _paths(self._trace.outputs, version) for name in (path, f"{path}:output"))
        points = [
            *(self.modules.get(name) for name in returned),
            *(self.signals.get(name) for name, tensor in recorded if self._trace.version(tensor).key == version.key),
            *(self.modules.get(f"{path}:input") for path in _paths(self._trace.inputs, version)),
        ]
        return next((point for point in points if point is not None), None)


def _paths(runs: Mapping[str, Sequence[TensorVersion]], version: TensorVersion) -> list[str]:
    """Modules that used this tensor in their only call, outermost first."""
    paths = [path for path, calls in runs.items() if path and len(calls) == 1 and calls[0].key == version.key]
    return sorted(paths, key=lambda path: path.count("."))


def _with_channel(point: ReadPoint, last: Layer, pooled: int) -> ReadPoint:
    """Corrects the axis of the neurons to that of the last layer, or to the one that pooling left.

    The channel comes from the last layer that ran, which may belong to a gate.
    """
    axes = [axis - len(point.shape) for axis, size in enumerate(point.shape) if size == pooled]
    axes = [last.channel] if last.channel == -len(point.shape) else axes
    return replace(point, channel=axes[0]) if len(axes) == 1 and point.kind != "signal" else point


def _channel_at(shape: tuple[int, ...], channel: int) -> tuple[int, ...]:
    """Moves the neurons of a shape from the end to where the tensor has them."""
    rest = list(shape[:-1])
    rest.insert(len(rest) + 1 + channel, shape[-1])
    return tuple(rest)
