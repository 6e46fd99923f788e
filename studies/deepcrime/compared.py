"""Which mutants have their activation spectra compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mutiny.faults.parsing import Fault
from studies.deepcrime.operators import fault_of
from studies.deepcrime.paper import DEEPCRIME, MUFF

DC = "DC"
GROUPS = (*MUFF, DC)
BETWEEN = tuple((code, DC) for code in MUFF)
"""What Fig. 4 compares, beside mutants of the same group."""
LEAST = 2
"""So many mutants of each operator, where there are so many: else there is no distance within."""

CsvRow = dict[str, str]


class Mutant(NamedTuple):
    """One mutant.

    Attributes:
        group: WI, NI or DC.
        operator: its code.
        name: unlike all others in its group.
        fault: what makes it.
    """

    group: str
    operator: str
    name: str
    fault: Fault


def chosen(mutants: Iterable[CsvRow], most: int) -> list[Mutant]:
    """What train's search killed of WI and NI, and of what train kills of DeepCrime about ``most``, see `evenly`."""
    killed = killed_on_train(mutants)
    archive = [row for code in MUFF for row in killed.get(code, ()) if row["searched"] == "True"]
    of_deepcrime = {code: killed[code] for code in DEEPCRIME if code in killed}
    taken = [of_deepcrime[code][place] for code, places in evenly(of_deepcrime, most).items() for place in places]
    return [_mutant(row) for row in (*archive, *taken)]


def killed_on_train(mutants: Iterable[CsvRow]) -> dict[str, list[CsvRow]]:
    """What the training set kills, by operator and by rising strength where there is one; the same mutant once."""
    found: dict[str, list[CsvRow]] = {}
    for row in mutants:
        if (row["set"], row["verdict"]) == ("train", "killed") and not row["same_as"]:
            found.setdefault(row["operator"], []).append(row)
    return {code: sorted(each, key=lambda row: float(row["strength"] or 0.0)) for code, each in found.items()}


def evenly(found: Mapping[str, Sequence[object]], most: int) -> dict[str, list[int]]:
    """Places in each list, spread over it: about ``most`` in all, of each at least two, and as equal shares as can be.

    >>> evenly({"WCI": range(9), "LCH": range(3), "HDB": range(1)}, 8)
    {'WCI': [0, 2, 5, 8], 'LCH': [0, 1, 2], 'HDB': [0]}
    """
    counts = {name: min(LEAST, len(items)) for name, items in found.items()}
    while sum(counts.values()) < most:
        open_ones = [name for name, items in found.items() if counts[name] < len(items)]
        if not open_ones:
            break
        counts[min(open_ones, key=counts.__getitem__)] += 1
    return {
        name: np.linspace(0, len(items) - 1, counts[name]).astype(int).tolist()
        for name, items in found.items()
        if items
    }


def _mutant(row: CsvRow) -> Mutant:
    group = row["operator"] if row["operator"] in MUFF else DC
    name = row["configuration"] + (f" {float(row['strength']):.6g}" if row["strength"] else "")
    return Mutant(group, row["operator"], name, fault_of(row))
