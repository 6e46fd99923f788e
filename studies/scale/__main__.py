"""``python -m studies.scale``; what it does stands at the top of the package."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from mutiny.reports.files import write_json
from studies.scale import __doc__ as about
from studies.scale import page
from studies.scale.measuring import Measured, campaign, engines


def main() -> None:
    """Measures if asked to, then writes the page."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--measure", nargs="?", const="all", choices=["all", "engines"],
        help="measure again, all costs or those of the engines alone; needs two idle cores",
    )  # fmt: skip
    parser.add_argument("--data", type=Path, help="folder with MNIST; scikit-learn's digits without it")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="where scale.md goes")
    given = parser.parse_args()
    torch.set_num_threads(1)
    file = given.out / "scale" / "measured.json"
    if given.measure:
        file.parent.mkdir(parents=True, exist_ok=True)
        known = campaign(given.data) if given.measure == "all" else _read(file)
        write_json(file, {**known, **engines()})
    print(f"wrote {page.write(Measured(**_read(file)), given.out)}")


def _read(file: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return told


if __name__ == "__main__":
    main()
