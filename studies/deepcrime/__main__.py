"""``python -m studies.deepcrime``; what it does stands at the top of the package."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import mutiny
import studies.deepcrime
from studies.command import Study, Unit
from studies.deepcrime import controls, operators, page, spectra
from studies.deepcrime.lab import QUICK, Lab, Settings, subject_rows
from studies.deepcrime.subjects import SUBJECTS, smaller

PARTS = (operators, spectra, controls)


def plan(parts: Sequence[str], subjects: Sequence[str], settings: Settings) -> list[Unit]:
    """Units of work, one subject after another: what needs no training first, the spectra of its mutants last."""
    del settings
    return [
        (part, subject, unit) for subject in subjects for part in PARTS if part.NAME in parts for unit in part.units()
    ]


def lab(subject: mutiny.Subject, settings: Settings) -> Lab:
    """The subject, made smaller for a quick run."""
    return Lab(smaller(subject) if settings.quick else subject, settings)


STUDY = Study(
    name="deepcrime",
    about=studies.deepcrime.__doc__ or "",
    parts={part.NAME: part for part in PARTS},
    subjects=SUBJECTS,
    settings=Settings(),
    quick=QUICK,
    own=("originals", "trained networks per subject, and instances of each faulty program"),
    plan=plan,
    lab=lab,
    rows=subject_rows,
    write=page.write,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
