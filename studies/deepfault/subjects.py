"""What is tested: two families of networks, with the paper's numbers of neurons, steps and distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor, nn

import mutiny
from mutiny.models import default_forward
from mutiny.models.capture import NeuronValue
from mutiny.subjects.training import Recipe
from studies.command import Make
from studies.deepfault.networks import Convolutional, Dense

RMS, NONE, RAW = "rms", "none", "raw"
"""Ways: gradients divided by their root mean square; as they are; divided, and pixels of 0..255 where 0..1 is due."""
SIGNAL: NeuronValue = "signal"
OUTPUT: NeuronValue = "output"
"""Readings of activity, see `mutiny.locate`."""
DISTANCE = 0.1
"""Of the range of pixels."""


@dataclass(frozen=True)
class Family:
    """Networks of one data set.

    Attributes:
        title: as the paper writes it.
        builtin: mutiny's name of the data.
        networks: name in this study, and shape.
        build: a network from its shape.
        recipe: of training.
        ks: numbers of suspects.
        step: of the ascent, in the paper's units of pixels.
        top: the largest pixel in these units; here it is 1.
        ways: of synthesis.
        readings: of activity.
        most: networks of each shape that are trained at most.
    """

    title: str
    builtin: str
    networks: dict[str, tuple[int, int]]
    build: Callable[[int, int], nn.Module]
    recipe: Callable[[Callable[[], nn.Module]], Recipe]
    ks: tuple[int, ...]
    step: float
    top: float
    ways: tuple[str, ...]
    readings: tuple[NeuronValue, ...]
    most: int

    def ascent(self, way: str) -> mutiny.Ascent:
        """One step. As they are, gradients are taken and multiplied in the units that the network was trained in."""
        if way == NONE:
            return mutiny.Ascent(step=self.step, distance=DISTANCE, scale="none")
        return mutiny.Ascent(step=self.step / self.top, distance=DISTANCE, scale="rms")

    def subject(self, name: str, data: Path | None) -> mutiny.Subject:
        """Data and recipe."""
        found = mutiny.load_subject(self.builtin, data)
        recipe = self.recipe(partial(self.build, *self.networks[name]))
        return mutiny.Subject(task=found.task, train=found.train, test=found.test, recipe=recipe, name=name)


MNIST = Family(
    title="MNIST", builtin="mnist", build=Dense,
    networks={"mnist-5x30": (5, 30), "mnist-6x25": (6, 25), "mnist-8x20": (8, 20)},
    recipe=partial(Recipe, epochs=10, batch_size=32, learning_rate=1e-3),
    ks=(1, 2, 3, 5, 10), step=1.0, top=1.0, ways=(RMS, NONE), readings=(SIGNAL,), most=100,
)  # fmt: skip
CIFAR = Family(
    title="CIFAR-10", builtin="cifar10", build=Convolutional,
    networks={"cifar-4x128": (4, 128), "cifar-2x256": (2, 256), "cifar-1x512": (1, 512)},
    recipe=partial(Recipe, epochs=8, batch_size=64, learning_rate=2e-3, schedule="onecycle"),
    ks=(10, 20, 30, 40, 50), step=10.0, top=255.0, ways=(RMS, NONE, RAW), readings=(SIGNAL, OUTPUT), most=1,
)  # fmt: skip
FAMILIES = (MNIST, CIFAR)
ORDER = tuple(name for family in FAMILIES for name in family.networks)
SUBJECTS: dict[str, Make] = {
    name: partial(family.subject, name) for family in FAMILIES for name in family.networks
}  # fmt: skip


def family_of(name: str) -> Family:
    """The family of a subject."""
    return next(family for family in FAMILIES if name in family.networks)


def unscaled(model: nn.Module, inputs: Any) -> Tensor:
    """Gives pixels of 0..255 to a network that was trained on 0..1."""
    return default_forward(model, CIFAR.top * inputs)
