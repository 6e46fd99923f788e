"""What is to be mended, as a method of repair sees it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.models import Forward, ModelView
from mutiny.models.capture import visible_output
from mutiny.models.layers import Layer
from mutiny.models.placement import placement
from mutiny.subjects.data import Data
from mutiny.subjects.tasks import Task

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Damage:
    """A model, inputs of the repair split that fail as the target says, and inputs of that split that pass.

    Attributes:
        view: of the model, which stays as it is.
        task: what is right.
        data: the inputs, failing and passing.
        targets: of these inputs, as the task wants them.
        failing: which of them fail, ``(n,)``.
        sound: for which of them the loss is a number, ``(n,)``.
        layers: whose weights may change.
        forward: how the model is called.
        seed: of everything random.
        batch_size: inputs per pass.
    """

    view: ModelView
    task: Task
    data: Data
    targets: Tensor
    failing: npt.NDArray[np.bool_]
    sound: npt.NDArray[np.bool_]
    layers: tuple[Layer, ...]
    forward: Forward
    seed: int
    batch_size: int

    @property
    def model(self) -> nn.Module:
        """The user's."""
        return self.view.model

    @cached_property
    def hidden(self) -> tuple[Layer, ...]:
        """Layers with neurons that others read."""
        found = tuple(layer for layer in self.layers if layer.neurons and not layer.output)
        if not found:
            raise BadInput("layers", ", ".join(layer.name for layer in self.layers), "at least one hidden layer")
        return found

    @cached_property
    def visible(self) -> tuple[Layer, ...]:
        """Hidden layers whose neurons can be seen outside their module."""
        found = tuple(layer for layer in self.hidden if visible_output(layer) is not None)
        if not found:
            raise BadInput(
                "layers", ", ".join(layer.name for layer in self.hidden), "a hidden layer whose neurons can be seen",
                "Method search works without.",
            )  # fmt: skip
        return found

    def rng(self, *keys: str | int) -> np.random.Generator:
        """For one purpose."""
        return generator_for(self.seed, "repair", *keys)

    def sample(self, most: int, passes: float = 1.0) -> tuple[Ints, Ints]:
        """At most so many failing inputs, and so many passing ones for each of them, of each class in proportion."""
        rng = self.rng("sample")
        fail, passing = (rng.permutation(np.flatnonzero(which)) for which in (self.failing, ~self.failing))
        fail = np.sort(fail[:most])
        count = min(len(passing), max(1, round(passes * len(fail))))
        if self.targets.ndim == 1 and len(passing):
            passing = passing[np.argsort(self.targets.cpu().numpy()[passing], kind="stable")]
            passing = passing[np.linspace(0, len(passing) - 1, count).round().astype(np.int64)]
        return fail, np.sort(passing[:count])

    def learnable(self, indices: Ints, method: str) -> Ints:
        """Those of some inputs whose loss is a number; an error if no failing one is left."""
        found = indices[self.sound[indices]]
        if self.failing[indices].any() and not self.failing[found].any():
            raise BadInput(
                "model", type(self.model).__name__, f"outputs for failing inputs whose loss {method} can lower",
                "All are NaN or infinite. Method scale works without.",
            )  # fmt: skip
        return found

    def inputs(self, indices: Ints) -> Any:
        """On the model's device, in its type."""
        return placement(self.model).put(self.data.read(indices))

    def wanted(self, indices: Ints) -> Tensor:
        """The targets of some inputs, on the model's device."""
        return self.targets[torch.from_numpy(indices)].to(placement(self.model).device)

    def batches(self, indices: Ints) -> Iterator[tuple[Any, Tensor]]:
        """Inputs and targets."""
        for at in range(0, len(indices), self.batch_size):
            some = indices[at : at + self.batch_size]
            yield self.inputs(some), self.wanted(some)
