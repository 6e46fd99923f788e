"""``python -m studies.scale``; what it does stands at the top of the package."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

import mutiny
from mutiny.reports.files import write_json
from studies.scale import __doc__ as about
from studies.scale import assessment, measuring, page

MEASURED = ("assessment", "searches", "engines")
ORIGINALS, CHOICES = 10, 2
"""Originals that are assessed, and random choices of each operator: first and further ones may differ."""


def main() -> None:
    """Measures if asked to, then writes the page."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--measure", nargs="?", const="all", choices=["all", *MEASURED],
        help="measure again: everything, an assessment, one by the method muff, or the engines, which need two idle "
        "cores",
    )  # fmt: skip
    parser.add_argument("--data", type=Path, help="folder with MNIST; scikit-learn's digits without it")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="where scale.md goes")
    given = parser.parse_args()
    torch.set_num_threads(1)
    folder = given.out / "scale"
    if given.measure:
        folder.mkdir(parents=True, exist_ok=True)
        _measure(given.measure, given.data, folder)
    if missing := [what for what in MEASURED if what not in _known(folder)]:
        parser.error(f"{folder} has no measurement of {', '.join(missing)}: use --measure")
    print(f"wrote {page.write(page.read(folder), given.out)}")


def _measure(what: str, data: Path | None, folder: Path) -> None:
    known = _known(folder)
    if what in ("all", "assessment"):
        subject = mutiny.load_subject("mnist/lenet5" if data else "digits", data)
        words = "ten LeNet-5 on MNIST" if data else "ten small networks on scikit-learn's digits"
        costs, jobs = assessment.measure(subject, words, ORIGINALS, CHOICES)
        assessment.write_jobs(folder / page.JOBS, jobs)
        known["assessment"] = asdict(costs)
    if what in ("all", "searches"):
        known["searches"] = asdict(measuring.searches(data))
    if what in ("all", "engines"):
        known["engines"] = asdict(measuring.engines())
    write_json(folder / page.COSTS, known)


def _known(folder: Path) -> dict[str, Any]:
    file = folder / page.COSTS
    known: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return known


if __name__ == "__main__":
    main()
