"""Tables 12 to 15: how many sensitive neurons, which layer, which mutations?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mutiny
from mutiny.verbs.select.nss import Nss
from studies.clock import Clock
from studies.nss import paper
from studies.nss.detection import fdr_columns
from studies.nss.lab import Held, Lab, Settings, classes_of
from studies.nss.subjects import CIFAR, UNDER
from studies.store import Rows

NAME = "ablation"
SHARES, LAYERS = ("0.01", "0.05", "0.1", "0.2", "1.0"), ("first", "second", "-2", "-1", "output")
LAYER_SHARE = 0.2
"""Table 13 is a table of k = 20%: its columns -2 or -1 hold exactly the values of Table 12 at 20%."""
PAPER, CODE = "paper", "authors-code"
SINGLE = (CIFAR, "mnist-lenet5")
"""Where single mutations are tried; the paper does so on CIFAR-10 only."""
COLUMNS = (
    "subject table setting variant repeat layers inputs faults fdr_5 fdr_10 fdr_15 fdr_20 seconds cpu_seconds".split()
)


def rows(folder: Path) -> Rows:
    return Rows(folder / "ablation.csv", COLUMNS, 5)


def units(subject: str, settings: Settings) -> list[tuple[str, ...]]:
    """(table, setting, variant, repeat).

    Algorithm 1 of the authors' code sees the pool's own mutations only, so Table 14 has one variant. The mutation of
    its Algorithm 2 is that of the pool: Table 15 for it is a pool of one kind of mutants, with faults of its own.
    """
    single = [
        *(("identify", operation, PAPER) for operation in paper.OPERATIONS),
        *(("select", operation, variant) for operation in paper.OPERATIONS for variant in (PAPER, CODE)),
    ]
    found = [
        *(("share", share, variant) for share in SHARES for variant in (PAPER, CODE)),
        *(("layer", layer, variant) for layer in LAYERS for variant in (PAPER, CODE)),
        *(single if subject in SINGLE else ()),
    ]
    return [(*unit, str(repeat)) for repeat in range(settings.repeats) for unit in found]


def method(subject: str, table: str, setting: str, variant: str) -> Nss:
    """NSS with one setting changed.

    >>> method("mnist-lenet1", "layer", "-1", "paper").layers
    ('pool2',)
    """
    changes: dict[str, Any] = {"variant": variant}
    if table == "share":
        changes["share"] = float(setting)
    elif table == "layer":
        changes |= {"share": LAYER_SHARE, "layers": (UNDER[subject].layers[LAYERS.index(setting)],)}
    elif setting != "all" and variant == PAPER:
        changes["identify" if table == "identify" else "operations"] = (setting,)
    return Nss(**changes)


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Writes the unit's row."""
    table, setting, variant, repeat = unit
    trial, clock = lab.trial(int(repeat)), Clock()
    chosen, evidence, wrong = method(lab.name, table, setting, variant), trial.shared, trial.wrong
    if table == "select" and variant == CODE and setting != "all":
        pool = Held(mutiny.mutate(lab.subject.test, seed=trial.number, operations=setting))
        evidence, wrong = trial.evidence(pool), classes_of(trial.models[0], pool) != pool.targets
    order, _ = chosen.rank(evidence)
    row: dict[str, Any] = dict(zip(COLUMNS, (lab.name, *unit), strict=False))
    row |= {"layers": "+".join(chosen.layers or ()), "inputs": len(order), "faults": int(wrong.sum())}
    rows(folder).put([row | fdr_columns(order, wrong) | clock.lap()])
    return True
