"""Fig. 3: in which layers are the suspects, and how many of them are always active?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from studies.deepfault.lab import MEASURES, Classes, Lab, Settings, count, ranked
from studies.deepfault.subjects import OUTPUT, SIGNAL, family_of
from studies.store import Rows

NAME = "suspects"
COLUMNS = "subject network at measure k layer depth neurons suspects always".split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "suspects.csv", COLUMNS, 3)


def units(subject: str, settings: Settings) -> list[tuple[str, ...]]:
    """(network, reading of activity)."""
    numbers = range(count(subject, settings))
    return [(str(number), at) for number in numbers for at in family_of(subject).readings]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Writes one row per measure, number of suspects and layer; suspects are summed over classes."""
    network = lab.network(int(unit[0]), lab.family.ways[0])
    location = network.location if unit[1] == SIGNAL else network.locate(OUTPUT)
    sizes = dict(zip(location.spectrum.layers, location.spectrum.sizes, strict=True))
    found: list[dict[str, Any]] = []
    for measure in MEASURES:
        ranking = ranked(location, measure)
        for k in lab.family.ks:
            held = by_layer(ranking, k)
            found += [
                dict(
                    zip(
                        COLUMNS,
                        (lab.name, *unit, measure, k, layer, depth, size, *held.get(layer, (0, 0))),
                        strict=True,
                    )
                )
                for depth, (layer, size) in enumerate(sizes.items(), start=1)
            ]
    rows(folder).put(found)
    return True


def by_layer(ranking: Classes, k: int) -> dict[str, tuple[int, int]]:
    """Suspects of each layer over all classes, and how many of them are active on all inputs of their class.

    >>> by_layer({}, 3)
    {}
    """
    found: dict[str, tuple[int, int]] = {}
    for some in ranking.values():
        for one in some[:k]:
            held, always = found.get(one.layer, (0, 0))
            found[one.layer] = held + 1, always + (one.nf + one.np == 0)
    return found
