"""The command line that all benchmarks share."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

Measure = Callable[[bool, Path | None], Mapping[str, Mapping[str, object]]]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="the same ratios on less data")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--data", type=Path, default=os.environ.get("MUTINY_DATA"))
    return parser.parse_args()


def show(title: str, results: Mapping[str, Mapping[str, object]]) -> None:
    table = Table(title=title, show_edge=False)
    for column in ("what", "ratio", "goal", "holds"):
        table.add_column(column)
    for name, row in results.items():
        sign = ">=" if row["better"] == "higher" else "<="
        table.add_row(name, f"{row['value']}{row['unit']}", f"{sign} {row['goal']}", "yes" if row["holds"] else "NO")
    Console().print(table)


def run(title: str, measure: Measure) -> None:
    given = options()
    results = measure(given.quick, given.data)
    show(title, results)
    if given.json:
        given.json.write_text(json.dumps(results, indent=2) + "\n")
