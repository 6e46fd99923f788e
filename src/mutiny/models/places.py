"""Where features can be read in a model: layers, modules, and what the classifier head reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from math import prod
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from mutiny.errors import BadInput
from mutiny.models.calls import CONVOLUTIONS, TRANSPOSED, tensors, weighted
from mutiny.models.capture import Recorder, by_input, rows_of, visible_layers
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.layers import Layer
from mutiny.models.undo import Undo
from mutiny.models.view import ModelView, parameter_names

Units = Literal["unit", "neuron"]
ENCODER, HIDDEN, ALL = "encoder", "hidden", "all"
"""Names of automatic choices."""

HEADS = ("linear", "matmul", "bilinear")
SUMMARISING = frozenset(f"adaptive_{kind}_pool{n}d" for kind in ("avg", "max") for n in (1, 2, 3)) | {"mean", "amax"}
RESHAPING = frozenset("flatten view reshape squeeze contiguous dropout dropout1d dropout2d dropout3d".split())


@dataclass(frozen=True)
class Place:
    """One place where features are read.

    Attributes:
        name: as users write it: a layer (what its neurons say after normalisation, activation and pooling), another
            module (its output), or ``module:input`` (what a module reads); ``input`` and ``output`` are the model's.
        kind: which of the three.
        path: of the module, where one is watched.
        channel: axis that counts neurons, from the end.
        shape: of what one input gives.
        calls: of the module in one forward pass; the values of several are averaged.
        why: how it was chosen, if automatically.
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
        """One line for people."""
        shape = " x ".join(map(str, self.shape))
        many = f"{shape} = {self.count('unit')} units" if len(self.shape) > 1 else f"{shape} units"
        if units == "neuron" and len(self.shape) > 1:
            many = f"{self.count(units)} neurons, each the mean over {shape}"
        return f"{self.name}{f', {self.why}' if self.why else ''}: {many}"


