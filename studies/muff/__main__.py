"""``python -m studies.muff``; what it does stands at the top of the package."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import mutiny
import studies.muff
from studies.command import Study, Unit
from studies.muff import page, ratio, rq1, rq2, rq3, weak
from studies.muff.lab import QUICK, Lab, Settings, smaller, subject_rows
from studies.subjects import SUBJECTS

ORDER = ("speakers", "eyes", "roads", "mnist", "fashion-mnist")
FIRST = 3
"""So many operators of RQ3 come first, on all subjects."""


def plan(parts: Sequence[str], subjects: Sequence[str], settings: Settings) -> list[Unit]:
    """Units of work, the cheap and telling ones first."""
    del settings
    searches = rq3.units()
    phases = [(rq3, searches[:FIRST]), (rq3, searches[FIRST:]), *((part, part.units()) for part in (rq1, rq2, ratio))]
    found = [
        (part, subject, unit) for part, units in phases if part.NAME in parts for subject in subjects for unit in units
    ]
    regression = [subject for subject in subjects if subject in weak.SUBJECTS and weak.NAME in parts]
    return [*found, *((weak, subject, unit) for subject in regression for unit in weak.units())]


def lab(subject: mutiny.Subject, settings: Settings) -> Lab:
    """The subject, made smaller for a quick run."""
    return Lab(smaller(subject) if settings.quick else subject, settings)


STUDY = Study(
    name="muff",
    about=studies.muff.__doc__ or "",
    parts={part.NAME: part for part in (rq3, rq1, rq2, ratio, weak)},
    subjects={name: SUBJECTS[name] for name in ORDER},
    settings=Settings(),
    quick=QUICK,
    own=("originals", "trained networks per subject"),
    plan=plan,
    lab=lab,
    rows=subject_rows,
    write=page.write,
    keeps=True,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
