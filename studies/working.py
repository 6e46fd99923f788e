"""Units of a study through one of mutiny's engines: here, or several at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import mutiny
from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.jobs import Job
from studies.clock import told
from studies.store import Rows

Make = Callable[[Path | None], mutiny.Subject]
"""A subject from the folder of data."""
Unit = tuple[ModuleType, str, tuple[str, ...]]
"""A part of the study, a subject, and what of that part."""
SUBJECT, UNIT = "subject", "unit"


def done(unit: Unit, folder: Path) -> bool:
    """Whether a unit's number is there."""
    part, subject, key = unit
    return (subject, *key) in part.rows(folder)


@dataclass
class Desk:
    """Does units of work; a worker has one, with the subjects it has prepared.

    Attributes:
        parts: modules with ``NAME``, ``rows(folder)`` and ``run(lab, folder, unit)``, by name.
        makers: of subjects.
        lab: a subject with settings, prepared; it has ``describe()``.
        rows: of subjects.
        keeps: whether all subjects stay in memory.
        settings: what decides the numbers.
        folder: of the numbers.
        data: folder of the data sets.
    """

    parts: Mapping[str, ModuleType]
    makers: Mapping[str, Make]
    lab: Callable[[mutiny.Subject, Any], Any]
    rows: Callable[[Path], Rows]
    keeps: bool
    settings: Any
    folder: Path
    data: Path | None
    labs: dict[str, Any] = field(default_factory=dict)

    def __call__(self, task: Job) -> bool:
        """Does a task; False if it needs a number that is not there yet."""
        torch.set_num_threads(1)
        if task.kind == SUBJECT:
            (name,) = task.arguments
            with told(str(task)):
                self.rows(self.folder).put([self._lab_of(name).describe()])
            return True
        part, name, *unit = task.arguments
        lab = self._lab_of(name)
        with told(str(task)):
            could = bool(self.parts[part].run(lab, self.folder, tuple(unit)))
            if not could:
                print("needs a number that is not there;", end=" ")
        return could

    def _lab_of(self, name: str) -> Any:
        if name not in self.labs:
            if not self.keeps:
                self.labs.clear()
            self.labs[name] = self.lab(self.makers[name](self.data), self.settings)
        return self.labs[name]


def run(desk: Desk, units: Sequence[Unit], engine: Engine) -> int:
    """Does what is not done yet, each subject's description first; returns how many units or subjects failed.

    A unit that needs the number of another one waits until all others are done.
    """
    left = [unit for unit in units if not done(unit, desk.folder)]
    known = desk.rows(desk.folder)
    missing = [name for name in dict.fromkeys(name for _, name, _ in left) if (name,) not in known]
    broken = {task.arguments[0] for task in _failures(desk, engine, [_of_subject(name) for name in missing])}
    failures = len(broken)
    while left:
        tasks = [_of_unit(part, name, unit) for part, name, unit in left if name not in broken]
        failures += sum(1 for _ in _failures(desk, engine, tasks))
        before, left = left, [unit for unit in left if not done(unit, desk.folder)]
        if len(left) == len(before) or failures:
            break
    return failures


def _failures(desk: Desk, engine: Engine, tasks: Sequence[Job]) -> Iterator[Job]:
    """Runs tasks, says why some failed, the same reason once, and gives these."""
    said: set[str] = set()
    for result in engine.run(desk, tasks):
        if result.failure is not None:
            why = str(result.error or result.failure)
            if why not in said:
                print(f"{result.job}: {why}", file=sys.stderr)
            said.add(why)
            yield result.job


def _of_subject(name: str) -> Job:
    return Job(SUBJECT, (name,), name=f"{name}: originals and data")


def _of_unit(part: ModuleType, name: str, unit: tuple[str, ...]) -> Job:
    return Job(UNIT, (part.NAME, name, *unit), name=" ".join((part.NAME, name, *unit)))
