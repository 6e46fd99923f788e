"""One network with its defended versions, and the images of each round."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from torch import nn

import mutiny
from mutiny.core.random import generator_for
from mutiny.subjects.data import Data, as_data
from studies.muten import arms
from studies.muten.defended import defended
from studies.muten.subjects import TARGETS, Target
from studies.nss.lab import accuracy
from studies.nss.lab import smaller as few
from studies.store import Rows

SUBJECT_COLUMNS = (
    "subject network weights train test epochs batch_size learning_rate seed accuracy images few rounds "
    "training_seconds"
).split()
Item = TypeVar("Item")


@dataclass(frozen=True)
class Settings:
    """What decides the numbers, apart from the subjects.

    Attributes:
        rounds: each with images and mutants of its own.
        seed: of training and of the choice of images; a round's mutants and random starts have its number as seed.
        quick: little data and few levels: to see whether everything runs.
        made: mutants that are made for a diverse choice.
        most: images that are attacked at once, at most.
        cut: by which the iterations of attacks are divided.
    """

    rounds: int = 3
    seed: int = 0
    quick: bool = False
    made: int = 50
    most: int = 1000
    cut: int = 1


QUICK = Settings(rounds=2, quick=True, made=11, most=4, cut=20)


def smaller(subject: mutiny.Subject) -> mutiny.Subject:
    """Little data, with the usual steps of training."""
    found = few(subject, 500, 200)
    found.recipe = replace(subject.recipe, epochs=3, batch_size=16) if subject.recipe else None
    return found


def thinned(levels: Sequence[Item], settings: Settings) -> Sequence[Item]:
    """All of them, or the two ends for a quick run."""
    return [levels[0], levels[-1]] if settings.quick else levels


def count(target: Target, settings: Settings) -> int:
    """Rounds of a target."""
    return min(settings.rounds, target.rounds)


class Lab:
    """What all parts share about one network.

    Args:
        subject: what is attacked.
        settings: of the study.
    """

    def __init__(self, subject: mutiny.Subject, settings: Settings) -> None:
        self.subject, self.settings, self.name = subject, settings, subject.name
        self.target = TARGETS[subject.name]
        self.training_seconds = 0.0
        self._models: dict[str, nn.Module] = {}
        self._images: dict[int, Data] = {}

    @cached_property
    def original(self) -> nn.Module:
        """The trained network, from the disk where it was trained before."""
        start = time.monotonic()
        found = self.subject.originals(1, seed=self.settings.seed)[0]
        self.training_seconds = time.monotonic() - start
        return found

    def model(self, defense: str) -> nn.Module:
        """The network behind a defense."""
        if defense not in self._models:
            self._models[defense] = defended(self.subject, self.original, defense, self.settings.seed)
        return self._models[defense]

    def images(self, attack: str, number: int) -> Data:
        """Test images of a round, drawn at random, no image in two rounds; for a slow attack the first of them."""
        size = self.size
        if number not in self._images:
            order = generator_for(self.settings.seed, "muten study", "images").permutation(len(self.subject.test))
            some = self.subject.test.subset(order[number * size : (number + 1) * size])
            self._images[number] = as_data((some.first(size), some.targets), "images")
        data = self._images[number]
        return data if attack in arms.PGD else data.subset(np.arange(min(self.target.few, len(data))))

    @property
    def size(self) -> int:
        """Images of a round."""
        return min(self.target.images, self.settings.most)

    def describe(self) -> dict[str, Any]:
        """The subject's row."""
        model, recipe = self.original, self.subject.recipe
        return {
            "subject": self.name,
            "network": type(model).__name__,
            "weights": sum(parameter.numel() for parameter in model.parameters()),
            "train": len(self.subject.train),
            "test": len(self.subject.test),
            "epochs": recipe.epochs if recipe else None,
            "batch_size": recipe.batch_size if recipe else None,
            "learning_rate": recipe.learning_rate if recipe else None,
            "seed": self.settings.seed,
            "accuracy": accuracy(model, self.subject.test),
            "images": self.size,
            "few": min(self.target.few, self.size),
            "rounds": count(self.target, self.settings),
            "training_seconds": self.training_seconds,
        }


def subject_rows(folder: Path) -> Rows:
    return Rows(folder / "subjects.csv", SUBJECT_COLUMNS, 1)
