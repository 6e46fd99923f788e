"""Makes the pictures of the guides from runs on ``digits``: ``python docs/pictures.py [FOLDER]``.

It takes some minutes. In a folder of yours results are kept, and the next time only drawn.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import mutiny
from mutiny.reports.loading import read_results
from mutiny.reports.page.advice import CommandParts
from mutiny.reports.page.blocks import Chart, Charts, Fold, Subsection
from mutiny.reports.page.charts import drawing
from mutiny.reports.page.page import page_of
from mutiny.reports.page.pictures import Line, Lines, Picture, Ranges, Strengths

DOCS = Path(__file__).parent
COLORS, SHARP = 128, 160
"""Colors of a picture, which keep it small, and its dots per inch."""
HARD = "hard.npz"
COMMANDS = (
    "assess digits --method muff --operators NS --originals 20 --store muff.mutiny",
    "assess digits --operators WI,NI,GF,NEB,NS,LR",
    "select digits --pool mutated --compare deepgini,dsa,nss,random --budget 10% --plot select.png",
    f"locate digits --inputs {HARD} --k 8 --active quantile(share=0.5)",
    f"repair digits --inputs {HARD} --method tune",
    "attack digits --attack pgd(iterations=10) --eps 0.15 --mutants 3 --count 100 --grid attack.png",
    "report digits.mutiny -o report.html",
)


def main() -> None:
    """Runs everything and writes ``docs/pictures``."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(sys.argv[1] if len(sys.argv) > 1 else folder)
        pool = mutiny.mutate(mutiny.load_subject("digits").test)
        np.savez(HARD, x=pool.read(slice(0, len(pool))), y=pool.targets)
        for command in COMMANDS:
            words = [sys.executable, "-m", "mutiny", *command.split()]
            subprocess.run(words, check=not command.startswith("repair"), stdout=subprocess.DEVNULL)
        found, charts = _results("digits.mutiny")
        _save("assess", charts["notice"])
        searches = [picture for picture in _results("muff.mutiny")[1].values() if isinstance(picture, Strengths)]
        _save("strengths", max(searches, key=_fall))
        _save("locate", charts["layers"])
        _save("repair", _repaired(found["repair"]))
        _save("strengthen", _stronger((DOCS / "strengthen.md").read_text(encoding="utf-8")))
        for name in ("select", "attack"):
            _small(Image.open(f"{name}.png"), name, width=1000)
        _screenshot(Path("report.html"))


def _results(store: str) -> tuple[dict[str, Any], dict[str, Picture]]:
    """The results in a store by verb, and the charts of their page by name."""
    found: dict[str, Any] = {loaded.verb: loaded.result for loaded in read_results([Path(store)])}
    return found, dict(_charts(page_of(found, CommandParts("digits", "mutiny assess digits"), {}).sections))


def _charts(parts: Any) -> Iterator[tuple[str, Picture]]:
    """All charts of a page by name."""
    for part in parts:
        match part:
            case Chart():
                yield part.id, part.picture
            case Charts():
                yield from _charts(part.charts)
            case Subsection() | Fold():
                yield from _charts(part.blocks)
            case _ if hasattr(part, "blocks"):
                yield from _charts(part.blocks)


def _fall(picture: Strengths) -> float:
    """By how much the metric falls on the sets together."""
    means = [[point.metric for point in points] for _, points in picture.points]
    return sum(max(each) - min(each) for each in means if each)


def _repaired(result: Any) -> Ranges:
    """What a repair does to inputs that it was made from, and to others."""
    both = ("repaired", "broken")
    roles = [(role, name) for role in ("repair", "held-out") for name in both]
    rows = [(f"{role}: {name}", getattr(result.changes[role], name)) for role, name in roles]
    ends = [rate.interval for _, rate in rows]
    return Ranges(
        tuple(name for name, _ in rows), tuple(rate.value for _, rate in rows),
        tuple(end.low for end in ends), tuple(end.high for end in ends), "of failures (repaired), of passes (broken)",
    )  # fmt: skip


def _stronger(page: str) -> Lines:
    """The table that the guide measured, drawn."""
    rows = [
        [int(cell) for cell in row] for row in re.findall(r"^\| (\d+) \| (\d+)% \| (\d+)% \| (\d+)% \|$", page, re.M)
    ]
    lines = [
        Line(name, tuple((float(row[0]), row[at] / 100) for row in rows))
        for at, name in enumerate(("strengthen", "random", "deepgini"), 1)
    ]
    return Lines(tuple(lines), "inputs labeled", "notice rate on held-out faults")


def _save(name: str, picture: Picture) -> None:
    _small(Image.open(io.BytesIO(drawing(picture).png(SHARP))), name)


def _small(image: Image.Image, name: str, width: int | None = None) -> None:
    """Few colors, and no wider than asked for."""
    whole = image.convert("RGB")
    if width and whole.width > width:
        whole = whole.resize((width, round(whole.height * width / whole.width)), Image.Resampling.LANCZOS)
    (DOCS / "pictures").mkdir(exist_ok=True)
    whole.quantize(COLORS, dither=Image.Dither.NONE).save(DOCS / "pictures" / f"{name}.png", optimize=True)


def _screenshot(page: Path, size: str = "900,1000") -> None:
    """The beginning of a report, in Chromium if it is there."""
    if shutil.which("chromium") is None:
        return
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={size}"]
    subprocess.run(["chromium", *flags, "--screenshot=report.png", page.absolute().as_uri()], check=True)
    _small(Image.open("report.png"), "report")


if __name__ == "__main__":
    main()
