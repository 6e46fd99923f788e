"""Calibration of the gates of an assessment: what each lets through, and how often it fails without reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.core.records import FaultRecord
from mutiny.faults import Operator
from mutiny.faults.evaluation import Runner
from mutiny.subjects.tasks import Classification
from mutiny.verbs.assess.fault_search import TEST, FaultSearch, FoundFault
from mutiny.verbs.assess.gates.calibrate import calibrate_gate
from mutiny.verbs.assess.gates.calibration import GateCalibration
from mutiny.verbs.assess.gates.harmless_trials import (
    HarmlessTrials,
    harmless_variants,
    other_test_sets,
    retrained_originals,
)
from mutiny.verbs.assess.gates.prediction import predicted_pass_chance
from mutiny.verbs.assess.judges.gate import Gate
from mutiny.verbs.assess.judges.harmless_networks import HarmlessNetworks, harmless_networks
from mutiny.verbs.assess.summary import units_of

FEWEST_ORIGINALS = 5
"""With fewer originals, the bound of a comparison with another network is advised for other test sets."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GateTrials:
    """What one gate says about networks in which nothing is wrong.

    Attributes:
        clean: Value of the metric for each original; empty for a gate with several comparisons.
        harmless: Trials by source, the one that the advice is about first.
    """

    clean: tuple[float, ...]
    harmless: tuple[HarmlessTrials, ...]


def gate_trials(runner: Runner, gates: Sequence[Gate], noise: Operator) -> dict[str, GateTrials]:
    """Trials of each gate, by its label; one pass over the test set for each network serves all gates.

    Args:
        runner: Originals and their data.
        gates: The gates, at least one.
        noise: Noise on the weights, as small as rounding errors.
    """
    needy = max(gates, key=lambda gate: gate.needs_probabilities)
    networks = harmless_networks(runner, TEST, noise, needy.read)
    return {gate.label: _trials(gate, networks, runner.seed) for gate in gates}


def _trials(gate: Gate, networks: HarmlessNetworks, seed: int) -> GateTrials:
    expression = gate.expression
    others = other_test_sets(expression, networks.variants, seed=seed)
    variants = harmless_variants(expression, networks.variants)
    trained = []
    if len(networks.originals) > 1:
        trained = [retrained_originals(expression, networks.originals)]
    first = expression.is_paired and len(networks.originals) >= FEWEST_ORIGINALS
    order = [*trained, others, variants] if first else [others, *trained, variants]
    single = expression.thresholds is not None
    clean = tuple(expression.value(each, each) for each in networks.originals) if single else ()
    return GateTrials(clean, tuple(order))


def gate_calibration(
    gate: Gate, faults: Sequence[FoundFault], trials: GateTrials, search: FaultSearch, wanted: float
) -> GateCalibration:
    """The calibration of one gate.

    Args:
        gate: The gate.
        faults: All faults that were tried.
        trials: What the gate says about networks in which nothing is wrong.
        search: Search that found the faults.
        wanted: Largest rate of false alarms of the advised bound.
    """
    judged = [fault for fault in faults if fault.record.outcome(gate.label).decided]
    records = [fault.record for fault in judged]
    single = gate.expression.thresholds is not None
    return calibrate_gate(
        gate.expression,
        [record.cost for record in records],
        [record.outcome(gate.label).value == "missed" for record in records],
        [_value(record, gate.label) for record in records] if single else None,
        clean=trials.clean,
        harmless=trials.harmless,
        units=units_of(judged),
        predicted=_predicted(gate, judged, search),
        edges=search.unit.edges,
        unit=search.unit.name,
        wanted=wanted,
    )


def _value(record: FaultRecord, gate: str) -> float:
    """Value of the only comparison of a gate."""
    (values,) = (judgement.values for judgement in record.judged or () if judgement.judge == gate)
    return values[0] if values else float("nan")


def _predicted(gate: Gate, faults: Sequence[FoundFault], search: FaultSearch) -> Floats | None:
    """Chance of each fault to pass, from what it does to the reference set; ``None`` if there is no formula."""
    runner, reference = search.runner, search.reference
    if not isinstance(runner.task, Classification) or reference.kind == "none":
        return None
    if any(fault.repaired is None for fault in faults):
        return None
    chances = np.full(len(faults), np.nan)
    originals = np.array([fault.record.original for fault in faults], np.int64)
    repaired = np.array([fault.repaired for fault in faults], float)
    broken = np.maximum(repaired + np.array([fault.record.cost for fault in faults], float) / 100, 0.0)
    for original in np.unique(originals):
        own = originals == original
        chance = predicted_pass_chance(
            gate.expression,
            np.minimum(broken[own], 1.0),
            repaired[own],
            len(runner.splits[TEST]),
            clean_accuracy=runner.clean(int(original), reference.split(int(original))).outcome.metric,
            clean_right=int(runner.clean(int(original), TEST).outcome.correct.sum()),
        )
        if chance is None:
            return None
        chances[own] = chance
    return chances


def calibrations(
    gates: Sequence[Gate],
    faults: Sequence[FoundFault],
    trials: Mapping[str, GateTrials],
    search: FaultSearch,
    wanted: float,
) -> dict[str, GateCalibration]:
    """The calibration of each gate, by its label; see `gate_calibration`."""
    if search.reference.kind == "none":
        return {}
    found = {gate.label: gate for gate in gates if gate.label in trials}
    return {name: gate_calibration(gate, faults, trials[name], search, wanted) for name, gate in found.items()}
