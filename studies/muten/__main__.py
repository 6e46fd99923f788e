"""``python -m studies.muten``; what it does stands at the top of the package."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import mutiny
import studies.muten
from studies.command import Study, Unit
from studies.muten import choice, defenses, epsilon, number, page, saturation
from studies.muten.lab import QUICK, Lab, Settings, smaller, subject_rows
from studies.muten.subjects import TARGETS

PARTS = (epsilon, number, choice, saturation, defenses)
"""Each has ``units(target, settings)``; they run in this order, subject by subject. All write to one file, so that
what two figures share is done once."""


def plan(parts: Sequence[str], subjects: Sequence[str], settings: Settings) -> list[Unit]:
    """Units of work, the small network first, and Fig. 2 before the rest."""
    return [
        (part, name, unit)
        for name in subjects
        for part in PARTS
        if part.NAME in parts
        for unit in part.units(TARGETS[name], settings)
    ]


def lab(subject: mutiny.Subject, settings: Settings) -> Lab:
    """The subject, made smaller for a quick run."""
    return Lab(smaller(subject) if settings.quick else subject, settings)


STUDY = Study(
    name="muten",
    about=studies.muten.__doc__ or "",
    parts={part.NAME: part for part in PARTS},
    subjects={name: target.make for name, target in TARGETS.items()},
    settings=Settings(),
    quick=QUICK,
    own=("rounds", "each with images and mutants of its own; at most two for CIFAR-10"),
    plan=plan,
    lab=lab,
    rows=subject_rows,
    write=page.write,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
