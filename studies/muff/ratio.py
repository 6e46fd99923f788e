"""Fig. 3: does WI stay sensitive when it changes more weights?"""

from __future__ import annotations

from pathlib import Path

from studies.muff import rq3
from studies.muff.lab import Lab
from studies.store import Rows

NAME = "ratio"
DEFAULT = "0.05"
RATIOS = (DEFAULT, "0.1", "0.2", "0.6", "1.0")
COLUMNS = ("subject", "ratio", *rq3.COLUMNS[1:])


def rows(folder: Path) -> Rows:
    return Rows(folder / "ratio.csv", COLUMNS, 2)


def units() -> list[tuple[str, ...]]:
    """(ratio,)."""
    return [(ratio,) for ratio in RATIOS]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Searches WI's factor at one ratio; at the default one that is RQ3's row."""
    (ratio,) = unit
    if ratio == DEFAULT:
        if (lab.name, "WI") not in rq3.rows(folder):
            rq3.run(lab, folder, ("WI",))
        row = rq3.rows(folder).get(lab.name, "WI")
        rows(folder).put([{**(row or {}), "ratio": ratio}])
        return True
    row, mutants = rq3.search(lab, f"WI(ratio={ratio})")
    rq3.mutant_rows(folder).put(mutants)
    rows(folder).put([row | {"ratio": ratio}])
    return True
