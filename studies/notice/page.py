"""``notice.md`` from the CSV files and the hand-written prose."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from studies.notice import figures, tables
from studies.notice.findings import FINDINGS
from studies.notice.results import Results
from studies.notice.subjects import DESIGNS
from studies.surroundings import in_words
from studies.writing import figure, follows, prose, sources, write_page

PROSE = Path(__file__).with_name("prose.md")
PARTS = "subjects faults reference spread coverage growth ordering sets alarms planner muff runs".split()
FILES = (*(f"{part}.csv" for part in PARTS), "settings.json")


def write(out: Path) -> None:
    """Draws the figure and writes the page."""
    folder = out / "notice"
    write_page(out / "notice.md", sections(Results.read(folder), folder))


def sections(results: Results, folder: Path) -> Iterator[str]:
    """The page, paragraph by paragraph."""
    words = prose(PROSE)
    yield "# The notice rate, examined"
    yield words["intro"]
    yield "## What was found"
    yield follows(sentence for name in FINDINGS for sentence in FINDINGS[name](results))
    yield from _set_up(results, words, folder)
    for name, title, shown in (
        ("reference", "The reference set", (tables.reference,)),
        ("spread", "Spread", (tables.spread,)),
        ("one", "Few originals", (tables.one,)),
        ("coverage", "Intervals", (tables.coverage,)),
        ("growth", "Growing test sets", (tables.growth,)),
        ("ordering", "Better and worse test sets", (tables.halves, tables.removed, tables.ten)),
        ("alarms", "False alarms", (tables.alarms,)),
        ("planner", "The planner", (tables.planner,)),
    ):
        yield f"## {title}"
        yield words[name]
        if name == "growth":
            yield figure(
                folder / "growth.png", "Notice rate over the size of the test set", partial(figures.growth, results)
            )
        for table in shown:
            yield table(results)
        yield follows(FINDINGS[name](results))


def _set_up(results: Results, words: dict[str, str], folder: Path) -> Iterator[str]:
    yield "## Set-up"
    yield tables.subjects(results)
    yield words["setup"]
    quick = (
        " **This is a quick run on little data; its numbers mean nothing.**" if results.settings.get("quick") else ""
    )
    missing = [name for name in DESIGNS if results.subject(name) is None]
    run = f"Not run: {', '.join(missing)}." if missing else "All subjects were run."
    draws, seed = results.settings.get("draws", 0), results.settings.get("seed", 0)
    yield f"{draws} draws for each question, seed {seed}. {run}{quick}"
    yield tables.done(results)
    yield in_words(results.runs)
    yield sources(folder, FILES)
