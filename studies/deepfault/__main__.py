"""``python -m studies.deepfault``; what it does stands at the top of the package."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import mutiny
import studies.deepfault
from studies.command import Study, Unit
from studies.deepfault import examples, injected, page, repairs, suspects, synthesis
from studies.deepfault.lab import QUICK, Lab, Settings, smaller, subject_rows
from studies.deepfault.subjects import SUBJECTS

PARTS = (suspects, synthesis, examples, injected, repairs)
"""Each has ``units(subject, settings)``; they run in this order, subject by subject."""


def plan(parts: Sequence[str], subjects: Sequence[str], settings: Settings) -> list[Unit]:
    """Units of work, the small networks first."""
    return [
        (part, name, unit)
        for name in subjects
        for part in PARTS
        if part.NAME in parts
        for unit in part.units(name, settings)
    ]


def lab(subject: mutiny.Subject, settings: Settings) -> Lab:
    """The subject, made smaller for a quick run."""
    return Lab(smaller(subject) if settings.quick else subject, settings)


STUDY = Study(
    name="deepfault",
    about=studies.deepfault.__doc__ or "",
    parts={part.NAME: part for part in PARTS},
    subjects=SUBJECTS,
    settings=Settings(),
    quick=QUICK,
    own=("networks", "trained networks of each MNIST architecture; one of each for CIFAR-10"),
    plan=plan,
    lab=lab,
    rows=subject_rows,
    write=page.write,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
