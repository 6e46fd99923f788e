"""Known faults are put into trained networks: do `locate` and `repair` find and mend these?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mutiny
from mutiny.core.random import seed_for
from studies.deepfault.faults import Fault, common, count, fed, feeding, inject, touched
from studies.deepfault.lab import BATCH, MEASURES, Lab, Settings
from studies.deepfault.mending import METHODS, VERDICT, Mending, mend
from studies.store import Rows

NAME = "injected"
SHOWN = ("mnist-8x20",)
FAULTS, QUICK_FAULTS = 50, 4
AMPLE = "ample"
ABOVE, QUANTILE = "0", "quantile(share=0.5)"
"""Readings of activity, see `mutiny.locate`."""
LABEL, CLEAN = "label", "clean"
"""What tells failures: the label, or the network before the fault."""
SCALE, SEARCH, WEIGHTS = "scale", "search", "search, weights"
ABOUT = "subject fault operator network faulty neurons accuracy_before accuracy_faulty".split()
COLUMNS = [*ABOUT, *"accuser active failures failing k hits precision expected".split()]
MENDED_COLUMNS = [*ABOUT, "method", *VERDICT]


@dataclass(frozen=True)
class Way:
    """To accuse: a measure or method, and what it takes for activity and for failures."""

    accuser: str
    active: str = ""
    failures: str = LABEL


LOCATED = (
    *(Way(measure, active) for active in (ABOVE, QUANTILE) for measure in (*MEASURES, AMPLE)),
    *(Way(measure, active, CLEAN) for active in (ABOVE, QUANTILE) for measure in ("ochiai", AMPLE)),
)
WAYS = (*LOCATED, Way(SCALE), Way(SEARCH), Way(WEIGHTS))


def rows(folder: Path) -> Rows:
    return Rows(folder / "injected.csv", COLUMNS, 2)


def mended_rows(folder: Path) -> Rows:
    """One per fault and method of repair."""
    return Rows(folder / "mended.csv", MENDED_COLUMNS, 2)


def units(subject: str, settings: Settings) -> list[tuple[str, ...]]:
    """(fault,)."""
    faults = QUICK_FAULTS if settings.quick else FAULTS
    return [(str(number),) for number in range(faults)] if subject in SHOWN else []


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Writes one row per way to accuse, and one per method of repair."""
    fault = inject(lab, int(unit[0]))
    seed = seed_for(lab.settings.seed, "deepfault study", "mended", fault.number)
    mended = {name: mend(fault.faulty, name, lab.settings, seed) for name in METHODS}
    about = described(lab, fault)
    mended_rows(folder).put(about | {"method": name} | one.columns() for name, one in mended.items())
    found = [*located(fault), *blamed(fault, mended)]
    rows(folder).put(about | row for row in found)  # last: they say that the unit is done
    return True


def described(lab: Lab, fault: Fault) -> dict[str, Any]:
    """Columns that are the same in all rows of a fault."""
    return {
        "subject": lab.name,
        "fault": fault.number,
        "operator": fault.operator,
        "network": fault.clean.number,
        "faulty": len(fault.neurons),
        "neurons": count(fault.view),
        "accuracy_before": float(fault.clean.correct.mean()),
        "accuracy_faulty": float(fault.faulty.correct.mean()),
    }


def located(fault: Fault) -> Iterator[dict[str, Any]]:
    """As many suspects as there are faulty neurons, by each measure; none where nothing fails."""
    network, k = fault.faulty, len(fault.neurons)
    locations: dict[tuple[str, str], mutiny.Location] = {}
    for way in LOCATED:
        key = way.active, way.failures
        if key not in locations:
            locations[key] = mutiny.locate(
                network.model, k=k, data=network.subject.test, task=network.subject.task, forward=network.forward,
                active=way.active, against=fault.clean.model if way.failures == CLEAN else None, validate=0,
                batch_size=BATCH,
            )  # fmt: skip
        suspects = {(one.layer, one.neuron) for one in locations[key].ranked(way.accuser, k)}
        yield accused(fault, way, locations[key].failing, len(suspects), len(suspects & fault.neurons))


def blamed(fault: Fault, mended: Mapping[str, Mending]) -> Iterator[dict[str, Any]]:
    """Neurons that `scale` multiplies; those that the weights feed which `search` changes; and these weights."""
    view, failing = fault.view, int((~fault.faulty.correct).sum())
    for name in (SCALE, SEARCH):
        chosen = fed(view, touched(mended[name].proposed))
        yield accused(fault, Way(name), failing, len(chosen), len(chosen & fault.neurons))
    weights, guilty = touched(mended[SEARCH].proposed), feeding(view, fault.neurons)
    every = sum(layer.size for layer in view.layers)
    yield accused(
        fault, Way(WEIGHTS), failing, sum(map(len, weights.values())), common(weights, guilty),
        sum(map(len, guilty.values())) / every,
    )  # fmt: skip


def accused(
    fault: Fault, way: Way, failing: int, k: int, hits: int, expected: float | None = None
) -> dict[str, Any]:  # fmt: skip
    """How many of the accused are guilty, and how many would be of as many that are drawn at random."""
    return {
        **vars(way),
        "failing": failing,
        "k": k,
        "hits": hits,
        "precision": hits / k if k else None,
        "expected": len(fault.neurons) / count(fault.view) if expected is None else expected,
    }
