"""One subject with its trained originals, sets of inputs, and what trains faulty programs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import mutiny
from mutiny.faults.evaluation import Runner, Screening
from mutiny.faults.training.base import Program
from mutiny.subjects.training.originals import default_folder
from mutiny.verbs.assess.muff.options import Savings
from mutiny.verbs.assess.muff.trainer import Trainer
from studies.muff import lab as muff
from studies.store import Rows

SETS = ("train", "test", "weak")
SUBJECT_COLUMNS = (*muff.SUBJECT_COLUMNS, "learning_rate", *(f"{split}_metrics" for split in SETS))
SAVINGS = Savings(first_group=None)
"""All instances are trained, because Table VII asks for the standard error of as many as there are originals."""


@dataclass(frozen=True)
class Settings:
    """What decides the numbers, apart from the subjects.

    Attributes:
        originals: trained networks per subject, and instances of each faulty program.
        seed: of training and of all mutants.
        quick: little data, few originals, a coarse search: to see whether everything runs.
        instances: of a mutant whose activation spectra are averaged, at most; the paper averages all.
        compared: mutants of DeepCrime whose spectra are compared, about.
    """

    originals: int = 20
    seed: int = 0
    quick: bool = False
    instances: int = 10
    compared: int = 40

    @property
    def search(self) -> mutiny.Search:
        """How mutants of trained networks are searched: as in the paper, unless quick."""
        return mutiny.Search(precision=0.25, k_max=3) if self.quick else mutiny.Search()

    @property
    def screening(self) -> Screening:
        """When a verdict on a mutant of trained networks is sure enough to leave out the remaining inputs."""
        return Screening()


QUICK = Settings(originals=2, quick=True, instances=2, compared=20)


class Lab(muff.Lab):
    """What all parts share about one subject: as in the study of MUFF, with a trainer.

    Args:
        subject: what is tested.
        settings: number of originals, seed, size of samples.
    """

    def __init__(self, subject: mutiny.Subject, settings: Settings) -> None:
        super().__init__(subject, settings)  # type: ignore[arg-type]
        self._trainers: dict[Path, Trainer] = {}

    @cached_property
    def runner(self) -> Runner:
        """Runs mutants on the subject's own sets only: each faulty network is evaluated on every set there is."""
        subject = self.subject
        return Runner(self.models, subject.task, subject.splits(), subject.forward, self.settings.seed)

    def trainer(self, folder: Path) -> Trainer | None:
        """What trains faulty programs, for the numbers of one folder; ``None`` if there is no recipe."""
        subject = self.subject
        if subject.recipe is None:
            return None
        if folder not in self._trainers:
            program = Program(subject.recipe, subject.train, subject.task, subject.forward)
            self._trainers[folder] = Trainer(program, self.prepared, networks(folder), SAVINGS)
        return self._trainers[folder]

    def describe(self) -> dict[str, Any]:
        """The subject's row, with the metric of each original."""
        metrics = {split: [one.metric for one in self.prepared.clean_outcomes(split)] for split in SETS}
        return {
            **super().describe(),
            "learning_rate": self.subject.recipe.learning_rate if self.subject.recipe else None,
            **{f"{split}_metrics": in_text(values) for split, values in metrics.items()},
        }


def networks(folder: Path) -> Path:
    """Where the faulty networks are that the numbers of a folder come from."""
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    return default_folder().with_name("deepcrime") / name


def in_text(metrics: list[float]) -> str:
    """Metrics for a cell.

    >>> in_text([0.25, 1 / 3])
    '0.25 0.3333333333'
    """
    return " ".join(f"{value:.10g}" for value in metrics)


def subject_rows(folder: Path) -> Rows:
    return Rows(folder / "subjects.csv", SUBJECT_COLUMNS, 1)
