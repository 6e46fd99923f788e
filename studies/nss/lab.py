"""One network with its repeats: for each an original, a pool of mutated test inputs, and what is wrong in it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

import mutiny
from mutiny.subjects.data import Data, MutatedData
from mutiny.subjects.data.nested import concatenate, take
from mutiny.subjects.inference.passes import settle
from mutiny.verbs.select import metrics
from mutiny.verbs.select.evidence import Evidence
from studies.nss.subjects import UNDER
from studies.store import Rows
from studies.subjects.spread import spread

BATCH = 256
SUBJECT_COLUMNS = (
    "subject network weights train test classes epochs learning_rate originals seed test_accuracy test_sd "
    "pool_accuracy pool_sd types training_seconds"
).split()


@dataclass(frozen=True)
class Settings:
    """What decides the numbers, apart from the subjects.

    Attributes:
        repeats: each with its own original (where there are several), pool and seed of selection.
        seed: of training; a repeat's pool and selection have the repeat's number as seed.
        quick: little data: to see whether everything runs.
        retrain_repeats: repeats of Table 10; of a large network, two at most.
        retrain_epochs: epochs of retraining; the paper's are 40.
        retrain_train: training inputs that are used again in retraining; the paper uses all.
        retrain_train_large: the same for a large network.
    """

    repeats: int = 5
    seed: int = 0
    quick: bool = False
    retrain_repeats: int = 5
    retrain_epochs: int = 3
    retrain_train: int = 20_000
    retrain_train_large: int = 5_000


QUICK = Settings(repeats=2, quick=True, retrain_repeats=1, retrain_epochs=1, retrain_train=300, retrain_train_large=300)


def smaller(subject: mutiny.Subject, train: int = 600, test: int = 200) -> mutiny.Subject:
    """A few inputs, spread over the data, which may be sorted by class."""
    recipe = None if subject.recipe is None else replace(subject.recipe, epochs=4, batch_size=16, learning_rate=0.05)
    return mutiny.Subject(
        task=subject.task, train=spread(subject.train, train), test=spread(subject.test, test), recipe=recipe,
        name=subject.name,
    )  # fmt: skip


class Held(MutatedData):
    """A pool of mutants that are made once and kept, so that a method's seconds are its own."""

    def __init__(self, pool: MutatedData) -> None:
        super().__init__(pool.clean, pool.mutate, pool.seed, pool.purpose, pool.items)
        self.inputs = concatenate(list(pool.batches(BATCH)))

    def read(self, indices: slice | np.ndarray) -> Any:
        """Rows from memory."""
        return take(self.inputs, indices)


@dataclass(frozen=True)
class Trial:
    """One repeat.

    Attributes:
        number: of the repeat; also the seed of pool and selection.
        models: the original under test, then the others.
        subject: task and data.
        pool: every test input, mutated once, with its label.
    """

    number: int
    models: tuple[nn.Module, ...]
    subject: mutiny.Subject
    pool: MutatedData

    def evidence(self, pool: Data | None = None) -> Evidence:
        """What methods may read, with nothing computed yet."""
        pool = self.pool if pool is None else pool
        task = settle(self.subject.task, self.models, pool, self.subject.forward, BATCH)
        return Evidence(
            self.models, task, pool, self.subject.train,
            forward=self.subject.forward, seed=self.number, batch_size=BATCH,
        )  # fmt: skip

    @cached_property
    def shared(self) -> Evidence:
        """Evidence in which methods find what others have computed."""
        return self.evidence()

    @cached_property
    def predicted(self) -> npt.NDArray[np.int64]:
        """The class of each input of the pool, by the original."""
        return classes_of(self.models[0], self.pool)

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Inputs of the pool that the original gets wrong, ``(n,)``."""
        wrong: npt.NDArray[np.bool_] = self.predicted != self.pool.targets
        return wrong

    @property
    def types(self) -> npt.NDArray[np.int64]:
        """Fault types, ``(n,)``."""
        return metrics.fault_types(self.pool.targets.astype(np.int64), self.predicted)


class Lab:
    """What all parts share about one network.

    Args:
        subject: what is tested.
        settings: repeats, seed.
        originals: how many are trained, at most as many as repeats.
    """

    def __init__(self, subject: mutiny.Subject, settings: Settings, originals: int | None = None) -> None:
        self.subject, self.settings, self.name = subject, settings, subject.name
        self.count = min(originals or UNDER[subject.name].originals, settings.repeats)
        self.training_seconds = 0.0
        self._trial: Trial | None = None

    @cached_property
    def models(self) -> list[nn.Module]:
        """The originals, from the disk where they were trained before."""
        start = time.monotonic()
        models = self.subject.originals(self.count, seed=self.settings.seed)
        self.training_seconds = time.monotonic() - start
        return models

    def trial(self, number: int) -> Trial:
        """A repeat; only the last one is kept, since what its methods share takes memory."""
        if self._trial is None or self._trial.number != number:
            at = number % len(self.models)
            models = (*self.models[at:], *self.models[:at])
            self._trial = Trial(number, models, self.subject, Held(mutiny.mutate(self.subject.test, seed=number)))
        return self._trial

    def describe(self) -> dict[str, Any]:
        """The subject's row."""
        recipe = self.subject.recipe
        clean = [accuracy(model, self.subject.test) for model in self.models]
        trials = [self.trial(number) for number in range(self.settings.repeats)]
        pools = [1 - float(trial.wrong.mean()) for trial in trials]
        return {
            "subject": self.name,
            "network": type(self.models[0]).__name__,
            "weights": sum(parameter.numel() for parameter in self.models[0].parameters()),
            "train": len(self.subject.train),
            "test": len(self.subject.test),
            "classes": classes(self.subject),
            "epochs": recipe.epochs if recipe else None,
            "learning_rate": recipe.learning_rate if recipe else None,
            "originals": len(self.models),
            "seed": self.settings.seed,
            "test_accuracy": float(np.mean(clean)),
            "test_sd": float(np.std(clean, ddof=1)) if len(clean) > 1 else None,
            "pool_accuracy": float(np.mean(pools)),
            "pool_sd": float(np.std(pools, ddof=1)) if len(pools) > 1 else None,
            "types": float(np.mean([len(np.unique(trial.types[trial.types >= 0])) for trial in trials])),
            "training_seconds": self.training_seconds,
        }


def classes(subject: mutiny.Subject) -> int:
    """Number of classes."""
    if not isinstance(subject.task, mutiny.Classification):
        raise mutiny.BadInput("subject", subject.name, "a classifier")
    return subject.task.classes


def classes_of(model: nn.Module, data: Data) -> npt.NDArray[np.int64]:
    """The class that a model gives each input, ``(n,)``."""
    with torch.inference_mode():
        found: npt.NDArray[np.int64] = torch.cat([model(batch).argmax(dim=1) for batch in data.batches(BATCH)]).numpy()
    return found


def accuracy(model: nn.Module, data: Data) -> float:
    """The share of inputs that a model gets right."""
    return float((classes_of(model, data) == data.targets).mean())


def subject_rows(folder: Path) -> Rows:
    return Rows(folder / "subjects.csv", SUBJECT_COLUMNS, 1)
