"""RQ2 (Fig. 2): how many instances until a mutant is stable on the training set?"""

from __future__ import annotations

from pathlib import Path

import mutiny
from mutiny.core.errors import NotApplicable
from mutiny.core.records import Verdict
from mutiny.faults import OPERATORS
from mutiny.verbs.assess.muff.judge import MutantJudge
from studies.clock import Clock
from studies.muff.lab import Lab
from studies.muff.paper import OF_LAYERS, WITH_RATIO
from studies.store import Rows

NAME = "rq2"
RATIOS = ("0.01", "0.2", "0.6", "1.0")
COLUMNS = (
    "subject operator ratio status reason instances rse metric_mean basis evaluated possible seconds cpu_seconds"
).split()
STABILITY_ONLY = mutiny.KillRule(beta=1e12)
"""No finite effect is this large, so inputs are evaluated until stability is clear and not also the kill."""


def rows(folder: Path) -> Rows:
    return Rows(folder / "rq2.csv", COLUMNS, 3)


def units() -> list[tuple[str, ...]]:
    """(operator, ratio)."""
    return [(code, ratio) for code in WITH_RATIO for ratio in RATIOS] + [(code, "") for code in OF_LAYERS]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Judges one mutant."""
    code, ratio = unit
    operator = OPERATORS[code](search="ratio") if code == "GF" else OPERATORS[code]()
    row = {"subject": lab.name, "operator": code, "ratio": ratio}
    clock, rule = Clock(), STABILITY_ONLY.resolve(len(lab.models))
    judge = MutantJudge(lab.runner, operator, code, rule, lab.settings.search, lab.settings.screening)
    try:
        record = judge(float(ratio) if ratio else None, "train").record
    except NotApplicable as error:
        rows(folder).put([row | {"status": "not applicable", "reason": str(error), **clock.lap()}])
        return True
    found = {
        "status": "unstable" if record.verdict is Verdict.UNSTABLE else "stable",
        "reason": record.reason,
        "instances": record.instances,
        "rse": record.rse,
        "metric_mean": record.metric_mean,
        "basis": record.basis.value,
        "evaluated": record.evaluated,
        "possible": record.instances * len(lab.subject.train),
    }
    rows(folder).put([row | found | clock.lap()])
    return True
