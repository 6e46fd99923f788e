"""A model, its inputs, and which of its answers are failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.models import Forward, ModelView, Patch
from mutiny.models.capture import NeuronValue
from mutiny.models.forward import steady
from mutiny.models.layout import laid_out
from mutiny.models.placement import placement
from mutiny.models.read_points import ALL, ReadPoint, ReadPoints
from mutiny.models.reading import reading
from mutiny.models.view import PROBE_INPUTS
from mutiny.subjects.data import Data
from mutiny.subjects.inference.calibration import measured_pace
from mutiny.subjects.inference.passes import Pace, check_rows, first_call, rows
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.locate.activity import Activity
from mutiny.verbs.locate.failures import Failing, groups_of
from mutiny.verbs.locate.spectrum import Hits, Spectrum

SAMPLE = 2000
"""Inputs that show what neurons usually do."""


class Seen(NamedTuple):
    """One batch: values of neurons ``(n, neurons)``, outputs, inputs, and where they are in the data."""

    values: Tensor
    outputs: Tensor
    inputs: Any
    where: slice


class ModelUnderTest:
    """Runs a model over inputs and knows which answers fail.

    Args:
        model: in evaluation mode.
        task: what is correct, with ``outputs`` settled.
        data: the inputs.
        failing: tells failures.
        targets: class labels, ``(n,)``, if they are known.
        forward: how the model is called.
        seed: of everything random.
        batch_size: inputs per forward pass; measured if not given.
        repeatable: whether the model gives the same answer when it is asked twice.
    """

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        data: Data,
        failing: Failing,
        targets: Tensor | None,
        forward: Forward,
        seed: int = 0,
        batch_size: int | None = None,
        repeatable: bool = True,
    ) -> None:
        self.model, self.task, self.data, self.failing, self.targets = model, task, data, failing, targets
        self.forward, self.seed, self.repeatable = forward, seed, repeatable
        self.pace = Pace(batch_size) if batch_size else measured_pace(model, data, forward)

    @cached_property
    def view(self) -> ModelView:
        """The model, probed."""
        return ModelView.of(self.model, self._probe_inputs, self.forward)

    @cached_property
    def _probe_inputs(self) -> Any:
        return placement(self.model).put(self.data.first(PROBE_INPUTS))

    @property
    def groups(self) -> int:
        """Classes that are counted apart; 1 for regression."""
        return self.task.classes if isinstance(self.task, Classification) else 1

    def hidden(self, layers: str | Sequence[str] | None = None) -> tuple[ReadPoint, ...]:
        """Layers whose neurons can be suspects: all that are named, or all; never the output layer."""
        found = ReadPoints(self.view, self._probe_inputs, self.forward).choose(ALL if layers is None else layers)
        other = [point.name for point in found if point.kind != "signal"]
        if other:
            names = ", ".join(layer.name for layer in self.view.layers if not layer.output)
            raise BadInput("layers", repr(other[0]), f"hidden layers with weights: {names}")
        inner = tuple(point for point in found if not self.view.layer(point.name).output)
        if not inner:
            asked = ("model", type(self.model).__name__) if layers is None else ("layers", layers)
            raise BadInput(*asked, "hidden layers with neurons", "Only the output layer's neurons can be read here.")
        return inner

    def unreadable(self, points: Sequence[ReadPoint]) -> tuple[str, ...]:
        """Hidden layers with neurons that are not among all ``points``, such as inner layers of stacked RNNs."""
        seen = {point.name for point in points}
        return tuple(one.name for one in self.view.layers if one.neurons and not one.output and one.name not in seen)

    def spectrum(self, points: Sequence[ReadPoint], activity: Activity, of: NeuronValue = "signal") -> Spectrum:
        """Hit spectra of all neurons at ``points``, from one pass over the inputs (two for quantiles)."""
        sizes = tuple(point.count("neuron") for point in points)
        if activity.needs_values:
            activity = activity.fitted(self._sample(points, of))

        def hits() -> Iterator[Hits]:
            for seen in self.read(points, of):
                failed = self.failing(seen.inputs, seen.outputs, seen.where)
                groups = groups_of(self.task, self.targets, seen.outputs, seen.where)
                yield Hits(activity.active(seen.values, sizes), groups, failed)

        return Spectrum.of(hits(), tuple(point.name for point in points), sizes, self.groups)

    def read(
        self, points: Sequence[ReadPoint], of: NeuronValue = "signal", indices: npt.NDArray[np.int64] | None = None
    ) -> Iterator[Seen]:
        """Values of neurons batch by batch, of all inputs or of those at ``indices``."""
        put = placement(self.model).put
        count = len(self.data) if indices is None else len(indices)
        with (
            reading(self.view, points, "neuron", self.call, True, of) as read,
            laid_out(self.model, self.pace.layout),
        ):
            for at in range(0, count, self.pace.batch_size):
                where = slice(at, min(at + self.pace.batch_size, count))
                inputs = put(self.data.read(where if indices is None else indices[where]))
                values, outputs = read(inputs)
                if outputs is not None:
                    yield Seen(values, outputs, inputs, where)

    def of_class(self, label: int | None) -> npt.NDArray[np.int64] | None:
        """Where the inputs of one class are, by their labels or else by what the model says; ``None`` means all."""
        if label is None:
            return None
        if self.targets is not None:
            return np.flatnonzero(self.targets.numpy() == label)
        said = rows(lambda inputs: self.call(self.model, inputs), self.model, self.data, self.pace)
        groups = [groups_of(self.task, None, outputs, slice(None)).cpu().numpy() for outputs in said]
        return np.flatnonzero(np.concatenate(groups) == label)

    def failed(self, patch: Patch | None = None, indices: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.bool_]:
        """Which inputs fail, ``(n,)``, also after a patch; of all, or of those at ``indices``."""
        put = placement(self.model).put
        found = np.empty(len(self.data) if indices is None else len(indices), bool)
        with (
            (patch or Patch(())).applied(self.model, self.call) as call,
            steady(),
            torch.inference_mode(),
            laid_out(self.model, self.pace.layout),
        ):
            for at in range(0, len(found), self.pace.batch_size):
                where = slice(at, min(at + self.pace.batch_size, len(found)))
                items = where if indices is None else indices[where]
                inputs = put(self.data.read(items))
                outputs = call(inputs)
                check_rows(outputs, where.stop - at)
                found[where] = self.failing(inputs, outputs, items).cpu().numpy()
        return found

    def _sample(self, points: Sequence[ReadPoint], of: NeuronValue) -> Tensor:
        drawn = generator_for(self.seed, "locate", "sample").permutation(len(self.data))[:SAMPLE]
        return torch.cat([seen.values for seen in self.read(points, of, np.sort(drawn))])

    def call(self, model: nn.Module, inputs: Any) -> Tensor:
        """The model's outputs; what goes wrong becomes an error that says so."""
        return first_call(self.forward, model, inputs, "model")
