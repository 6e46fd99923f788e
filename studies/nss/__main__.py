"""``python -m studies.nss``; what it does stands at the top of the package."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import torch

import studies.nss
from mutiny.errors import BadInput, MutinyError
from studies.muff.__main__ import chosen, same_settings
from studies.muff.lab import run_rows, surroundings, told
from studies.nss import ablation, detection, page, partitions, retraining
from studies.nss.lab import QUICK, Lab, Settings, smaller, subject_rows
from studies.nss.subjects import LENETS, ORDER, SUBJECTS, Make

PARTS: dict[str, ModuleType] = {part.NAME: part for part in (detection, partitions, ablation, retraining)}
Unit = tuple[ModuleType, str, tuple[str, ...]]


def plan(parts: Sequence[str], subjects: Sequence[str], settings: Settings) -> Iterator[Unit]:
    """Units of work, the cheap and telling ones first: Table 7 on the LeNets, the large network last."""
    small, large = [s for s in subjects if s in LENETS], [s for s in subjects if s not in LENETS]
    phases: list[tuple[ModuleType, Callable[[str, Settings], list[tuple[str, ...]]], list[str]]] = [
        (detection, detection.first, small),
        (partitions, partitions.units, small),
        (detection, detection.rest, small),
        (ablation, ablation.units, small),
        (detection, detection.first, large),
        (partitions, partitions.units, large),
        (retraining, retraining.units, small),
        (ablation, ablation.units, large),
        (detection, detection.rest, large),
    ]
    for part, units, names in phases:
        if part.NAME in parts:
            yield from ((part, name, unit) for name in names for unit in units(name, settings))


def perform(
    units: Sequence[Unit], makers: Mapping[str, Make], settings: Settings, folder: Path, data: Path | None
) -> int:
    """Does what is not done yet; returns how many units failed."""
    labs: dict[str, Lab] = {}
    failed: set[str] = set()
    failures = 0

    def lab_of(name: str) -> Lab:
        if name not in labs:
            labs.clear()  # one network's pool and features at a time
            subject = makers[name](data)
            labs[name] = Lab(smaller(subject) if settings.quick else subject, settings)
        if (name,) not in subject_rows(folder):
            with told(f"{name}: originals and pools"):
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
                part.run(lab, folder, unit)
        except MutinyError as error:
            print(f"{part.NAME} {name} {' '.join(unit)}: {error}", file=sys.stderr)
            failures += 1
    return failures


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="studies.nss", description=studies.nss.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two repeats, little data: does everything run?")
    parser.add_argument("--data", type=Path, default=os.environ.get("MUTINY_DATA"), help="holds MNIST and CIFAR-10")
    parser.add_argument("--out", type=Path, help="docs/studies, with --quick docs/studies/quick")
    parser.add_argument("--subjects", help=f"some of {','.join(ORDER)}")
    parser.add_argument("--parts", help=f"some of {','.join(PARTS)},page; the page is always written")
    parser.add_argument("--repeats", type=int, help="5, with --quick 2")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = QUICK if given.quick else Settings()
    settings = replace(settings, repeats=given.repeats) if given.repeats else settings
    out = given.out or Path("docs/studies") / ("quick" if given.quick else "")
    folder = out / "nss"
    try:
        subjects = chosen(given.subjects, ORDER, "subjects")
        parts = chosen(given.parts, [*PARTS, "page"], "parts")
        same_settings(folder, settings)
    except BadInput as error:
        print(error, file=sys.stderr)
        return 2
    units = [unit for unit in plan(parts, subjects, settings) if (unit[1], *unit[2]) not in unit[0].rows(folder)]
    print(f"{len(units)} units to do", flush=True)
    failures = 0
    if units:
        named = f"--subjects {','.join(subjects)} --parts {','.join(parts)}"
        run_rows(folder).put([surroundings(("--quick " if settings.quick else "") + named)])
        failures = perform(units, SUBJECTS, settings, folder, given.data)
    page.write(out)
    print(f"wrote {out / 'nss.md'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
