"""One subject with its originals, and the tables of their faults; everything is made when first asked for."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

import mutiny
from mutiny.core.json_values import hash_of
from mutiny.core.random import generator_for
from mutiny.faults.evaluation import Runner
from mutiny.subjects.training.originals import default_folder
from mutiny.verbs.assess.cost_unit import unit_of
from mutiny.verbs.assess.fault_search import FaultSearch
from mutiny.verbs.assess.reference import FOLDS, Reference, reference_of, with_folds
from mutiny.verbs.assess.verb import default_seeds
from studies.notice.finding import KINDS
from studies.notice.ladder import Ladder
from studies.notice.subjects import DESIGNS, LADDER_OPERATORS, Design
from studies.notice.table import ALPHA, TEST, FaultTable, Ints, joined
from studies.notice.unlabeled import UNLABELED, Half, kept
from studies.store import Rows
from studies.subjects.spread import spread

BATCH = 250
SEEN = 1000
"""Inputs of the training on which costs are measured, to compare."""
SUBJECT_COLUMNS = (
    "subject network weights train reference reference_inputs test test_size originals seed train_metric "
    "reference_metric test_metric test_sd training_seconds"
).split()


@dataclass(frozen=True)
class Settings:
    """What decides the numbers, apart from the subjects.

    Attributes:
        draws: of originals and test sets, for each question.
        seed: of training, faults and draws.
        quick: little data, few originals: to see whether everything runs.
        originals: trained networks by subject; numbers of more or fewer go to another folder.
    """

    draws: int = 100
    seed: int = 0
    quick: bool = False
    originals: dict[str, int] = field(default_factory=lambda: {name: one.originals for name, one in DESIGNS.items()})


QUICK = Settings(draws=10, quick=True)
QUICK_DESIGN = Design(originals=6, many=2, seeds=1, size=150, ladders=2, operators="WI,GF,NEB")


def smaller(subject: mutiny.Subject) -> mutiny.Subject:
    """A few inputs, spread over the data."""
    return mutiny.Subject(
        task=subject.task,
        train=spread(subject.train, 1250),
        validation=None if subject.validation is None else spread(subject.validation, 300),
        test=spread(subject.test, 300),
        recipe=None if subject.recipe is None else replace(subject.recipe, epochs=3),
        name=subject.name,
    )


class Lab:
    """What all parts share about one subject.

    Args:
        subject: what is tested; with a validation set, its originals leave out folds nevertheless, to compare both.
        settings: draws and seed.
        design: how much of it is examined.
        folder: where tables are kept; mutiny's cache folder by default.
    """

    def __init__(
        self, subject: mutiny.Subject, settings: Settings, design: Design | None = None, folder: Path | None = None
    ) -> None:
        subject = with_folds(subject)
        self.subject = subject if subject.folds or subject.recipe is None else subject.holding_out(FOLDS)
        self.settings, self.name = settings, subject.name
        self.design = design or (QUICK_DESIGN if settings.quick else DESIGNS[subject.name])
        self.folder = folder or default_folder().parent / "studies" / "notice"
        self.training_seconds = 0.0
        self._tables: dict[str, FaultTable] = {}

    @cached_property
    def models(self) -> list[nn.Module]:
        """The originals, from the disk where they were trained before."""
        start = time.monotonic()
        models = self.subject.originals(self.design.originals, seed=self.settings.seed)
        self.training_seconds = time.monotonic() - start
        return models

    @cached_property
    def runner(self) -> Runner:
        """Runs faults on the reference sets, on all inputs that test sets are drawn from, and on others to compare."""
        subject, folds = self.subject, self.subject.folds or 1
        assert subject.train is not None
        splits = {**self.reference.sets, **self.reference.trained, TEST: subject.test}
        for fold in range(folds if subject.folds else 0):
            splits.setdefault(f"fold {fold + 1}", subject.training.held_out(fold))
        for fold in range(folds):
            splits[f"seen {fold + 1}"] = spread(subject.training.of(fold), SEEN)
        return Runner(self.models, subject.task, splits, subject.forward, self.settings.seed, BATCH)

    @cached_property
    def reference(self) -> Reference:
        """What `assess` measures costs on."""
        found = reference_of(self.subject, self.design.originals)
        assert found is not None
        return found

    @cached_property
    def search(self) -> FaultSearch:
        """The search of `assess`."""
        return FaultSearch(self.runner, self.reference, unit_of(self.runner.task), ALPHA)

    @property
    def folds(self) -> int:
        """Kinds of originals, by what they were trained on and measured with."""
        return len(self.reference.sets)

    def seeds(self, original: int) -> int:
        """Random choices of each operator on an original."""
        return default_seeds(1) if original < self.design.many else self.design.seeds

    def numbers(self, kind: str) -> range:
        """Originals that have a table of a kind."""
        return range(self.design.ladders if kind == "ladder" else self.design.originals)

    def table(self, kind: str, original: int) -> FaultTable:
        """Faults of one original, found now unless they were found before."""
        path = self.folder / self.name / f"{kind}-{original}-{self._fingerprint(kind, original)}.npz"
        if not path.exists():
            KINDS[kind](self.search, self.design, self.seeds(original), original).save(path)
        return FaultTable.load(path)

    def all(self, kind: str) -> FaultTable:
        """Faults of all originals."""
        if kind not in self._tables:
            if kind == "assess" and self.design.from_ladders:
                ladder = self.all("ladder")
                self._tables[kind] = ladder.of(Ladder(ladder).tried(ladder.cost))
            else:
                self._tables[kind] = joined(self.table(kind, original) for original in self.numbers(kind)).rescaled()
        return self._tables[kind]

    @cached_property
    def expected(self) -> dict[str, Half]:
        """Expected changes of the faults of all ladders on the reference set, as if it had no labels."""
        parts = []
        for original in self.numbers("ladder"):
            path = self.folder / self.name / f"expected-{original}-{self._fingerprint('ladder', original)}.npz"
            ladder, split = self.table("ladder", original), self.reference.split(original)
            parts.append(kept(path, self.runner, ladder, original, split))
        return {what: np.concatenate([part[what] for part in parts]) for what in UNLABELED}

    @cached_property
    def _fingerprints(self) -> list[str]:
        return self.subject.fingerprints(self.design.originals, seed=self.settings.seed)

    def _fingerprint(self, kind: str, original: int) -> str:
        """Of what decides a table, apart from code."""
        measured = (*self.reference.sets.values(), *self.reference.trained.values())
        sets = [data.fingerprint() for data in (*measured, self.subject.test)]
        chosen = {"assess": [self.design.operators, self.seeds(original)], "ladder": LADDER_OPERATORS}.get(kind)
        return hash_of([kind, self._fingerprints[original], sets, chosen, self.settings.seed])[:16]

    def draw(self, *purpose: object) -> np.random.Generator:
        """Random numbers for a purpose."""
        return generator_for(self.settings.seed, "notice study", self.name, *map(str, purpose))

    @property
    def universe(self) -> int:
        """Inputs from which test sets are drawn."""
        return len(self.subject.test)

    @property
    def size(self) -> int:
        """Inputs of a test set."""
        return min(self.design.size, self.universe)

    def test_sets(self, count: int, size: int | None = None) -> list[Ints]:
        """Test sets, drawn at random; one if a test set is all there is."""
        size = size or self.size
        if size >= self.universe:
            return [np.arange(self.universe)]
        return [np.sort(self.draw("test set", size, n).permutation(self.universe)[:size]) for n in range(count)]

    def describe(self) -> dict[str, Any]:
        """The subject's row."""
        runner, reference = self.runner, self.reference
        numbers = range(len(self.models))
        test = [runner.clean(number, TEST).outcome.metric for number in numbers]
        seen = [runner.clean(n, f"seen {n % (self.subject.folds or 1) + 1}").outcome.metric for n in numbers]
        measured = [runner.clean(number, reference.split(number)).outcome.metric for number in numbers]
        return {
            "subject": self.name,
            "network": type(self.models[0]).__name__,
            "weights": sum(parameter.numel() for parameter in self.models[0].parameters()),
            "train": len(self.subject.training.of(0)),
            "reference": reference.kind,
            "reference_inputs": reference.inputs,
            "test": self.universe,
            "test_size": self.size,
            "originals": len(self.models),
            "seed": self.settings.seed,
            "train_metric": float(np.mean(seen)),
            "reference_metric": float(np.mean(measured)),
            "test_metric": float(np.mean(test)),
            "test_sd": float(np.std(test, ddof=1)) if len(test) > 1 else None,
            "training_seconds": self.training_seconds,
        }


def subject_rows(folder: Path) -> Rows:
    return Rows(folder / "subjects.csv", SUBJECT_COLUMNS, 1)
