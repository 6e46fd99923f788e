"""Reads features at chosen points, batch by batch, and stops the forward pass as soon as they are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mutiny.core.errors import NotApplicable
from mutiny.models.capture import NeuronValue, Recorder, by_input, rows_of, visible_layers
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.read_points import ReadPoint, Units
from mutiny.models.torch_ops import tensors
from mutiny.models.undo import Undo
from mutiny.models.view import ModelView, parameter_names


class Reading(NamedTuple):
    """What a batch gave: features ``(n, d)``, read points one after another, and outputs if they were asked for."""

    features: Tensor
    outputs: Tensor | None


class _Enough(BaseException):
    """Everything that was asked for is known. Not an `Exception`, so that no model catches it by accident."""


@contextmanager
def reading(
    view: ModelView,
    points: Sequence[ReadPoint],
    units: Units = "unit",
    forward: Forward = default_forward,
    outputs: bool = False,
    of: NeuronValue = "signal",
) -> Iterator[Callable[[Any], Reading]]:
    """A function from a batch to its features, while the context is open; the model is untouched afterwards.

    Args:
        view: the probed model.
        points: where to read.
        units: ``"unit"`` for every number at a read point, ``"neuron"`` for one per neuron: the mean over pixels or
            steps.
        forward: how the model is called.
        outputs: whether the model's outputs are wanted too; if not, the forward pass ends after the last read point.
        of: what a layer said: its ``"signal"``, or its ``"output"`` straight from the multiplication, see
            `mutiny.models.capture.activations`.

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
    watch = _Watch(points, units, stop=not outputs and not recorded)
    names = parameter_names(view.model)
    layers = visible_layers(view, [point.name for point in recorded])

    def read(batch: Any) -> Reading:
        watch.begin(rows_of(batch))
        recorder = Recorder(names, layers, of)
        result = None
        with ExitStack() as stack:
            stack.enter_context(steady())
            stack.enter_context(torch.inference_mode())
            if layers:
                stack.enter_context(recorder)
            try:
                result = forward(view.model, batch)
            except _Enough:
                result = None
        return Reading(watch.gathered({y.name: recorder.values(y.name, watch.rows) for y in layers}), result)

    with Undo() as undo:
        for point in points:
            if point in recorded:
                continue
            if point.kind != "input":
                undo.add(view.model.get_submodule(point.path).register_forward_hook(watch.after(point)).remove)
            else:
                hook = view.model.get_submodule(point.path).register_forward_pre_hook(
                    watch.ahead(point), with_kwargs=True
                )
                undo.add(hook.remove)
        yield read


class _Watch:
    """What the watched modules said in the present batch."""

    def __init__(self, points: Sequence[ReadPoint], units: Units, stop: bool) -> None:
        self.points, self.units, self.rows = points, units, 0
        self._stop = stop
        self._missing = 0
        self._said: dict[str, list[Tensor]] = {}

    def begin(self, rows: int) -> None:
        """A new batch."""
        self.rows, self._said = rows, {point.name: [] for point in self.points}
        self._missing = sum(point.calls for point in self.points)

    def after(self, point: ReadPoint) -> Any:
        """A hook that notes a module's output."""

        def hook(_module: Any, _args: Any, output: Any) -> None:
            self._note(point, output)

        return hook

    def ahead(self, point: ReadPoint) -> Any:
        """A hook that notes what a module reads."""

        def hook(_module: Any, args: Any, kwargs: Any) -> None:
            self._note(point, (args, kwargs))

        return hook

    def _note(self, point: ReadPoint, value: Any) -> None:
        self._missing -= 1
        last = self._stop and not self._missing
        values = self._reduced(point, by_input(next(tensors(value)), self.rows, point.channel, point.name))
        whole = self.units == "unit" or values.shape[1] == point.count("unit")  # then nothing was computed yet
        self._said[point.name].append(values.clone() if whole and not last else values)
        if last:
            raise _Enough

    def _reduced(self, point: ReadPoint, values: Tensor) -> Tensor:
        """``(rows, d)`` from ``(rows, ..., neurons)``."""
        if self.units == "neuron":
            return values if values.ndim == 2 else values.flatten(1, -2).mean(dim=1)
        return values.movedim(-1, point.channel).flatten(1)

    def gathered(self, said: dict[str, Tensor]) -> Tensor:
        """Features of all read points, ``(rows, d)``, in single precision at least."""
        found = []
        for point in self.points:
            each = [self._reduced(point, said[point.name])] if point.name in said else self._said[point.name]
            if not each:
                raise NotApplicable(f"{point.name} takes no part in the forward pass of some inputs")
            found.append(each[0] if len(each) == 1 else torch.stack(each).mean(dim=0))
            if found[-1].shape[1] != point.count(self.units):
                raise NotApplicable(
                    f"{point.name} has {found[-1].shape[1]} units for some inputs and {point.count(self.units)} for "
                    f"others; choose another layer" + (", or units=neuron" if self.units == "unit" else "")
                )
        features = found[0] if len(found) == 1 else torch.cat(found, dim=1)
        return features.float() if features.element_size() < 4 else features
