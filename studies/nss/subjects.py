"""The networks of the study, trained less than they could be, as in the paper's section 4.1.1 and Table 3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import mutiny
from mutiny.subjects.training import Recipe

LENETS = ("mnist-lenet1", "mnist-lenet5", "fashion-lenet1", "fashion-lenet5")
CIFAR = "cifar10-resnet20"
ORDER = (*LENETS, CIFAR)

Make = Callable[[Path | None], mutiny.Subject]


@dataclass(frozen=True)
class Under:
    """How one network is trained too little.

    Attributes:
        builtin: mutiny's name of data and network.
        learning_rate: chosen so that the clean accuracy is near the paper's.
        epochs: so few that the network has not settled.
        schedule: of the learning rate.
        layers: the paper's "Layer 1, 2, -2, -1, Gini-Layer" of Table 13.
        originals: how many are trained; with fewer than repeats, the repeats share them.
    """

    builtin: str
    learning_rate: float
    epochs: int = 1
    schedule: Literal["none", "onecycle"] = "none"
    layers: tuple[str, ...] = ("act1", "pool1", "act2", "pool2", "output")
    originals: int = 5


UNDER = {
    "mnist-lenet1": Under("mnist/lenet1", 0.018),
    "mnist-lenet5": Under("mnist/lenet5", 0.045),
    "fashion-lenet1": Under("fashion-mnist/lenet1", 0.1),
    "fashion-lenet5": Under("fashion-mnist/lenet5", 0.15),
    CIFAR: Under(
        "cifar10/resnet20", 0.1, epochs=6, schedule="onecycle", originals=1,
        layers=("act", "block1_1", "block3_2", "block3_3", "output"),
    ),
}  # fmt: skip


def recipe(name: str, usual: Recipe) -> Recipe:
    """The usual recipe of a network, cut short: plain SGD for a LeNet, few epochs for a ResNet."""
    under = UNDER[name]
    cut = replace(usual, epochs=under.epochs, learning_rate=under.learning_rate, schedule=under.schedule)
    return cut if name == CIFAR else replace(cut, optimizer="sgd", optimizer_settings={}, weight_decay=0.0)


def maker(name: str) -> Make:
    """A function of the data folder."""

    def make(data: Path | None) -> mutiny.Subject:
        usual = mutiny.load_subject(UNDER[name].builtin, data)
        if usual.recipe is None:
            raise mutiny.BadInput("subject", name, "one with a recipe")
        return mutiny.Subject(
            task=usual.task, train=usual.train, test=usual.test, recipe=recipe(name, usual.recipe), name=name
        )  # fmt: skip

    return make


SUBJECTS: dict[str, Make] = {name: maker(name) for name in ORDER}
