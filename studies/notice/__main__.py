"""``python -m studies.notice``; what it does stands at the top of the package."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import mutiny
import studies.notice
from studies.command import Study
from studies.notice import alarms, coverage, faults, growth, muff, ordering, page, planner, reference, spread
from studies.notice.lab import QUICK, QUICK_DESIGN, Lab, Settings, smaller, subject_rows
from studies.notice.subjects import DESIGNS, SUBJECTS
from studies.working import Unit

PARTS = (faults, reference, spread, coverage, growth, ordering, alarms, planner, muff)


def plan(parts: Sequence[str], subjects: Sequence[str], settings: Settings) -> list[Unit]:
    """Units of work: first the tables of faults, then the questions that they answer, last MUFF's score."""
    found: list[Unit] = []
    for subject in subjects:
        design = QUICK_DESIGN if settings.quick else DESIGNS[subject]
        searched = 0 if design.from_ladders else design.originals
        numbers = {"ladder": design.ladders, "assess": searched, "harmless": searched}
        tables = [(kind, str(original)) for kind, count in numbers.items() for original in range(count)]
        units: dict[str, list[tuple[str, ...]]] = {
            faults.NAME: [*tables],
            reference.NAME: [(what,) for what in reference.KINDS] if design.ladders else [],
            spread.NAME: [(f"{n}",) for n in spread.NUMBERS if (design.many if n == 1 else design.originals) >= 2 * n],
            coverage.NAME: [
                (f"{n}", kind)
                for kind in (coverage.THIS, coverage.OTHER)
                for n in coverage.NUMBERS
                if 2 * n <= design.originals
            ],
            growth.NAME: [(f"{order + 1}",) for order in range(growth.ORDERS)],
            ordering.NAME: ordering.units(design.originals),
            alarms.NAME: alarms.units(bool(searched)),
            planner.NAME: planner.units() if design.originals > 3 else [],
            muff.NAME: muff.units() if design.muff else [],
        }
        found += [(part, subject, unit) for part in PARTS if part.NAME in parts for unit in units[part.NAME]]
    return found


def lab(subject: mutiny.Subject, settings: Settings) -> Lab:
    """The subject, made smaller for a quick run."""
    return Lab(smaller(subject) if settings.quick else subject, settings)


STUDY = Study(
    name="notice",
    about=studies.notice.__doc__ or "",
    parts={part.NAME: part for part in PARTS},
    subjects=SUBJECTS,
    settings=Settings(),
    quick=QUICK,
    own=("draws", "random draws of originals and test sets for each question"),
    plan=plan,
    lab=lab,
    rows=subject_rows,
    write=page.write,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
