"""``nss.md`` from the CSV files, the paper's numbers and the hand-written prose."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from studies.nss import ablation, figures, retraining, tables
from studies.nss.detection import PERCENT
from studies.nss.findings import FINDINGS
from studies.nss.results import Results
from studies.surroundings import in_words
from studies.writing import figure, follows, prose, sources, write_page

PROSE = Path(__file__).with_name("prose.md")
PARTS = ("subjects", "detection", "partitions", "ablation", "retraining", "runs")
FILES = (*(f"{part}.csv" for part in PARTS), "settings.json")


def write(out: Path) -> None:
    """Draws the figures and writes the page."""
    folder = out / "nss"
    write_page(out / "nss.md", sections(Results.read(folder), folder))


def sections(results: Results, folder: Path) -> Iterator[str]:
    """The page, paragraph by paragraph."""
    words = prose(PROSE)
    yield "# NSS's experiments, repeated"
    yield words["intro"]
    yield (
        "All numbers are per cent unless they say otherwise: means over repeats, with half of a 95% interval (Student) "
        'behind ±; the paper\'s values stand in *italics*, without intervals. "not run" means that there is no number.'
    )
    yield "## What reproduces"
    yield words["conclusions"]
    yield from _set_up(results, words, folder)
    yield from _detection(results, words, folder)
    yield "## Retraining (Table 10)"
    yield words["retraining"]
    yield (
        "Points of accuracy gained on clean / mutated inputs by **the paper's protocol**: judged on all test inputs, "
        "whose mutants were candidates:"
    )
    yield tables.gains(results, retraining.LEAKY)
    yield (
        "**A clean split**: one half of the test inputs gives the candidates, the other half judges. Points gained "
        'beyond "none" in the same repeat, on clean / mutated inputs:'
    )
    yield tables.gains_beyond(results, retraining.SPLIT)
    yield follows(FINDINGS["retraining"](results))
    yield from _ablation(results, words)
    yield "## Overhead (Fig. 6, Table 11)"
    yield words["overhead"]
    yield tables.seconds(results)
    yield tables.breakdown(results)
    yield follows(FINDINGS["overhead"](results))


def _set_up(results: Results, words: dict[str, str], folder: Path) -> Iterator[str]:
    yield "## Set-up (Tables 3 to 5)"
    yield tables.subjects(results)
    yield words["setup"]
    settings = results.settings
    quick = " **This is a quick run on little data; its numbers mean nothing.**" if settings.get("quick") else ""
    yield (
        f"{settings.get('repeats', 5)} repeats, originals trained with seed {settings.get('seed', 0)}; repeat r has "
        f"original r (where there are several), and r is the seed of its pool and of its selection.{quick}"
    )
    yield in_words(results.runs)
    yield tables.times(results)
    yield sources(folder, FILES)


def _detection(results: Results, words: dict[str, str], folder: Path) -> Iterator[str]:
    yield "## Gini inside the network (Table 1)"
    yield words["internal"]
    yield tables.internal(results)
    yield follows(FINDINGS["internal"](results))
    yield "## TNSScore and accuracy (Table 6, Fig. 4)"
    yield words["partitions"]
    yield figure(
        folder / "partitions.png", "Accuracy in tenths of the pool by score", partial(figures.partitions, results)
    )
    yield tables.correlations(results)
    yield follows(FINDINGS["partitions"](results))
    yield "## Faults found (Table 7)"
    yield words["detection"]
    yield figure(folder / "detection.png", "Fault detection rate at 5%", partial(figures.detection, results))
    for percent in PERCENT:
        yield f"FDR with {percent}% of the pool selected:"
        yield tables.detection(results, percent)
    yield tables.reasons(results)
    yield follows(FINDINGS["detection"](results))
    yield "## Kinds of faults (Table 8)"
    yield words["diversity"]
    yield tables.diversity(results)
    yield follows(FINDINGS["diversity"](results))
    yield "## How early (Table 9)"
    yield words["early"]
    yield tables.early(results)
    yield follows(FINDINGS["early"](results))


def _ablation(results: Results, words: dict[str, str]) -> Iterator[str]:
    yield "## How many sensitive neurons, and where (Tables 12, 13)"
    yield words["ablation"]
    for variant in (ablation.PAPER, ablation.CODE):
        title = "as printed" if variant == ablation.PAPER else "as in the authors' code"
        yield f"FDR at 20% by share of sensitive neurons, NSS {title}:"
        yield tables.shares(results, variant)
    for variant in (ablation.PAPER, ablation.CODE):
        title = "as printed" if variant == ablation.PAPER else "as in the authors' code"
        yield f"FDR at 20% by layer, NSS {title}:"
        yield tables.layers(results, variant)
    yield follows(FINDINGS["ablation"](results))
    yield "## Single mutations (Tables 14, 15)"
    yield words["operations"]
    yield "FDR at 5 / 10 / 15 / 20% with one mutation in Algorithm 1:"
    yield tables.operations(results, "identify")
    yield "FDR at 5 / 10 / 15 / 20% with one mutation in Algorithm 2:"
    yield tables.operations(results, "select")
    yield follows(FINDINGS["operations"](results))
