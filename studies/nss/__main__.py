"""``python -m studies.nss``; what it does stands at the top of the package."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType

import mutiny
import studies.nss
from studies.command import Study, Unit
from studies.nss import ablation, detection, page, partitions, retraining
from studies.nss.lab import QUICK, Lab, Settings, smaller, subject_rows
from studies.nss.subjects import LENETS, SUBJECTS


def plan(parts: Sequence[str], subjects: Sequence[str], settings: Settings) -> list[Unit]:
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
        (retraining, retraining.units, large),
    ]
    return [
        (part, name, unit)
        for part, units, names in phases
        if part.NAME in parts
        for name in names
        for unit in units(name, settings)
    ]


def lab(subject: mutiny.Subject, settings: Settings) -> Lab:
    """The subject, made smaller for a quick run."""
    return Lab(smaller(subject) if settings.quick else subject, settings)


STUDY = Study(
    name="nss",
    about=studies.nss.__doc__ or "",
    parts={part.NAME: part for part in (detection, partitions, ablation, retraining)},
    subjects=SUBJECTS,
    settings=Settings(),
    quick=QUICK,
    own=("repeats", "each with its own pool, and original where there are several"),
    plan=plan,
    lab=lab,
    rows=subject_rows,
    write=page.write,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
