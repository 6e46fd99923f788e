"""Tables VI to VIII: each operator of the three tools on the same originals and the same sets of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mutiny.core.records import MutantRecord
from mutiny.core.stats import relative_standard_error
from mutiny.faults.parsing import Fault, as_faults, describe
from mutiny.faults.training.base import TrainingOperator
from mutiny.verbs.assess.muff.judge import MutantJudge
from mutiny.verbs.assess.muff.operator_run import OperatorRun
from mutiny.verbs.assess.muff.trained_judge import TrainedJudge
from mutiny.verbs.assess.muff.training_run import TrainingRun
from studies.deepcrime.lab import SETS, Lab, in_text
from studies.deepcrime.paper import OPERATORS, tool_of
from studies.deepcrime.spent import COSTS, Spent
from studies.store import Rows

NAME = "operators"
COLUMNS = (
    *"subject operator tool status reason strength".split(),
    *(f"{name}_{split}" for name in ("weakest", "killability", "instability") for split in SETS),
    *"score set_score sensitivity sensitivity_reason configurations unstable".split(),
    *COSTS,
    "notes",
)
MUTANT_COLUMNS = (
    "subject operator configuration strength set verdict searched same_as instances rse power p_value effect_size "
    "metric_mean triviality basis evaluated reason metrics"
).split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "operators.csv", COLUMNS, 2)


def mutant_rows(folder: Path) -> Rows:
    """Every mutant on every set that judged it, with the metric of each instance."""
    return Rows(folder / "mutants.csv", MUTANT_COLUMNS, 2)


def units() -> list[tuple[str, ...]]:
    """(operator,)."""
    return [(code,) for code in OPERATORS]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Judges the mutants of one operator."""
    row, mutants = judged(lab, folder, *unit)
    mutant_rows(folder).put(mutants)
    rows(folder).put([row])  # last: this row says that the unit is done
    return True


def judged(lab: Lab, folder: Path, code: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What `mutiny.assess` finds for an operator, as a row, and one row per mutant and set."""
    runner, (fault,) = lab.prepared, as_faults(code)
    trainer = lab.trainer(folder) if isinstance(fault, TrainingOperator) else None
    spent = Spent(folder, lab.name, code, trainer)
    run: TrainingRun | OperatorRun
    if isinstance(fault, TrainingOperator):
        run = TrainingRun(TrainedJudge(runner, trainer, describe(fault), lab.rule, lab.settings.search), fault)
    else:
        how = lab.settings
        run = OperatorRun(MutantJudge(runner, fault, describe(fault), lab.rule, how.search, how.screening))
    record = run.run(spent)
    row = {
        "subject": lab.name,
        "operator": code,
        "tool": tool_of(code),
        "status": record.status.value,
        "reason": record.reason,
        "strength": record.strength,
        **{f"weakest_{split}": exact(found.weakest_killed) for split, found in record.sets.items()},
        **{f"killability_{split}": found.killability for split, found in record.sets.items()},
        **{f"instability_{split}": found.instability for split, found in record.sets.items()},
        "score": record.score,
        "set_score": record.set_score,
        "sensitivity": record.sensitivity,
        "sensitivity_reason": record.sensitivity_reason,
        "configurations": len({(m.operator, m.strength) for m in record.mutants if m.instances and m.same_as is None}),
        "unstable": unstable(record.mutants, lab.settings.search.rse),
        **spent.count(),
        "notes": "; ".join(record.notes),
    }
    return row, [_mutant(lab.name, code, mutant) for mutant in record.mutants]


def unstable(mutants: Sequence[MutantRecord], most: float) -> float | None:
    """Share of what the search on train tried whose standard error over the first instance per original is too large.

    For DeepCrime the paper takes these instances only; for the others this is where their repetitions begin.
    """
    tried = [one for one in mutants if one.guiding_set == "train" and one.searched and one.metrics]
    errors = [relative_standard_error(np.array(one.metrics[0])) for one in tried]
    return float(np.mean([error > most for error in errors])) if errors else None


def fault_of(row: dict[str, str]) -> Fault:
    """The operator that makes a mutant, from its row.

    >>> fault_of({"configuration": "HNE", "strength": "3.0"})
    FewerEpochs(epochs=3)
    """
    (fault,) = as_faults(row["configuration"])
    if not row["strength"] or fault.strength is None:
        return fault
    kind = type(getattr(fault, fault.strength))  # a number of epochs is whole
    return fault.at(kind(float(row["strength"])))


def exact(value: float | None) -> str:
    """All digits of a number: it must be found again among trained networks.

    >>> exact(0.001875125), exact(None)
    ('0.001875125', '')
    """
    return "" if value is None else repr(float(value))


def _mutant(subject: str, code: str, mutant: MutantRecord) -> dict[str, Any]:
    return {
        "subject": subject,
        "operator": code,
        "configuration": mutant.operator,
        "strength": exact(mutant.strength),
        "set": mutant.guiding_set,
        "verdict": mutant.verdict.value,
        "searched": mutant.searched,
        "same_as": exact(mutant.same_as),
        "instances": mutant.instances,
        "rse": mutant.rse,
        "power": mutant.power,
        "p_value": mutant.p_value,
        "effect_size": mutant.effect_size,
        "metric_mean": mutant.metric_mean,
        "triviality": mutant.triviality,
        "basis": mutant.basis.value,
        "evaluated": mutant.evaluated,
        "reason": mutant.reason,
        "metrics": in_text([value for each in mutant.metrics for value in each]),
    }
