"""Tables 1, 7, 8, 9 and Fig. 6: what each method finds in a pool, how early, how many kinds, and how long it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import NotApplicable
from mutiny.verbs.select import metrics
from mutiny.verbs.select.parsing import as_methods
from studies.clock import Clock
from studies.nss.lab import Lab, Settings, classes
from studies.nss.methods import FIRST, LAST, MUTANTS
from studies.nss.subjects import LENETS
from studies.store import Rows

NAME = "detection"
PERCENT = (5, 10, 15, 20)
COLUMNS = (
    "subject method repeat status reason inputs faults types fdr_5 fdr_10 fdr_15 fdr_20 rauc_possible rauc_present "
    "rauc_ideal apfd_input apfd_type apfd_authors max_apfd max_apfd_type cold seconds cpu_seconds"
).split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "detection.csv", COLUMNS, 3)


def first(_subject: str, settings: Settings) -> list[tuple[str, ...]]:
    """(method, repeat) of the telling methods."""
    return [(method, str(repeat)) for repeat in range(settings.repeats) for method in FIRST]


def rest(subject: str, settings: Settings) -> list[tuple[str, ...]]:
    """The other methods. On a network that is not a LeNet, a hundred mutants run only once, and last."""
    usual = LAST if subject in LENETS else [method for method in LAST if method not in MUTANTS]
    once = [] if subject in LENETS else [(method, "0") for method in MUTANTS]
    return [*((method, str(repeat)) for repeat in range(settings.repeats) for method in usual), *once]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Writes the unit's row. In the first repeat every method starts with nothing computed, so that seconds compare."""
    method, repeat = as_methods(unit[0])[0], int(unit[1])
    trial = lab.trial(repeat)
    row: dict[str, Any] = {"subject": lab.name, "method": unit[0], "repeat": repeat, "cold": int(repeat == 0)}
    row |= {"inputs": len(trial.pool), "faults": int(trial.wrong.sum())}
    evidence = trial.shared if repeat else trial.evidence()
    clock = Clock()
    try:
        order, _ = method.rank(evidence)
    except NotApplicable as reason:
        rows(folder).put([row | {"status": "not applicable", "reason": str(reason), **clock.lap()}])
        return True
    seconds = clock.lap()
    found = measures(order, trial.wrong, trial.types, classes(lab.subject))
    rows(folder).put([row | {"status": "done", **found, **seconds}])
    return True


def measures(
    order: npt.NDArray[np.int64], wrong: npt.NDArray[np.bool_], types: npt.NDArray[np.int64], of: int
) -> dict[str, Any]:
    """Every measure of an order as columns; ``of`` is the number of classes.

    >>> wrong = np.arange(100) < 10
    >>> found = measures(np.arange(100), wrong, np.where(wrong, 1, -1), 2)
    >>> found["fdr_5"], found["fdr_20"], found["apfd_input"] == found["max_apfd"], found["rauc_possible"]
    (1.0, 0.5, True, 0.5)
    """
    faults, n = int(wrong.sum()), len(wrong)
    areas = {
        f"rauc_{kind}": metrics.rauc(order, types, normalize=kind, classes=of)
        for kind in ("possible", "present", "ideal")
    }
    best = metrics.ideal_type_order(types)
    return {
        "types": len(np.unique(types[types >= 0])),
        **fdr_columns(order, wrong),
        **{name: area.value if area else None for name, area in areas.items()},
        "apfd_input": metrics.apfd(order, wrong),
        "apfd_type": metrics.apfd(order, types, per="type"),
        "apfd_authors": metrics.apfd(order, types, per="type", variant="authors-code"),
        "max_apfd": metrics.max_apfd(n, faults) if faults else None,
        "max_apfd_type": metrics.apfd(best, types, per="type"),
    }


def fdr_columns(order: npt.NDArray[np.int64], wrong: npt.NDArray[np.bool_]) -> dict[str, float]:
    """FDR at the paper's four budgets."""
    return {f"fdr_{p}": metrics.fdr(order, wrong, max(1, round(p * len(wrong) / 100))) for p in PERCENT}
