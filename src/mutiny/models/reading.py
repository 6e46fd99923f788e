"""Features at chosen read points, batch by batch; the forward pass stops as soon as they are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mutiny.core.errors import NotApplicable
from mutiny.models.capture import ActivationRecorder, NeuronValue, by_input, rows_of, visible_layers
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.read_points import ReadPoint, Units
from mutiny.models.torch_ops import tensors
from mutiny.models.undo import Undo
from mutiny.models.view import ModelView, parameter_names


class Reading(NamedTuple):
    """Features of a batch, ``(n, d)``, read points side by side, and outputs if they were requested."""

    features: Tensor
    outputs: Tensor | None


class _StopForward(BaseException):
    """Ends the forward pass when all features are known. Not an `Exception`, so that no model catches it."""


@contextmanager
def reading(
    view: ModelView,
    points: Sequence[ReadPoint],
    units: Units = "unit",
    forward: Forward = default_forward,
    outputs: bool = False,
    of: NeuronValue = "signal",
) -> Iterator[Callable[[Any], Reading]]:
    """Gives a function from a batch to its features, while the context is open; the model is left untouched.

    Args:
        view: Probed model.
        points: Where to read.
        units: ``"unit"`` for every number at a read point, ``"neuron"`` for one per neuron: the mean over pixels or
            steps.
        forward: Function that calls the model.
        outputs: Whether to return the model's outputs too; if not, the forward pass ends after the last read point.
        of: ``"signal"`` or ``"output"`` of a layer, see `mutiny.models.capture.activations`.

    >>> from torch import nn
    >>> from mutiny.models.read_points import ReadPoints
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    >>> x = torch.ones(5, 2)
    >>> view = ModelView.of(model, x)
    >>> with reading(view, ReadPoints(view, x).choose("hidden")) as read:
    ...     read(x).features.shape
    torch.Size([5, 3])
    """
    recorded = [point for point in points if point.kind == "signal" and (of != "signal" or not point.path)]
    hooks = _HookRecorder(points, units, stop=not outputs and not recorded)
    names = parameter_names(view.model)
    layers = visible_layers(view, [point.name for point in recorded])

    def read(batch: Any) -> Reading:
        hooks.begin(rows_of(batch))
        recorder = ActivationRecorder(names, layers, of)
        result = None
        with ExitStack() as stack:
            stack.enter_context(steady())
            stack.enter_context(torch.inference_mode())
            if layers:
                stack.enter_context(recorder)
            try:
                result = forward(view.model, batch)
            except _StopForward:
                result = None
        return Reading(hooks.gathered({y.name: recorder.values(y.name, hooks.rows) for y in layers}), result)

    with Undo() as undo:
        for point in points:
            if point in recorded:
                continue
            module = view.model.get_submodule(point.path)
            if point.kind != "input":
                undo.add(module.register_forward_hook(hooks.after(point)).remove)
            else:
                undo.add(module.register_forward_pre_hook(hooks.before(point), with_kwargs=True).remove)
        yield read


class _HookRecorder:
    """Records the inputs and outputs of hooked modules in the current batch."""

    def __init__(self, points: Sequence[ReadPoint], units: Units, stop: bool) -> None:
        self.points, self.units, self.rows = points, units, 0
        self._stop = stop
        self._missing = 0
        self._recorded: dict[str, list[Tensor]] = {}

    def begin(self, rows: int) -> None:
        """Starts a new batch."""
        self.rows, self._recorded = rows, {point.name: [] for point in self.points}
        self._missing = sum(point.calls for point in self.points)

    def after(self, point: ReadPoint) -> Any:
        """A hook that records a module's output."""

        def hook(_module: Any, _args: Any, output: Any) -> None:
            self._record(point, output)

        return hook

    def before(self, point: ReadPoint) -> Any:
        """A hook that records a module's input."""

        def hook(_module: Any, args: Any, kwargs: Any) -> None:
            self._record(point, (args, kwargs))

        return hook

    def _record(self, point: ReadPoint, value: Any) -> None:
        self._missing -= 1
        last = self._stop and not self._missing
        values = self._reduced(point, by_input(next(tensors(value)), self.rows, point.channel, point.name))
        whole = self.units == "unit" or values.shape[1] == point.count("unit")  # values still share the module's memory
        self._recorded[point.name].append(values.clone() if whole and not last else values)
        if last:
            raise _StopForward

    def _reduced(self, point: ReadPoint, values: Tensor) -> Tensor:
        """``(rows, d)`` from ``(rows, ..., neurons)``."""
        if self.units == "neuron":
            return values if values.ndim == 2 else values.flatten(1, -2).mean(dim=1)
        return values.movedim(-1, point.channel).flatten(1)

    def gathered(self, recorded: dict[str, Tensor]) -> Tensor:
        """Features of all read points, ``(rows, d)``, in single precision at least."""
        parts = []
        for point in self.points:
            calls = self._recorded[point.name]
            if point.name in recorded:
                calls = [self._reduced(point, recorded[point.name])]
            if not calls:
                raise NotApplicable(f"{point.name} takes no part in the forward pass of some inputs")
            parts.append(calls[0] if len(calls) == 1 else torch.stack(calls).mean(dim=0))
            if parts[-1].shape[1] != point.count(self.units):
                raise NotApplicable(
                    f"{point.name} has {parts[-1].shape[1]} units for some inputs and {point.count(self.units)} for "
                    f"others; choose another layer" + (", or units=neuron" if self.units == "unit" else "")
                )
        features = parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
        return features.float() if features.element_size() < 4 else features