class Places:
    """All places of one model, found by one watched forward pass.

    >>> model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)).eval()
    >>> places = Places(ModelView.of(model, torch.zeros(2, 1, 8, 8)), torch.zeros(2, 1, 8, 8))
    >>> places.choose("encoder")[0].describe("unit")
    '2, the last feature layer before the classifier head (4): 4 x 3 x 3 = 36 units'
    """

    def __init__(self, view: ModelView, inputs: Any, forward: Forward = default_forward) -> None:
        self.view, self.rows = view, rows_of(inputs)
        self._layers = visible_layers(view)
        names = parameter_names(view.model)
        self._recorder, self._trail = Recorder(names, self._layers), _Trail(names)
        with steady(), torch.inference_mode(), self._trail.watching(view.model), self._recorder, self._trail:
            forward(view.model, inputs)
        signals = [self._signal(layer) for layer in self._layers if self._recorder.said[layer.name]]
        self.signals: dict[str, Place] = {place.name: place for place in signals if place is not None}
        self.modules: dict[str, Place] = {}
        for kind, runs in (("output", self._trail.outputs), ("input", self._trail.inputs)):
            for path, calls in runs.items():
                place = self._module(path, kind, calls)
                if place is not None:
                    self.modules[place.name] = place
        self.encoder, self.hidden = self._automatic()
        del self._recorder, self._trail  # they hold tensors

    def automatic(self, name: str) -> tuple[Place, ...]:
        """What ``encoder``, ``hidden`` or ``all`` stands for, whatever the model's own layers are called."""
        return {ENCODER: (self.encoder,), HIDDEN: (self.hidden,), ALL: (*self.signals.values(),)}[name]

    def choose(self, wanted: str | Sequence[str]) -> tuple[Place, ...]:
        """Places by name or pattern; ``encoder``, ``hidden`` and ``all`` (every layer) are found automatically.

        A model's own layer of such a name comes first.
        """
        found: dict[str, Place] = {}
        for name in [wanted] if isinstance(wanted, str) else wanted:
            for place in self._named(name):
                found.setdefault(place.name, place)
        if not found:
            raise BadInput("layers", repr(wanted), "at least one name or pattern")
        return tuple(found.values())

    def _named(self, name: str) -> list[Place]:
        known = {**self.modules, **self.signals}
        if name in known:
            return [known[name]]
        if name in (ENCODER, HIDDEN, ALL):
            return [*self.automatic(name)]
        matching = [place for key, place in known.items() if fnmatchcase(key, name) and place.kind != "input"]
        ordered = [place for place in matching if place.kind == "signal"] or matching
        if not ordered:
            near = get_close_matches(name, known, 3, 0.4)
            shown = [key for key in known if not key.endswith((":input", ":output"))]
            fix = f"Did you mean {' or '.join(near)}?" if near else f"It has: {', '.join(shown[:30])}."
            raise BadInput("layers", repr(name), f"a layer or module of the model, a pattern, {ENCODER}, {HIDDEN} or {ALL}", fix)  # noqa: E501 # fmt: skip
        return ordered

    def _signal(self, layer: Layer) -> Place | None:
        try:
            shape = tuple(self._recorder.values(layer.name, self.rows).shape[1:])
        except BadInput:  # it has no rows for inputs, as where steps come first
            return None
        channel = -1 if layer.channel is None else max(layer.channel, -len(shape))
        return Place(layer.name, "signal", "", channel, _channel_at(shape, channel))

    def _module(self, path: str, kind: Any, calls: list[tuple[Tensor, str]]) -> Place | None:
        """A place for a module's tensors, if they have one row per input and always the same shape."""
        tensor, after = calls[-1]
        if len({tuple(one.shape) for one, _ in calls}) > 1 or not tensor.is_floating_point() or tensor.ndim < 2:
            return None
        layer = next((y for y in self.view.layers if any(w.parameter == after for w in y.weights)), None)
        channel = layer.channel if layer is not None and layer.channel is not None else -1
        channel = channel if -channel < tensor.ndim else -1
        try:
            shape = tuple(by_input(tensor, self.rows, channel, path).shape[1:])
        except BadInput:
            return None
        name = f"{path}:{kind}" if kind == "input" or path in self.signals else path
        return Place(name if path else kind, kind, path, channel, _channel_at(shape, channel), len(calls))

    def _automatic(self) -> tuple[Place, Place]:
        """The last feature layer before the classifier head, and what the output layer reads."""
        ran = [layer for layer in self.view.layers if layer.weights[0].parameter in self._trail.reads]
        output = next((layer for layer in reversed(ran) if layer.output), ran[-1])
        hidden = self._read_by(output, f"what the output layer {output.name} reads")
        head = [output]
        for layer in reversed(ran[: ran.index(output)]):
            if layer.kind not in HEADS or self._trail.reads[layer.weights[0].parameter].ndim != 2:
                break
            head.insert(0, layer)
        before = ran[: ran.index(head[0])]
        if not before:  # linear layers only: all but the output layer are features
            return hidden, hidden
        why = f"the last feature layer before the classifier head ({', '.join(layer.name for layer in head)})"
        read = self._trail.reads[head[0].weights[0].parameter]
        if before[-1].kind in CONVOLUTIONS or before[-1].kind in TRANSPOSED:
            read = self._trail.before(read)
        return self._where(read, why) or self._read_by(head[0], why), hidden

    def _read_by(self, layer: Layer, why: str) -> Place:
        read = self._trail.reads[layer.weights[0].parameter]
        for path in sorted(self._trail.inputs, key=lambda path: path != layer.name):
            name = f"{path}:input" if path else "input"
            if name in self.modules and any(tensor is read for tensor, _ in self._trail.inputs[path]):
                return _because(self.modules[name], why)
        place = self._where(self._trail.before(read), why)
        earlier = [one for one in self.signals if self.view.layer(one).order < layer.order] or [*self.signals]
        if place is None and not earlier:
            raise BadInput(
                "model", type(self.view.model).__name__, "layers whose outputs have one row per input",
                "Let inputs come first: batch_first=True.",
            )  # fmt: skip
        return place or _because(self.signals[earlier[-1]], f"the last layer before {layer.name}")

    def _where(self, tensor: Tensor, why: str) -> Place | None:
        """The outermost module that returned this tensor, or the layer whose signal it is."""
        paths = [path for path, calls in self._trail.outputs.items() if any(one is tensor for one, _ in calls) and path]
        for path in sorted(paths, key=lambda path: path.count(".")):
            for name in (path, f"{path}:output"):
                if name in self.modules and self.modules[name].calls == 1:
                    return _because(self.modules[name], why)
        for name, said in self._recorder.said.items():
            if name in self.signals and any(one is tensor for one, _ in said):
                return _because(self.signals[name], why)
        return None


