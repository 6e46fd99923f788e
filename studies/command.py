"""What all studies do on the command line: units of work, each once, and then the page."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import mutiny
from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.engines.parsing import as_engine
from mutiny.campaigns.engines.serial import Serial
from mutiny.core.errors import BadInput
from studies.store import Rows
from studies.surroundings import run_rows, same_settings, surroundings
from studies.working import Desk, Make, Unit, done, run


@dataclass(frozen=True)
class Study:
    """A study as its package describes it.

    Attributes:
        name: of its folder and page.
        about: what the command's help says.
        parts: modules with ``NAME``, ``rows(folder)`` and ``run(lab, folder, unit)``, which tells whether it could.
        subjects: how each is made, in the order of work.
        settings: what decides the numbers; ``quick`` is one of them.
        quick: the same, to see whether everything runs.
        own: name and help of the setting that has an option of its own, a whole number.
        plan: from parts, subjects and settings to units.
        lab: a subject with settings, prepared; it has ``describe()``.
        rows: of subjects.
        write: the page from the numbers.
        keeps: whether all subjects stay in memory, for a plan that comes back to them.
    """

    name: str
    about: str
    parts: Mapping[str, ModuleType]
    subjects: Mapping[str, Make]
    settings: Any
    quick: Any
    own: tuple[str, str]
    plan: Callable[[Sequence[str], Sequence[str], Any], Sequence[Unit]]
    lab: Callable[[mutiny.Subject, Any], Any]
    rows: Callable[[Path], Rows]
    write: Callable[[Path], None]
    keeps: bool = False

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """The command; returns its exit code."""
        given = self._parser().parse_args(arguments)
        torch.set_num_threads(1)
        settings, own = self.quick if given.quick else self.settings, getattr(given, self.own[0])
        settings = replace(settings, **{self.own[0]: own}) if own else settings
        out = given.out or Path("docs/studies") / ("quick" if given.quick else "")
        folder = out / self.name
        try:
            subjects = chosen(given.subjects, [*self.subjects], "subjects")
            parts = chosen(given.parts, [*self.parts, "page"], "parts")
            engine = as_engine(None, given.workers)
            same_settings(folder, settings)
        except BadInput as error:
            print(error, file=sys.stderr)
            return 2
        units = [unit for unit in self.plan(parts, subjects, settings) if not done(unit, folder)]
        print(f"{len(units)} units to do", flush=True)
        failures = 0
        if units:
            named = f"--subjects {','.join(subjects)} --parts {','.join(parts)}"
            run_rows(folder).put([surroundings(("--quick " if settings.quick else "") + named)])
            failures = self.work(units, self.subjects, settings, folder, given.data, engine)
        self.write(out)
        print(f"wrote {out / self.name}.md")
        return 1 if failures else 0

    def work(
        self, units: Sequence[Unit], makers: Mapping[str, Make], settings: Any, folder: Path, data: Path | None,
        engine: Engine | None = None,
    ) -> int:  # fmt: skip
        """Does what is not done yet; returns how many units failed."""
        desk = Desk(self.parts, makers, self.lab, self.rows, self.keeps, settings, folder, data)
        with engine or Serial() as engine:
            return run(desk, units, engine)

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            prog=f"studies.{self.name}", description=self.about, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("--quick", action="store_true", help="little data, few repeats: does everything run?")
        parser.add_argument("--data", type=Path, default=os.environ.get("MUTINY_DATA"), help="folder of the data sets")
        parser.add_argument("--out", type=Path, help="docs/studies, with --quick docs/studies/quick")
        parser.add_argument("--workers", type=int, help="units that are done at once, each in a process of its own; 1")
        parser.add_argument("--subjects", help=f"some of {','.join(self.subjects)}")
        parser.add_argument("--parts", help=f"some of {','.join(self.parts)},page; the page is always written")
        name, meaning = self.own
        usual, quick = (getattr(settings, name) for settings in (self.settings, self.quick))
        parser.add_argument(f"--{name}", type=int, help=f"{meaning}; {usual}, with --quick {quick}")
        return parser


def chosen(text: str | None, known: Sequence[str], option: str) -> list[str]:
    """Names from a list with commas, in the order of ``known``; all if nothing is given.

    >>> chosen("roads,eyes", ["eyes", "roads", "mnist"], "subjects")
    ['eyes', 'roads']
    """
    names = text.split(",") if text else list(known)
    wrong = [name for name in names if name not in known]
    if wrong:
        raise BadInput(option, wrong[0], f"some of {', '.join(known)}")
    return [name for name in known if name in names]
