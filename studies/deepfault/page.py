"""``deepfault.md`` from the CSV files, DeepFault's numbers and the hand-written prose."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from studies.deepfault import figures, repair_tables, tables
from studies.deepfault.findings import FINDINGS
from studies.deepfault.results import Results
from studies.deepfault.subjects import CIFAR, FAMILIES
from studies.surroundings import in_words
from studies.writing import figure, follows, prose, sources, write_page

PROSE = Path(__file__).with_name("prose.md")
PARTS = ("subjects", "suspects", "synthesis", "tests", "examples", "injected", "mended", "repairs", "runs")
FILES = (*(f"{part}.csv" for part in PARTS), "settings.json")


def write(out: Path) -> None:
    """Draws the figures and writes the page."""
    folder = out / "deepfault"
    write_page(out / "deepfault.md", sections(Results.read(folder), folder))


def sections(results: Results, folder: Path) -> Iterator[str]:
    """The page, paragraph by paragraph."""
    words = prose(PROSE)
    yield "# DeepFault's experiments, repeated"
    yield words["intro"]
    yield (
        'The paper\'s values stand in *italics* beside ours; "n/a" means that the paper has no such number or that our '
        'copy of it is not legible there, "not run" that we have none. T is Tarantula, O Ochiai, D is D* with power 3, '
        "R the random choice; k is the number of suspects of each class."
    )
    yield "## What reproduces"
    yield words["reproduces"]
    yield follows(FINDINGS["reproduced"](results))
    yield from _set_up(results, words, folder)
    yield from _synthesis(results, words, folder)
    yield from _suspects(results, words, folder)
    yield from _similarity(results, words, folder)
    yield "## RQ5: do suspects say more? (Tables 5 to 7)"
    yield words["raised"]
    yield tables.raised(results)
    for family in FAMILIES:
        yield f"The first k' suspects, {family.title}, {' / '.join(family.ways)}, *paper*:"
        yield tables.raised_next(results, family)
    yield follows(FINDINGS["raised"](results))
    yield "## RQ6: time (Table 10)"
    yield words["seconds"]
    yield tables.seconds(results)
    yield follows(FINDINGS["seconds"](results))
    yield from _known(results, words)
    yield from _repairs(results, words)


def _set_up(results: Results, words: dict[str, str], folder: Path) -> Iterator[str]:
    yield "## Set-up (Table 2)"
    yield tables.subjects(results)
    yield words["setup"]
    settings = results.settings
    quick = " **This is a quick run on little data; its numbers mean nothing.**" if settings.get("quick") else ""
    yield (
        f"{settings.get('per_class', 10)} inputs of each class for a measure, {settings.get('draws', 5)} times as many "
        f"for the random choice, each time with other inputs and other neurons; seed {settings.get('seed', 0)}.{quick}"
    )
    yield "### Ways"
    yield words["ways"]
    yield "**What the paper's tables tell.**\n\n" + "\n".join(f"- {one}" for one in FINDINGS["paper"](results))
    yield in_words(results.runs)
    yield tables.times(results)
    yield sources(folder, FILES)


def _synthesis(results: Results, words: dict[str, str], folder: Path) -> Iterator[str]:
    yield "## RQ1: do suspects fool the network? (Table 3)"
    yield words["synthesis"]
    yield figure(folder / "accuracy.png", "Accuracy on synthesized inputs", partial(figures.accuracy, results))
    for family in FAMILIES:
        for way in family.ways:
            yield f"Loss / accuracy, {family.title}, {way}:"
            yield tables.outcomes(results, family, way)
    yield words["random"]
    yield tables.against_random(results)
    yield "## RQ2: which measure is best? (Tables 8, 9)"
    yield words["pairs"]
    for way in CIFAR.ways:
        yield f"Cases with a significant difference, {way}:"
        yield tables.pairwise(results, way)


def _suspects(results: Results, words: dict[str, str], folder: Path) -> Iterator[str]:
    yield "## RQ3: where are the suspects? (Fig. 3)"
    yield words["layers"]
    yield figure(folder / "layers.png", "Suspects by layer", partial(figures.layers, results))
    yield tables.layers(results)
    yield follows(FINDINGS["layers"](results))


def _similarity(results: Results, words: dict[str, str], folder: Path) -> Iterator[str]:
    yield "## RQ4: how far are new inputs from old ones? (Table 4, Fig. 4)"
    yield words["distances"]
    for family in FAMILIES:
        yield f"{family.title}:"
        yield tables.distances(results, family)
    yield figure(
        folder / "examples.png", "New inputs above their originals", partial(figures.pictures, results, folder)
    )  # fmt: skip
    yield follows(FINDINGS["distances"](results))


def _known(results: Results, words: dict[str, str]) -> Iterator[str]:
    yield "## Are known faults found? (not in the paper)"
    yield words["injected"]
    yield repair_tables.faults(results)
    yield words["found"]
    yield repair_tables.found(results)
    yield follows(FINDINGS["injected"](results))
    yield "## Are known faults mended? (not in the paper)"
    yield words["mended"]
    yield repair_tables.mended(results)
    yield follows(FINDINGS["mended"](results))


def _repairs(results: Results, words: dict[str, str]) -> Iterator[str]:
    yield "## Are failures mended that networks have by themselves? (not in the paper)"
    yield words["repairs"]
    for family in FAMILIES:
        yield f"{family.title}:"
        yield repair_tables.repairs(results, family)
    yield follows(FINDINGS["repairs"](results))
