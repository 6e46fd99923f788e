"""Sensitivity of regression subjects if the weak set is what MUFF's wording says: low losses removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mutiny
from mutiny.core.records import Verdict
from mutiny.faults.parsing import as_operators
from mutiny.verbs.assess.muff.judge import MutantJudge
from mutiny.verbs.assess.muff.score import interval_score, sensitivity
from mutiny.verbs.assess.muff.search import binary_search
from studies.clock import Clock
from studies.muff import rq3
from studies.muff.lab import Lab
from studies.muff.paper import MUFF, WITH_RATIO
from studies.store import Rows, number

NAME, SPLIT = "weak", "worded"
SUBJECTS = ("eyes", "roads")
WORDED = mutiny.WeakSet(regression="low-loss")
COLUMNS = "subject operator status weakest_weak score_test score_weak sensitivity seconds cpu_seconds".split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "weak.csv", COLUMNS, 2)


def units() -> list[tuple[str, ...]]:
    """(operator,) of those that have a strength."""
    return [(code,) for code in (*MUFF, *WITH_RATIO)]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Searches the operator on the other weak set alone; train's and test's searches are RQ3's."""
    (code,) = unit
    known, clock = rq3.rows(folder).get(lab.name, code), Clock()
    if known is None:
        return False
    row: dict[str, Any] = {"subject": lab.name, "operator": code, "status": known["status"]}
    train, test = number(known, "weakest_train"), number(known, "weakest_test")
    if known["status"] != "scored":
        rows(folder).put([row])
        return True
    runner, (operator,) = lab.prepared, as_operators(code)
    if SPLIT not in runner.splits:
        passes = [runner.clean(original, "test") for original in range(len(lab.models))]
        runner.add_split(SPLIT, lab.subject.test.subset(WORDED.choose(passes)))
    judge = MutantJudge(runner, operator, code, lab.rule, lab.settings.search, lab.settings.screening)
    bounds = lab.settings.search.bounds(operator.bounds)
    trace = binary_search(lambda strength: judge(strength, SPLIT).record.verdict, bounds, lab.settings.search)
    killed = any(judged.record.verdict is Verdict.KILLED for judged in judge.seen(SPLIT).values())
    weakest = trace.archive[-1] if trace.archive else None
    strong, weak = (interval_score(strength, train, bounds[1]) for strength in (test, weakest))
    value, _ = sensitivity(strong, weak, killed)
    found = {"weakest_weak": weakest, "score_test": strong, "score_weak": weak, "sensitivity": value}
    rows(folder).put([row | found | clock.lap()])
    return True
