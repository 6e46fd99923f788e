"""``muff.md`` from the CSV files, MUFF's numbers and the hand-written prose."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from mutiny.errors import MissingExtra
from mutiny.reports.files import replacing
from studies.muff import figures, rq1, tables
from studies.muff.findings import FINDINGS
from studies.muff.results import NOT_RUN, Results

PROSE = Path(__file__).with_name("prose.md")
FILES = ("subjects.csv", "rq1.csv", "rq2.csv", "rq3.csv", "ratio.csv", "mutants.csv", "runs.csv", "settings.json")
Draw = Callable[[Results, Path], bool]


def prose() -> dict[str, str]:
    """The hand-written paragraphs by section."""
    parts = PROSE.read_text(encoding="utf-8").split("\n## ")[1:]
    return {name.strip(): text.strip() for name, _, text in (part.partition("\n") for part in parts)}


def write(out: Path) -> None:
    """Draws the figures and writes the page."""
    folder = out / "muff"
    results = Results.read(folder)
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "muff.md") as part:
        part.write_text("\n\n".join(filter(None, sections(results, folder))) + "\n", encoding="utf-8")


def sections(results: Results, folder: Path) -> Iterator[str]:
    """The page, paragraph by paragraph."""
    words = prose()
    yield "# MUFF's experiments, repeated"
    yield words["intro"]
    yield 'The paper\'s values stand in *italics* beside ours; "not run" means that there is no number yet.'
    yield from _set_up(results, words, [name for name in FILES if (folder / name).exists()])
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
    yield _follows(results, "rq1")
    yield "## RQ2: how many instances until a mutant is stable? (Fig. 2)"
    yield words["rq2"]
    yield _figure(results, folder, "stability.png", figures.stability, "Instances until the mutant is stable")
    yield tables.stability(results)
    yield tables.reasons(results.rq2, "not applicable")
    yield _follows(results, "rq2")
    yield from _rq3(results, words)
    yield "## WI's ratio (Fig. 3)"
    yield words["ratio"]
    yield _figure(results, folder, "ratio.png", figures.sensitivity, "Sensitivity of WI over its ratio")
    yield tables.ratios(results)
    yield _follows(results, "ratio")


def _set_up(results: Results, words: dict[str, str], files: list[str]) -> Iterator[str]:
    yield "## Set-up"
    yield tables.subjects(results)
    yield words["setup"]
    quick = " **This is a quick run: little data, a coarse search; its numbers mean nothing.**"
    yield f"Seed {results.settings.get('seed', 0)} throughout.{quick if results.settings.get('quick') else ''}"
    machines = {
        f"{row['processor']}, {row['cores']} cores of which {row['threads']} used, Python {row['python']}, "
        f"torch {row['torch']}, numpy {row['numpy']}, scipy {row['scipy']}, mutiny {row['mutiny']}"
        for row in results.runs
    }
    yield f"Hardware and versions: {'; '.join(sorted(machines)) or NOT_RUN}; other work ran beside it."
    yield tables.times(results)
    yield (
        "`python -m studies.muff --data DIR` repeats it, or continues where it stopped. Raw numbers: "
        + (", ".join(f"[{name}](muff/{name})" for name in files) or NOT_RUN)
        + "."
    )


def _rq3(results: Results, words: dict[str, str]) -> Iterator[str]:
    yield "## RQ3: are mutants sensitive and stable? (Tables VI, VII, VIII)"
    yield words["rq3"]
    yield "**Sensitivity** (Table VI):"
    yield tables.sensitivity(results)
    yield tables.reasons(results.rq3, "invalid")
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
    yield _follows(results, "rq3")


def _follows(results: Results, part: str) -> str:
    found = [f"- {sentence}" for sentence in FINDINGS[part](results)]
    return "**What follows from the numbers.**\n\n" + ("\n".join(found) or f"- {NOT_RUN}")


def _figure(results: Results, folder: Path, name: str, draw: Draw, title: str) -> str:
    try:
        drawn = draw(results, folder / name)
    except MissingExtra as error:
        print(f"{name} is not drawn: {error}", file=sys.stderr)
        drawn = (folder / name).exists()
    return f"![{title}](muff/{name})" if drawn else f"Figure: {NOT_RUN}."
