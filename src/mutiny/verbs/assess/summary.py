"""From faults to the notice rate: overall, by operator and by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mutiny.core.stats import Interval
from mutiny.core.stats.notice import (
    loss_variance_over_inputs,
    notice_bins,
    notice_interval,
    notice_rate,
    variance_over_inputs,
)
from mutiny.faults import Operator
from mutiny.verbs.assess.cost_unit import CostUnit
from mutiny.verbs.assess.fault_search import FoundFault
from mutiny.verbs.assess.notice import FalseAlarms, GroupRate, Notice, NoticedBin, OperatorRate, ReferenceRecord
from mutiny.verbs.assess.set_sizes import planned_sizes

ORIGINALS, CHOICES = "originals", "random choices"
MOST_RESAMPLED, RESAMPLES = 1e8, (30, 100)
"""Most losses that are resampled, for a number of resamples between these."""


def notice_of(
    faults: Mapping[str, Sequence[FoundFault]],
    reasons: Mapping[str, str],
    failed: Mapping[str, str],
    harmless: Sequence[FoundFault],
    operators: Mapping[str, Operator],
    reference: ReferenceRecord,
    unit: CostUnit,
    alpha: float,
    inputs: int,
    seed: int,
) -> Notice:
    """Summary of all faults.

    Args:
        faults: Faults by label of their operator.
        reasons: Reasons why an operator has no faults, by label.
        failed: Messages of failed jobs, by label.
        harmless: Harmless changes, for false alarms.
        operators: Operators by label.
        reference: Inputs on which costs were measured.
        unit: Unit of costs.
        alpha: Significance level at which a fault is noticed.
        inputs: Number of test inputs.
        seed: Seed of everything random.
    """
    everything = [fault for group in faults.values() for fault in group]
    units = units_of(everything)
    rated = reference.kind != "none"
    overall = group_rate(everything, unit) if rated else GroupRate(None, None, ())
    by_operator = {label: group_rate(group, unit) if rated else overall for label, group in faults.items()}
    return Notice(
        rate=overall.rate,
        interval=overall.interval,
        bins=overall.bins,
        interval_other_inputs=_other_inputs(everything, unit, alpha, inputs, seed) if rated else None,
        false_alarms=false_alarms(harmless, failed.get("")),
        plan=planned_sizes(everything, units.tolist(), inputs, unit, alpha),
        unit=unit.name,
        alpha=alpha,
        resampled=_resampled(everything),
        reference=reference,
        operators={
            label: OperatorRate(
                rate=rate.rate,
                interval=rate.interval,
                bins=rate.bins,
                title=operators[label].title,
                **(_outside(faults[label], unit) if rated else {}),
                reason=failed.get(label) or reasons.get(label, ""),
                failed=label in failed,
            )
            for label, rate in by_operator.items()
        },
        classes=classes_of(everything, unit) if rated else {},
    )


def operators_of(
    faults: Mapping[str, Sequence[FoundFault]], known: Mapping[str, OperatorRate], unit: CostUnit
) -> dict[str, OperatorRate]:
    """Rates of operators for another judge.

    Args:
        faults: Faults by label of their operator, as that judge decided them.
        known: Rates of the paired test, which know titles and reasons.
        unit: Unit of costs.
    """
    found = {}
    for label, group in faults.items():
        rate, outside = group_rate(group, unit), _outside(group, unit)
        found[label] = replace(
            known[label],
            rate=rate.rate,
            interval=rate.interval,
            bins=rate.bins,
            harmless=outside["harmless"],
            drastic=outside["drastic"],
            missed_drastic=outside["missed_drastic"],
        )
    return found


def classes_of(faults: Sequence[FoundFault], unit: CostUnit) -> dict[str, GroupRate]:
    """Rates by class, over the faults of which the class bears at least half of the cost."""
    by_class: dict[str, list[FoundFault]] = {}
    for fault in faults:
        if fault.record.hits is not None:
            by_class.setdefault(str(fault.record.hits), []).append(fault)
    return {name: group_rate(by_class[name], unit) for name in sorted(by_class, key=int)}


def group_rate(faults: Sequence[FoundFault], unit: CostUnit) -> GroupRate:
    """Notice rate of some faults."""
    costs, noticed = columns(faults)
    bins = notice_bins(costs, noticed, unit.edges)
    return GroupRate(
        notice_rate(costs, noticed, unit.edges),
        notice_interval(costs, noticed, units_of(faults), edges=unit.edges),
        tuple(NoticedBin(each.low, each.high, each.faults, each.noticed, each.rate) for each in bins),
    )


def columns(faults: Sequence[FoundFault]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Costs of some faults, and whether they are noticed."""
    return np.array([f.record.cost for f in faults], float), np.array([f.record.noticed for f in faults], bool)


def units_of(faults: Sequence[FoundFault]) -> npt.NDArray[np.int64]:
    """What intervals are over: the original of each fault, or its random choice if there is only one original."""
    single = _resampled(faults) == CHOICES
    return np.array([fault.record.seed if single else fault.record.original for fault in faults], np.int64)


def _resampled(faults: Sequence[FoundFault]) -> str:
    return ORIGINALS if len({fault.record.original for fault in faults}) > 1 else CHOICES


def _outside(faults: Sequence[FoundFault], unit: CostUnit) -> dict[str, int]:
    drastic = [fault.record for fault in faults if fault.record.cost >= unit.edges[-1]]
    return {
        "harmless": sum(fault.record.cost < unit.edges[0] for fault in faults),
        "drastic": len(drastic),
        "missed_drastic": sum(not record.noticed for record in drastic),
    }


def _other_inputs(
    faults: Sequence[FoundFault], unit: CostUnit, alpha: float, inputs: int, seed: int
) -> Interval | None:
    """Interval of the notice rate for another test set, drawn like this one."""
    if not faults:
        return None
    costs, noticed = columns(faults)
    which = np.repeat(np.arange(len(faults)), [len(fault.positions) for fault in faults])
    positions, worse, weight = (
        np.concatenate([getattr(fault, name) for fault in faults]) for name in ("positions", "change", "weight")
    )
    if unit.relative:
        resamples = int(np.clip(MOST_RESAMPLED / max(1, len(which)), *RESAMPLES))
        variance = loss_variance_over_inputs(
            costs,
            which,
            positions,
            worse,
            inputs,
            seed,
            tolerated=[fault.tolerated for fault in faults],
            alpha=alpha,
            edges=unit.edges,
            resamples=resamples,
        )
    else:
        variance = variance_over_inputs(
            costs, which, positions, -np.sign(worse), inputs, seed, weight=weight, alpha=alpha, edges=unit.edges
        )
    return notice_interval(costs, noticed, units_of(faults), edges=unit.edges, other_variance=variance)


def false_alarms(harmless: Sequence[FoundFault], failed: str | None = None) -> FalseAlarms | None:
    """How many harmless changes are noticed; ``None`` without any, unless jobs failed."""
    if not harmless and failed is None:
        return None
    noticed = sum(fault.record.noticed for fault in harmless)
    return FalseAlarms(len(harmless), noticed, noticed / len(harmless) if harmless else None, failed)
