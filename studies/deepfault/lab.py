"""One architecture with its trained networks; for each what is suspicious, what is not, and inputs that pass."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

import mutiny
from mutiny.core.random import generator_for
from mutiny.models import Forward
from mutiny.models.capture import NeuronValue
from mutiny.subjects.data import Data
from mutiny.verbs.locate.suspects import Suspect
from studies.deepfault.subjects import RAW, SIGNAL, Family, family_of, unscaled
from studies.nss.lab import smaller as few
from studies.store import Rows

MEASURES = ("tarantula", "ochiai", "dstar(power=3)")
RANDOM = "random"
ALL = (*MEASURES, RANDOM)
SHORT = dict(zip(ALL, ("T", "O", "D", "R"), strict=True))
BATCH = 250
SUBJECT_COLUMNS = (
    "subject network weights neurons train test epochs batch_size learning_rate networks seed accuracy accuracy_sd "
    "raw_accuracy least_failures training_seconds"
).split()

Classes = Mapping[int, tuple[Suspect, ...]]
"""Neurons of each class, the most suspicious first."""


@dataclass(frozen=True)
class Settings:
    """What decides the numbers, apart from the subjects.

    Attributes:
        networks: trained per architecture, where that is affordable.
        seed: of training, and of the choice of inputs and random neurons.
        quick: little data: to see whether everything runs.
        per_class: inputs of each class that are changed at once.
        draws: of inputs and random neurons, for the random choice.
    """

    networks: int = 3
    seed: int = 0
    quick: bool = False
    per_class: int = 10
    draws: int = 5


QUICK = Settings(networks=2, quick=True, per_class=3, draws=2)


def smaller(subject: mutiny.Subject) -> mutiny.Subject:
    """Little data, on which training takes larger steps."""
    found = few(subject, 1000, 400)
    found.recipe = replace(subject.recipe, epochs=8, learning_rate=3e-3) if subject.recipe else None
    return found


@dataclass(frozen=True, eq=False)
class Network:
    """A trained network, called in one way.

    Args:
        number: among those of its architecture.
        model: trained.
        subject: task and data.
        forward: how it is called.
        settings: of the study.
    """

    number: int
    model: nn.Module
    subject: mutiny.Subject
    forward: Forward
    settings: Settings

    def locate(self, at: NeuronValue = SIGNAL) -> mutiny.Location:
        """The counts of all neurons on the test set."""
        return mutiny.locate(
            self.model, k=1, data=self.subject.test, task=self.subject.task, forward=self.forward, at=at, validate=0,
            batch_size=BATCH,
        )  # fmt: skip

    @cached_property
    def location(self) -> mutiny.Location:
        return self.locate()

    @cached_property
    def rankings(self) -> dict[str, Classes]:
        """All neurons by measure."""
        return {measure: ranked(self.location, measure) for measure in MEASURES}

    @cached_property
    def correct(self) -> npt.NDArray[np.bool_]:
        """Test inputs that it gets right, ``(n,)``."""
        said = [self.say(batch).argmax(dim=1).numpy() for batch in self.subject.test.batches(BATCH)]
        right: npt.NDArray[np.bool_] = np.concatenate(said) == self.subject.test.targets
        return right

    def say(self, inputs: Tensor) -> Tensor:
        """Its outputs."""
        with torch.inference_mode():
            return self.forward(self.model, inputs)

    def suspects(self, measure: str, k: int, draw: int = 0) -> Classes:
        """The ``k`` that a measure accuses, or as many at random; classes without failures have none."""
        if measure != RANDOM:
            return {group: some[:k] for group, some in self.rankings[measure].items()}
        return {group: self._strangers(group, k, draw) for group, some in self.rankings[MEASURES[0]].items() if some}

    def _strangers(self, group: int, k: int, draw: int) -> tuple[Suspect, ...]:
        """Neurons that no measure accuses, of the layers that hold those who are."""
        rng = generator_for(self.settings.seed, "deepfault study", "random neurons", self.number, group, k, draw)
        accused = [one for ranking in self.rankings.values() for one in ranking[group][:k]]
        names = {(one.layer, one.neuron) for one in accused}
        left = [one for one in self.rankings[MEASURES[0]][group] if (one.layer, one.neuron) not in names]
        found = []
        for _ in range(k):
            layer = accused[rng.integers(len(accused))].layer
            near = [one for one in left if one.layer == layer] or left
            found.append(near[rng.integers(len(near))])
            left.remove(found[-1])
        return tuple(found)

    def inputs(self, draw: int) -> Data:
        """Test inputs that it gets right, as many of each class."""
        rng = generator_for(self.settings.seed, "deepfault study", "inputs", self.number, draw)
        targets = self.subject.test.targets
        chosen = [
            rng.permutation(np.flatnonzero(self.correct & (targets == label)))[: self.settings.per_class]
            for label in np.unique(targets)
        ]
        return self.subject.test.subset(np.sort(np.concatenate(chosen)))


def ranked(location: mutiny.Location, measure: str) -> Classes:
    """All neurons, class by class."""
    spectrum = location.spectrum
    return {group: location.ranked(measure, sum(spectrum.sizes), group) for group in range(spectrum.groups)}


class Lab:
    """What all parts share about one architecture.

    Args:
        subject: task, data and recipe.
        settings: of the study.
    """

    def __init__(self, subject: mutiny.Subject, settings: Settings) -> None:
        self.subject, self.settings, self.name = subject, settings, subject.name
        self.family: Family = family_of(self.name)
        self.training_seconds = 0.0
        self._networks: dict[tuple[int, bool], Network] = {}

    @cached_property
    def models(self) -> list[nn.Module]:
        """The trained networks, from the disk where they were trained before."""
        start = time.monotonic()
        models = self.subject.originals(count(self.name, self.settings), seed=self.settings.seed)
        self.training_seconds = time.monotonic() - start
        return models

    def network(self, number: int, way: str) -> Network:
        """A network as it is called in this way."""
        key = number, way == RAW
        if key not in self._networks:
            forward = unscaled if way == RAW else self.subject.forward
            self._networks[key] = Network(number, self.models[number], self.subject, forward, self.settings)
        return self._networks[key]

    def describe(self) -> dict[str, Any]:
        """The subject's row."""
        model, recipe = self.models[0], self.subject.recipe
        networks = [self.network(number, self.family.ways[0]) for number in range(len(self.models))]
        right = [float(one.correct.mean()) for one in networks]
        spectra = [one.location.spectrum for one in networks]
        raw = [float(self.network(one.number, RAW).correct.mean()) for one in networks if RAW in self.family.ways]
        return {
            "subject": self.name,
            "network": type(model).__name__,
            "weights": sum(parameter.numel() for parameter in model.parameters()),
            "neurons": sum(spectra[0].sizes),
            "train": len(self.subject.train),
            "test": len(self.subject.test),
            "epochs": recipe.epochs if recipe else None,
            "batch_size": recipe.batch_size if recipe else None,
            "learning_rate": recipe.learning_rate if recipe else None,
            "networks": len(self.models),
            "seed": self.settings.seed,
            "accuracy": float(np.mean(right)),
            "accuracy_sd": float(np.std(right, ddof=1)) if len(right) > 1 else None,
            "raw_accuracy": float(np.mean(raw)) if raw else None,
            "least_failures": min(spectrum.failing(group) for spectrum in spectra for group in range(spectrum.groups)),
            "training_seconds": self.training_seconds,
        }


def count(name: str, settings: Settings) -> int:
    """How many networks of an architecture are trained."""
    return min(settings.networks, family_of(name).most)


def subject_rows(folder: Path) -> Rows:
    return Rows(folder / "subjects.csv", SUBJECT_COLUMNS, 1)
