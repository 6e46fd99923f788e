"""Runs all cases: ``python -m torture [--kills 50] [--lanes 2] [--cases a,b] [--seed 0] [--quick] [--every-point]``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

from rich.console import Console
from rich.table import Table

from torture import clock, damage, disk, engines, kills, nodes, signals, verbs, workers, writers
from torture.lab import Lab
from torture.steps import case as steps
from torture.watching import Lost, note

CASES = {
    "kills": kills,
    "workers": workers,
    "nodes": nodes,
    "disk": disk,
    "damage": damage,
    "writers": writers,
    "clock": clock,
    "signals": signals,
    "engines": engines,
    "verbs": verbs,
    "store-calls": steps.STORE_CALLS,
    "statements": steps.STATEMENTS,
    "system-calls": steps.SYSTEM_CALLS,
    "jobs": steps.JOBS,
}


def main(arguments: list[str] | None = None) -> int:
    """Runs cases one after the other; returns 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m torture")
    parser.add_argument("--kills", type=int, default=50, help="Number of kills of the whole run in the case kills.")
    parser.add_argument("--lanes", type=int, default=2, help="Number of campaigns that are killed at the same time.")
    parser.add_argument("--cases", default=",".join(CASES), help=f"Cases to run, of {', '.join(CASES)}.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="Run smaller campaigns and fewer repetitions.")
    parser.add_argument("--every-point", action="store_true", help="Inject faults at every step, not at some of them.")
    options = parser.parse_args(arguments)
    names = options.cases.split(",")
    if unknown := set(names) - set(CASES):
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    table = Table(title="torture", show_edge=False)
    for column in ("case", "count", "checked", "seconds", "result"):
        table.add_column(column, justify="right" if column in ("count", "seconds") else "left")
    failed = False
    with tempfile.TemporaryDirectory(prefix="torture-") as root:
        lab = Lab(
            Path(root), options.seed, options.kills, options.quick, every_point=options.every_point, lanes=options.lanes
        )
        for name in names:
            note(f"{name}: {(CASES[name].__doc__ or '').partition(' ')[2]}")
            start = time.monotonic()
            try:
                count, checked = CASES[name].run(lab)
                result = "skipped" if count == 0 else "holds"
            except Lost as error:
                count, checked, result, failed = 0, str(error), "FAILED", True
            except Exception as error:
                traceback.print_exc()
                count, checked, result, failed = 0, f"{type(error).__name__}: {error}", "FAILED", True
            finally:
                lab.end()
            note(f"  {count}: {checked}: {result}")
            table.add_row(name, str(count), checked, f"{time.monotonic() - start:.0f}", result)
    Console(width=max(120, Console().width)).print(table)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
