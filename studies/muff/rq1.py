"""RQ1 (Tables IV, V, IX): on how many training inputs do the instances of a mutant disagree?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mutiny.core.errors import NotApplicable
from mutiny.core.stats import wilson
from mutiny.faults import Operator
from mutiny.faults.evaluation import Outcome
from mutiny.faults.parsing import as_operators
from studies.clock import Clock
from studies.muff import rq3
from studies.muff.lab import Lab
from studies.muff.paper import DEEPMUTATION, MUFF
from studies.store import Rows, number

NAME, ONE, EACH = "rq1", "one", "each"
ORIGINALS, WEAKEST = "none", "weakest killed"
COLUMNS = (
    "subject operator setting scenario status reason strength instances inputs of disagreement low high metric_mean "
    "seconds cpu_seconds"
).split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "rq1.csv", COLUMNS, 4)


def units() -> list[tuple[str, ...]]:
    """(operator, setting, scenario): 20 instances of one original, or one of each."""
    settings = [(code, "default") for code in DEEPMUTATION]
    settings += [(code, setting) for code in MUFF for setting in ("factor=0.5", WEAKEST)]
    return [(ORIGINALS, "", EACH), *((*setting, scenario) for setting in settings for scenario in (ONE, EACH))]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Writes the unit's row; not, if it needs a row of RQ3 that is not there."""
    code, setting, scenario = unit
    row: dict[str, Any] = dict(zip(COLUMNS, (lab.name, *unit), strict=False))
    operator = None if code == ORIGINALS else as_operators(code)[0]
    if operator is not None and setting == WEAKEST:
        searched = rq3.rows(folder).get(lab.name, code)
        if searched is None:
            return False
        strength = number(searched, "weakest_train")
        if strength is None:
            rows(folder).put([row | {"status": "never killed", "reason": searched["reason"]}])
            return True
        operator = operator.at(strength)
    rows(folder).put([row | _measure(lab, operator, scenario)])
    return True


def _measure(lab: Lab, operator: Operator | None, scenario: str) -> dict[str, Any]:
    clock, count = Clock(), len(lab.models)
    if operator is None:
        outcomes = lab.runner.clean_outcomes("sample")
    else:
        pairs = [(0, number) for number in range(count)] if scenario == ONE else [(i, 0) for i in range(count)]
        try:
            outcomes = [lab.runner.outcome(operator, *pair, "sample") for pair in pairs]
        except NotApplicable as error:
            return {"status": "not applicable", "reason": str(error), **clock.lap()}
    strength = getattr(operator, operator.strength) if operator is not None and operator.strength else None
    return {"status": "done", "strength": strength, **disagreement(outcomes, len(lab.subject.train)), **clock.lap()}


def disagreement(outcomes: Sequence[Outcome], of: int) -> dict[str, Any]:
    """The share of inputs on which instances are neither all right nor all wrong; an interval if they are a sample."""
    correct = np.array([outcome.correct for outcome in outcomes])
    inputs = correct.shape[1]
    split = int((correct.any(axis=0) & ~correct.all(axis=0)).sum())
    interval = wilson(split, inputs) if inputs < of else None
    return {
        "instances": len(outcomes),
        "inputs": inputs,
        "of": of,
        "disagreement": split / inputs,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "metric_mean": float(np.mean([outcome.metric for outcome in outcomes])),
    }
