"""The failures that trained networks have by themselves: can `repair` mend them?"""

from __future__ import annotations

from pathlib import Path

from studies.deepfault.examples import title
from studies.deepfault.lab import Lab, Settings
from studies.deepfault.mending import METHODS, VERDICT, mend
from studies.deepfault.subjects import CIFAR
from studies.store import Rows

NAME = "repairs"
CONFUSION, ALL = "confusion", "all"
TARGETS = (CONFUSION, ALL)
DENSE = ("dense*", "head")
"""Layers to which `search` is kept in convolutional networks, where it would take hours otherwise."""
COLUMNS = ["subject", "method", "target", "label", "said", "layers", *VERDICT]


def rows(folder: Path) -> Rows:
    return Rows(folder / "repairs.csv", COLUMNS, 3)


def units(_subject: str, _settings: Settings) -> list[tuple[str, ...]]:
    """(method, target)."""
    return [(method, target) for method in METHODS for target in TARGETS]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Repairs the first network."""
    method, target = unit
    layers = DENSE if method == "search" and lab.name in CIFAR.networks else None
    found = mend(lab.network(0, lab.family.ways[0]), method, lab.settings, lab.settings.seed, target, layers)
    about = found.repair.target
    classes = {name: title(lab, about[name]) for name in ("label", "said") if name in about}
    key = dict(zip(COLUMNS, (lab.name, *unit), strict=False))
    rows(folder).put([key | classes | {"layers": " ".join(layers or ())} | found.columns()])
    return True