def _channel_at(shape: tuple[int, ...], channel: int) -> tuple[int, ...]:
    """A shape with neurons last, with them where the tensor has them."""
    rest = list(shape[:-1])
    rest.insert(len(rest) + 1 + channel, shape[-1])
    return tuple(rest)


def _because(place: Place, why: str) -> Place:
    return Place(place.name, place.kind, place.path, place.channel, place.shape, place.calls, why)


class _Trail(TorchFunctionMode):
    """Which function made each tensor from which, what layers read, and what modules read and returned."""

    def __init__(self, names: Mapping[int, str]) -> None:
        super().__init__()
        self.names = names
        self.reads: dict[str, Tensor] = {}
        self.outputs: dict[str, list[tuple[Tensor, str]]] = {}
        self.inputs: dict[str, list[tuple[Tensor, str]]] = {}
        self._made: dict[int, tuple[Tensor, str, Tensor]] = {}
        self._latest = ""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        result = func(*args, **kwargs)
        first = next((t for t in tensors((args, kwargs)) if not isinstance(t, nn.Parameter)), None)
        call = weighted(name, args, kwargs)
        if call is not None and first is not None:
            for weight in call.weights:
                self.reads[self.names.get(id(weight), "")] = first
            self._latest = self.names.get(id(call.weights[0]), "")
        if isinstance(result, Tensor) and first is not None and result is not first:
            self._made[id(result)] = (result, name, first)  # the tensors are kept so that identities stay unique
        return result

    def before(self, tensor: Tensor) -> Tensor:
        """What a tensor was before it was only reshaped, thinned by dropout or pooled into one number per channel."""
        while id(tensor) in self._made:
            _, name, source = self._made[id(tensor)]
            summarised = name in SUMMARISING and source.ndim > 2
            if name not in RESHAPING and not summarised:
                break
            tensor = source
        return tensor

    @contextmanager
    def watching(self, model: nn.Module) -> Iterator[None]:
        """Notes what modules read and return, through hooks that are gone afterwards."""
        with Undo() as undo:
            for path, module in model.named_modules():
                undo.add(module.register_forward_pre_hook(self._note(self.inputs, path), with_kwargs=True).remove)
                undo.add(module.register_forward_hook(self._note_result(path), with_kwargs=True).remove)
            yield

    def _note(self, notes: dict[str, list[tuple[Tensor, str]]], path: str) -> Any:
        def hook(_module: nn.Module, args: Any, kwargs: Any) -> None:
            first = next(tensors((args, kwargs)), None)
            if first is not None:
                notes.setdefault(path, []).append((first, self._latest))

        return hook

    def _note_result(self, path: str) -> Any:
        def hook(_module: nn.Module, _args: Any, _kwargs: Any, output: Any) -> None:
            first = next(tensors(output), None)
            if first is not None:
                self.outputs.setdefault(path, []).append((first, self._latest))

        return hook
