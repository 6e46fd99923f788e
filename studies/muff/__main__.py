"""``python -m studies.muff``; what it does stands at the top of the package."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType

import torch

import mutiny
import studies.muff
from mutiny.errors import BadInput, MutinyError
from mutiny.reports.json import write_json
from studies.muff import page, ratio, rq1, rq2, rq3
from studies.muff.lab import QUICK, Lab, Settings, run_rows, smaller, subject_rows, surroundings, told
from studies.subjects import SUBJECTS

PARTS: dict[str, ModuleType] = {part.NAME: part for part in (rq3, rq1, rq2, ratio)}
ORDER = ("speakers", "eyes", "roads", "mnist", "fashion-mnist")
FIRST = 3
"""So many operators of RQ3 come first, on all subjects."""

Make = Callable[[Path | None], mutiny.Subject]
Unit = tuple[ModuleType, str, tuple[str, ...]]


def plan(parts: Sequence[str], subjects: Sequence[str]) -> Iterator[Unit]:
    """Units of work, the cheap and telling ones first."""
    searches, others = rq3.units(), [PARTS[name] for name in ("rq1", "rq2", "ratio")]
    phases = [(rq3, searches[:FIRST]), (rq3, searches[FIRST:]), *((part, part.units()) for part in others)]
    for part, units in phases:
        if part.NAME in parts:
            yield from ((part, subject, unit) for subject in subjects for unit in units)


def work(units: Sequence[Unit], makers: Mapping[str, Make], settings: Settings, folder: Path, data: Path | None) -> int:
    """Does what is not done yet; returns how many units failed."""
    labs: dict[str, Lab] = {}
    failed: set[str] = set()
    failures = 0

    def lab_of(name: str) -> Lab:
        if name not in labs:
            subject = makers[name](data)
            labs[name] = Lab(smaller(subject) if settings.quick else subject, settings)
        if (name,) not in subject_rows(folder):
            with told(f"{name}: originals and clean passes"):
                subject_rows(folder).put([labs[name].describe()])
        return labs[name]

    for part, name, unit in units:
        if (name, *unit) in part.rows(folder) or name in failed:
            continue
        try:
            lab = lab_of(name)
        except MutinyError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed.add(name)
            failures += 1
            continue
        try:
            with told(f"{part.NAME} {name} {' '.join(unit)}"):
                if not part.run(lab, folder, unit):
                    print("needs a row of rq3 that is not there;", end=" ")
        except MutinyError as error:
            print(f"{part.NAME} {name} {' '.join(unit)}: {error}", file=sys.stderr)
            failures += 1
    return failures


def same_settings(folder: Path, settings: Settings) -> None:
    """Refuses to mix numbers that cannot be compared."""
    path, wanted = folder / "settings.json", asdict(settings)
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_json(path, wanted)
    elif json.loads(path.read_text(encoding="utf-8")) != wanted:
        raise BadInput("out", folder, f"results made with {wanted}", "Give another --out for other settings.")


def chosen(text: str | None, known: Sequence[str], option: str) -> list[str]:
    """Names from a list with commas, in the order of ``known``; all if nothing is given."""
    names = text.split(",") if text else list(known)
    wrong = [name for name in names if name not in known]
    if wrong:
        raise BadInput(option, wrong[0], f"some of {', '.join(known)}")
    return [name for name in known if name in names]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="studies.muff", description=studies.muff.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="three originals, little data: does everything run?")
    parser.add_argument("--data", type=Path, default=os.environ.get("MUTINY_DATA"), help="holds the MNIST folders")
    parser.add_argument("--out", type=Path, help="docs/studies, with --quick docs/studies/quick")
    parser.add_argument("--subjects", help=f"some of {','.join(ORDER)}")
    parser.add_argument("--parts", help=f"some of {','.join(PARTS)},page; the page is always written")
    parser.add_argument("--originals", type=int, help="trained networks per subject; 20, with --quick 3")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = QUICK if given.quick else Settings()
    settings = replace(settings, originals=given.originals) if given.originals else settings
    out = given.out or Path("docs/studies") / ("quick" if given.quick else "")
    folder = out / "muff"
    try:
        subjects = chosen(given.subjects, ORDER, "subjects")
        parts = chosen(given.parts, [*PARTS, "page"], "parts")
        same_settings(folder, settings)
    except BadInput as error:
        print(error, file=sys.stderr)
        return 2
    units = [unit for unit in plan(parts, subjects) if (unit[1], *unit[2]) not in unit[0].rows(folder)]
    print(f"{len(units)} units to do", flush=True)
    failures = 0
    if units:
        named = f"--subjects {','.join(subjects)} --parts {','.join(parts)}"
        run_rows(folder).put([surroundings(("--quick " if settings.quick else "") + named)])
        failures = work(units, SUBJECTS, settings, folder, given.data)
    page.write(out)
    print(f"wrote {out / 'muff.md'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
