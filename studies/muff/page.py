"""``muff.md`` from the CSV files, MUFF's numbers and the hand-written prose."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from studies.muff import figures, rq1, tables
from studies.muff.findings import FINDINGS
from studies.muff.results import Results
from studies.surroundings import in_words
from studies.writing import figure, follows, prose, sources, write_page

PROSE = Path(__file__).with_name("prose.md")
PARTS = ("subjects", "rq1", "rq2", "rq3", "ratio", "weak", "mutants", "runs")
FILES = (*(f"{part}.csv" for part in PARTS), "settings.json")


def write(out: Path) -> None:
    """Draws the figures and writes the page."""
    folder = out / "muff"
    write_page(out / "muff.md", sections(Results.read(folder), folder))


def sections(results: Results, folder: Path) -> Iterator[str]:
    """The page, paragraph by paragraph."""
    words = prose(PROSE)
    yield "# MUFF's experiments, repeated"
    yield words["intro"]
    yield 'The paper\'s values stand in *italics* beside ours; "not run" means that there is no number yet.'
    if not results.settings.get("quick"):
        yield "## What reproduces"
        yield words["conclusions"]
    yield from _set_up(results, words, folder)
    yield "## RQ1: do instances of a mutant agree? (Tables IV, V, IX)"
    yield words["rq1"]
    yield (
        f"Share of training inputs on which {results.originals} instances are neither all right nor all wrong, with "
        "a 95% interval (Wilson) where only a random sample of inputs was evaluated. All instances of **one original**:"
    )
    yield tables.disagreement(results, rq1.ONE)
    yield f"One instance of each of **{results.originals} originals**:"
    yield tables.disagreement(results, rq1.EACH)
    yield tables.reasons(results.rq1, "not applicable")
    yield follows(FINDINGS["rq1"](results))
    yield "## RQ2: how many instances until a mutant is stable? (Fig. 2)"
    yield words["rq2"]
    yield figure(folder / "stability.png", "Instances until the mutant is stable", partial(figures.stability, results))
    yield tables.stability(results)
    yield tables.reasons(results.rq2, "not applicable")
    yield follows(FINDINGS["rq2"](results))
    yield from _rq3(results, words)
    yield "## WI's ratio (Fig. 3)"
    yield words["ratio"]
    yield figure(folder / "ratio.png", "Sensitivity of WI over its ratio", partial(figures.sensitivity, results))
    yield tables.ratios(results)
    yield follows(FINDINGS["ratio"](results))


def _set_up(results: Results, words: dict[str, str], folder: Path) -> Iterator[str]:
    yield "## Set-up"
    yield tables.subjects(results)
    yield words["setup"]
    quick = " **This is a quick run: little data, a coarse search; its numbers mean nothing.**"
    yield f"Seed {results.settings.get('seed', 0)} throughout.{quick if results.settings.get('quick') else ''}"
    yield in_words(results.runs)
    yield tables.times(results)
    yield sources(folder, FILES)


def _rq3(results: Results, words: dict[str, str]) -> Iterator[str]:
    yield "## RQ3: are mutants sensitive and stable? (Tables VI, VII, VIII)"
    yield words["rq3"]
    yield "**Sensitivity** (Table VI):"
    yield tables.sensitivity(results)
    yield tables.reasons(results.rq3, "invalid")
    if results.weak:
        yield "### Two readings of the weak set"
        yield words["weak"]
        yield tables.readings(results)
    beyond = results.most + results.originals
    yield f"**Instances** per candidate mutant of the search on train, an unstable one counted as {beyond} (Table VII):"
    yield tables.instances(results)
    yield (
        '**Strengths, scores and cost.** A score stands with its 95% interval; "hidden" counts survivors on train that '
        "a paired rank test (Wilcoxon) would kill:"
    )
    yield tables.strengths(results)
    found = tables.tests(results)
    if found:
        yield "### Means and ranks"
        yield words["tests"]
        yield found
    yield "### Seconds (Table VIII)"
    yield words["seconds"]
    yield tables.seconds(results)
    yield follows(FINDINGS["rq3"](results))
