"""``muten.md`` from the CSV files, MUTEN's numbers and the hand-written prose."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from studies.muten import arms, figures, tables
from studies.muten.answer import answer, details
from studies.muten.findings import FINDINGS
from studies.muten.results import Results
from studies.muten.subjects import ORDER, TARGETS
from studies.surroundings import in_words
from studies.writing import figure, follows, prose, sources, write_page

PROSE = Path(__file__).with_name("prose.md")
FILES = ("subjects.csv", "assaults.csv", "defenses.csv", "runs.csv", "settings.json")
WHOLE = [name for name in ORDER if TARGETS[name].whole]


def write(out: Path) -> None:
    """Draws the figures and writes the page."""
    folder = out / "muten"
    write_page(out / "muten.md", sections(Results.read(folder), folder))


def sections(results: Results, folder: Path) -> Iterator[str]:
    """The page, paragraph by paragraph."""
    words = prose(PROSE)
    yield "# MUTEN's experiments, repeated"
    yield answer(results)
    if results.settings.get("quick"):
        yield "**This is a quick run on little data; its numbers mean nothing.**"
    yield words["intro"]
    yield (
        "Success is the per cent of correctly answered test images whose answer is lost, with a 95% interval (Clopper "
        'and Pearson) in brackets. The paper\'s values stand in *italics* beside ours; "not run" means that there is '
        "no number."
    )
    yield from _answer(results, words, folder)
    yield from _set_up(results, words, folder)
    yield from _epsilon(results, words, folder)
    yield "## How many mutants? (Fig. 3)"
    yield words["number"]
    yield figure(folder / "number.png", "Success over the number of mutants", partial(figures.numbers, results))
    for name in WHOLE:
        yield f"{TARGETS[name].title}, points over the original alone:"
        yield tables.numbers(results, name)
    yield follows(FINDINGS["number"](results))
    yield "## Which mutants? (Fig. 4)"
    yield words["choice"]
    yield figure(folder / "choice.png", "Success by kind of mutants", partial(figures.kinds, results))
    for name in WHOLE:
        yield f"{TARGETS[name].title}:"
        yield tables.kinds(results, name)
    yield follows(FINDINGS["choice"](results))
    yield "## Where could a gain come from?"
    yield words["saturation"]
    yield figure(
        folder / "saturation.png", "Success with a loss that goes flat", partial(figures.saturation_of, results)
    )
    for name in WHOLE:
        yield f"{TARGETS[name].title}:"
        yield tables.saturated(results, name)
    yield follows(FINDINGS["saturation"](results))
    yield "## Defenses (Table III)"
    yield words["defenses"]
    yield tables.accuracies(results)
    for name in WHOLE:
        yield f"{TARGETS[name].title}:"
        yield tables.defended(results, name)
    yield follows(FINDINGS["defenses"](results))


def _answer(results: Results, words: dict[str, str], folder: Path) -> Iterator[str]:
    yield "## What remains of the gain"
    yield words["answer"]
    yield figure(folder / "gains.png", "What MUTEN gains over each opponent", partial(figures.gains, results))
    yield tables.answer(results)
    yield follows(details(results))
    yield "Round by round, each with images and mutants of its own:"
    yield tables.by_round(results)


def _set_up(results: Results, words: dict[str, str], folder: Path) -> Iterator[str]:
    yield "## Set-up (Tables I, II)"
    yield tables.subjects(results)
    yield words["setup"]
    settings = results.settings
    yield (
        f"Of {settings.get('made', 50)} mutants that are made, Algorithm 1 keeps the diverse ones. Round r has r as "
        f"the seed of mutants and random starts; images and training have seed {settings.get('seed', 0)}."
    )
    yield words["arms"]
    yield tables.passes(results)
    yield in_words(results.runs)
    yield tables.times(results)
    yield sources(folder, FILES)


def _epsilon(results: Results, words: dict[str, str], folder: Path) -> Iterator[str]:
    yield "## Success over distance (Fig. 2, PGD)"
    yield words["epsilon"]
    yield figure(folder / "epsilon.png", "Success over the allowed distance", partial(figures.epsilon, results))
    for name in ORDER:
        for attack in arms.STEPS:
            yield f"{TARGETS[name].title}, {arms.ATTACKS[attack]}:"
            yield tables.epsilon(results, name, attack)
    yield "The same of all images, among which those count as fooled that were answered wrongly before and still are:"
    for name in ORDER:
        yield f"{TARGETS[name].title}, of all:"
        yield tables.of_all(results, name)
    yield follows(FINDINGS["epsilon"](results))
    yield "## Carlini and Wagner (Fig. 2)"
    yield words["carlini"]
    for name in ORDER:
        yield f"{TARGETS[name].title}, {arms.ATTACKS[arms.FIXED]}:"
        yield tables.epsilon(results, name, arms.FIXED)
    yield tables.nearest(results)
    yield follows(FINDINGS["carlini"](results))
