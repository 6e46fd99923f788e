"""RQ3 (Tables VI, VII, VIII): Algorithm 1 for each operator; sensitivity, stability, time."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mutiny.core.records import MutantRecord, Status, Verdict
from mutiny.faults.parsing import as_operators, describe
from mutiny.verbs.assess.muff.judge import MutantJudge
from mutiny.verbs.assess.muff.operator_run import OperatorRun
from mutiny.verbs.assess.muff.score import score_interval
from studies.clock import Clock
from studies.muff.lab import Lab
from studies.muff.paper import OPERATORS
from studies.store import Rows

NAME = "rq3"
COLUMNS = (
    "subject operator status reason strength weakest_train weakest_test weakest_weak score score_low score_high "
    "set_score sensitivity sensitivity_reason killed_train survived_train unstable_train mean_instances hidden probes "
    "evaluated possible seconds_train seconds cpu_seconds notes"
).split()
MUTANT_COLUMNS = (
    "subject operator set strength verdict searched same_as instances rse p_value p_wilcoxon effect_size metric_mean "
    "metric_lowest metric_median triviality basis evaluated reason"
).split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "rq3.csv", COLUMNS, 2)


def mutant_rows(folder: Path) -> Rows:
    """Every mutant that was judged, also those of the ratio part."""
    return Rows(folder / "mutants.csv", MUTANT_COLUMNS, 2)


def units() -> list[tuple[str, ...]]:
    """(operator,)."""
    return [(code,) for code in OPERATORS]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Searches one operator."""
    row, mutants = search(lab, *unit)
    mutant_rows(folder).put(mutants)
    rows(folder).put([row])  # last: this row says that the unit is done
    return True


class Laps:
    """A progress that adds up the seconds between steps by what they were spent on."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.monotonic()

    def stage(self, title: str, total: int) -> None:
        """Nothing to measure."""

    def step(self, note: str = "", done: int = 1) -> None:
        """Something was done."""
        del done
        now = time.monotonic()
        self.seconds[note] = self.seconds.get(note, 0.0) + now - self._last
        self._last = now


def search(lab: Lab, text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What `mutiny.assess` finds for an operator, as a row, and one row per mutant."""
    runner, (operator,) = lab.prepared, as_operators(text)
    label, clock, laps = describe(operator), Clock(), Laps()
    run = OperatorRun(MutantJudge(runner, operator, label, lab.rule, lab.settings.search, lab.settings.screening))
    record = run.run(laps)
    took, train = clock.lap(), record.sets.get("train")
    scored = [(run.searched(), record.bounds[1] if record.bounds else None)] if record.status is Status.SCORED else []
    interval = score_interval(scored, lab.rule, runner.task.higher_is_better, lab.settings.seed)
    distinct = [mutant for mutant in record.mutants if mutant.same_as is None and mutant.instances]
    row = {
        "subject": lab.name,
        "operator": label,
        "status": record.status.value,
        "reason": record.reason,
        "strength": record.strength,
        **{f"weakest_{split}": found.weakest_killed for split, found in record.sets.items()},
        "score": record.score,
        "score_low": interval.low if interval else None,
        "score_high": interval.high if interval else None,
        "set_score": record.set_score,
        "sensitivity": record.sensitivity,
        "sensitivity_reason": record.sensitivity_reason,
        **({f"{kind}_train": getattr(train, kind) for kind in ("killed", "survived", "unstable")} if train else {}),
        "mean_instances": mean_instances(record.mutants, lab.settings.search.k_max * len(lab.models), len(lab.models)),
        "hidden": record.hidden,
        "probes": sum(s.killed + s.survived + s.unstable for s in record.sets.values()),
        "evaluated": sum(mutant.evaluated for mutant in distinct),
        "possible": sum(mutant.instances * len(runner.splits[mutant.guiding_set]) for mutant in distinct),
        "seconds_train": laps.seconds.get(f"{label} on train"),
        **took,
        "notes": "; ".join(record.notes),
    }
    return row, [_mutant(lab, run, label, mutant) for mutant in record.mutants]


def mean_instances(mutants: tuple[MutantRecord, ...], most: int, more: int) -> float | None:
    """Mean over the probes of train's search; an unstable one counts one round more than the most, as in Table VII."""
    probes = [mutant for mutant in mutants if mutant.guiding_set == "train" and mutant.searched and mutant.instances]
    counts = [most + more if mutant.verdict is Verdict.UNSTABLE else mutant.instances for mutant in probes]
    return float(np.mean(counts)) if counts else None


def _mutant(lab: Lab, run: OperatorRun, label: str, mutant: MutantRecord) -> dict[str, Any]:
    metrics, ranks = np.array(mutant.metrics).ravel(), None
    if mutant.verdict in (Verdict.KILLED, Verdict.SURVIVED):
        sample = run.judge.seen(mutant.guiding_set)[mutant.strength].sample
        ranks = replace(lab.rule, test="wilcoxon").judge(sample, lab.runner.task.higher_is_better).p_value
    better, lowest = lab.runner.task.higher_is_better, None
    if metrics.size:
        lowest = float(metrics.min() if better else metrics.max())
    return {
        "subject": lab.name,
        "operator": label,
        "set": mutant.guiding_set,
        "strength": mutant.strength,
        "verdict": mutant.verdict.value,
        "searched": mutant.searched,
        "same_as": mutant.same_as,
        "instances": mutant.instances,
        "rse": mutant.rse,
        "p_value": mutant.p_value,
        "p_wilcoxon": ranks,
        "effect_size": mutant.effect_size,
        "metric_mean": mutant.metric_mean,
        "metric_lowest": lowest,
        "metric_median": float(np.median(metrics)) if metrics.size else None,
        "triviality": mutant.triviality,
        "basis": mutant.basis.value,
        "evaluated": mutant.evaluated,
        "reason": mutant.reason,
    }
