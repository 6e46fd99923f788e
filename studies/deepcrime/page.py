"""``deepcrime.md`` from the CSV files, MUFF's numbers and the hand-written prose."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from studies.deepcrime import figures, spectra, tables
from studies.deepcrime.findings import FINDINGS
from studies.deepcrime.results import Results
from studies.deepcrime.subjects import ORDER
from studies.muff.tables import reasons
from studies.surroundings import in_words
from studies.writing import figure, follows, prose, sources, write_page

PROSE = Path(__file__).with_name("prose.md")
PARTS = ("subjects", "operators", "mutants", "spent", "spectra", "distances", "controls", "runs")
FILES = (*(f"{part}.csv" for part in PARTS), "settings.json")


def write(out: Path) -> None:
    """Draws the figures and writes the page."""
    folder = out / "deepcrime"
    write_page(out / "deepcrime.md", sections(Results.read(folder), folder))


def sections(results: Results, folder: Path) -> Iterator[str]:
    """The page, paragraph by paragraph."""
    words = prose(PROSE)
    yield "# MUFF and DeepCrime, compared again"
    yield words["intro"]
    yield 'The paper\'s values stand in *italics* beside ours; "not run" means that there is no number yet.'
    if not results.settings.get("quick"):
        yield "## What reproduces"
        yield words["conclusions"]
    yield "## Side by side"
    yield words["side by side"]
    yield tables.side_by_side(results)
    yield from _set_up(results, words, folder)
    yield "## Sensitivity (Table VI)"
    yield words["sensitivity"]
    yield tables.sensitivity(results)
    yield reasons(results.operators, "invalid")
    yield follows(FINDINGS["sensitivity"](results))
    yield "## Unstable operators (Table VII)"
    yield words["stability"]
    yield tables.unstable(results)
    yield "**Each operator of DeepCrime that applies:**"
    yield tables.details(results)
    yield follows(FINDINGS["stability"](results))
    yield "## Cost (Table VIII)"
    yield words["cost"]
    yield tables.cost(results)
    yield follows(FINDINGS["cost"](results))
    yield "## Trainings that are saved"
    yield words["savings"]
    yield tables.saved(results)
    yield follows(FINDINGS["savings"](results))
    yield from _distances(results, words, folder)


def _set_up(results: Results, words: dict[str, str], folder: Path) -> Iterator[str]:
    yield "## Set-up"
    yield tables.subjects(results)
    yield words["setup"]
    quick = " **This is a quick run: little data, few originals; its numbers mean nothing.**"
    yield f"Seed {results.settings.get('seed', 0)} throughout.{quick if results.settings.get('quick') else ''}"
    yield in_words(results.runs)
    yield tables.times(results)
    yield sources(folder, FILES)


def _distances(results: Results, words: dict[str, str], folder: Path) -> Iterator[str]:
    yield "## Spectral distances (Fig. 4)"
    yield words["distances"]
    yield tables.compared(results)
    for subject in ORDER:
        for span in (spectra.ALL, spectra.ORIGINALS):
            path = folder / f"distances-{subject}-{span.partition(' ')[0]}.png"
            title = f"Distances between mutants of {subject}, range of {span}"
            yield figure(path, title, partial(figures.distances, results, subject, span))
    yield "Median distance, and in brackets the number of pairs of mutants:"
    yield tables.distances(results)
    yield follows(FINDINGS["distances"](results))
