"""The problem that a repair method solves: a model, inputs that fail and pass, and layers that may change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.models import Forward, Layer, ModelView
from mutiny.models.capture import visible_output
from mutiny.models.device import placement
from mutiny.subjects.data import Data
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.locate.failures import ByLabel
from mutiny.verbs.locate.model_under_test import ModelUnderTest

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RepairProblem:
    """A model, and the inputs of the repair split: the failures to fix, and the passing inputs.

    Attributes:
        view: Structure of the model; the model itself is never changed.
        task: Task that defines right answers.
        data: Inputs, failing and passing.
        targets: Targets of the inputs, in the form of the task.
        failing: Which inputs fail, ``(n,)``.
        finite: Which inputs have a finite loss, ``(n,)``.
        layers: Layers whose weights may change.
        forward: Function that calls the model.
        seed: Seed of everything random.
        batch_size: Inputs per forward pass.
    """

    view: ModelView
    task: Task
    data: Data
    targets: Tensor
    failing: npt.NDArray[np.bool_]
    finite: npt.NDArray[np.bool_]
    layers: tuple[Layer, ...]
    forward: Forward
    seed: int
    batch_size: int

    @property
    def model(self) -> nn.Module:
        """The user's model."""
        return self.view.model

    @cached_property
    def hidden(self) -> tuple[Layer, ...]:
        """Hidden layers among ``layers``."""
        hidden = tuple(layer for layer in self.layers if layer.neurons and not layer.output)
        if not hidden:
            raise BadInput("layers", ", ".join(layer.name for layer in self.layers), "at least one hidden layer")
        return hidden

    @cached_property
    def visible(self) -> tuple[Layer, ...]:
        """Hidden layers whose neurons can be read outside their module."""
        visible = tuple(layer for layer in self.hidden if visible_output(layer) is not None)
        if not visible:
            names = ", ".join(layer.name for layer in self.hidden)
            raise BadInput("layers", names, "a hidden layer whose neurons can be read", "Use method search instead.")
        return visible

    def rng(self, *keys: str | int) -> np.random.Generator:
        """A random generator for one purpose, which ``keys`` name."""
        return generator_for(self.seed, "repair", *keys)

    def sample(self, most: int, passes: float = 1.0) -> tuple[Ints, Ints]:
        """Positions of a sample of failing inputs and of passing ones; passing classes keep their proportions.

        Args:
            most: Largest number of failing inputs.
            passes: Number of passing inputs per failing one.
        """
        rng = self.rng("sample")
        fail, passing = (rng.permutation(np.flatnonzero(which)) for which in (self.failing, ~self.failing))
        fail = np.sort(fail[:most])
        count = min(len(passing), max(1, round(passes * len(fail))))
        if self.targets.ndim == 1 and len(passing):
            passing = passing[np.argsort(self.targets.cpu().numpy()[passing], kind="stable")]
            passing = passing[np.linspace(0, len(passing) - 1, count).round().astype(np.int64)]
        return fail, np.sort(passing[:count])

    def learnable(self, indices: Ints, method: str) -> Ints:
        """Those of ``indices`` whose loss is finite; an error if no failing input is left for ``method``."""
        usable = indices[self.finite[indices]]
        if self.failing[indices].any() and not self.failing[usable].any():
            expected = f"finite outputs for some failing inputs, whose loss {method} can lower"
            raise BadInput("model", type(self.model).__name__, expected, "Use method scale instead.")
        return usable

    def inputs(self, indices: Ints) -> Any:
        """Inputs on the device of the model, in its dtype."""
        return placement(self.model).put(self.data.read(indices))

    def targets_of(self, indices: Ints) -> Tensor:
        """Targets on the device of the model."""
        return self.targets[torch.from_numpy(indices)].to(placement(self.model).device)

    def batches(self, indices: Ints) -> Iterator[tuple[Any, Tensor]]:
        """Yields inputs and targets, batch by batch."""
        for at in range(0, len(indices), self.batch_size):
            batch = indices[at : at + self.batch_size]
            yield self.inputs(batch), self.targets_of(batch)

    def tested(self) -> ModelUnderTest:
        """The same model and inputs in the form that `locate` works on."""
        classes = self.targets if isinstance(self.task, Classification) else None
        failing = ByLabel(self.task, self.targets)
        return ModelUnderTest(
            self.model, self.task, self.data, failing, classes, self.forward, self.seed, self.batch_size
        )


def layers_to_change(view: ModelView, wanted: str | Sequence[str] | None) -> tuple[Layer, ...]:
    """Layers with weights whose names match a pattern in ``wanted``; all by default."""
    layers = tuple(layer for layer in view.layers if layer.neurons)
    if wanted is None:
        return layers
    patterns = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(patterns, Sequence) or not patterns or not all(isinstance(name, str) for name in patterns):
        raise BadInput("layers", repr(wanted), "names or patterns of layers")
    for pattern in patterns:
        if not any(fnmatchcase(layer.name, pattern) for layer in layers):
            names = ", ".join(layer.name for layer in layers)
            raise BadInput("layers", repr(pattern), "a layer with weights, or a pattern", f"It has: {names}.")
    return tuple(layer for layer in layers if any(fnmatchcase(layer.name, pattern) for pattern in patterns))
