"""``nss.md`` from the CSV files, the paper's numbers and the hand-written prose."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from mutiny.errors import MissingExtra
from mutiny.reports.files import replacing
from studies.nss import ablation, figures, retraining, tables
from studies.nss.detection import PERCENT
from studies.nss.findings import FINDINGS
from studies.nss.results import NOT_RUN, Results

PROSE = Path(__file__).with_name("prose.md")
FILES = ("subjects", "detection", "partitions", "ablation", "retraining", "runs")
Draw = Callable[[Results, Path], bool]


def prose() -> dict[str, str]:
    """The hand-written paragraphs by section."""
    parts = PROSE.read_text(encoding="utf-8").split("\n## ")[1:]
    return {name.strip(): text.strip() for name, _, text in (part.partition("\n") for part in parts)}


def write(out: Path) -> None:
    """Draws the figures and writes the page."""
    folder = out / "nss"
    results = Results.read(folder)
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "nss.md") as part:
        part.write_text("\n\n".join(filter(None, sections(results, folder))) + "\n", encoding="utf-8")


def sections(results: Results, folder: Path) -> Iterator[str]:
    """The page, paragraph by paragraph."""
    words = prose()
    yield "# NSS's experiments, repeated"
    yield words["intro"]
    yield (
        "All numbers are per cent unless they say otherwise: means over repeats, with half of a 95% interval (Student) "
        'behind ±; the paper\'s values stand in *italics*, without intervals. "not run" means that there is no number.'
    )
    yield from _set_up(results, words, folder)
    yield from _detection(results, words, folder)
    yield "## Retraining (Table 10)"
    yield words["retraining"]
    yield (
        "Points of accuracy gained on clean / mutated inputs. **The paper's protocol**, judged on the whole test set, "
        "whose mutants were candidates:"
    )
    yield tables.gains(results, retraining.LEAKY)
    yield "**A clean split**: one half of the test inputs gives the candidates, the other half judges:"
    yield tables.gains(results, retraining.SPLIT)
    yield _follows(results, "retraining")
    yield from _ablation(results, words)
    yield "## Overhead (Fig. 6, Table 11)"
    yield words["overhead"]
    yield tables.seconds(results)
    yield tables.breakdown(results)
    yield _follows(results, "overhead")


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
    machines = {
        f"{row['processor']}, {row['cores']} cores of which {row['threads']} used, Python {row['python']}, "
        f"torch {row['torch']}, numpy {row['numpy']}, scipy {row['scipy']}, mutiny {row['mutiny']}"
        for row in results.runs
    }
    yield f"Hardware and versions: {'; '.join(sorted(machines)) or NOT_RUN}; other work ran beside it."
    yield tables.times(results)
    names = [f"{name}.csv" for name in FILES] + ["settings.json"]
    links = ", ".join(f"[{name}](nss/{name})" for name in names if (folder / name).exists())
    yield (
        "`python -m studies.nss --data DIR` repeats it, or continues where it stopped. Raw numbers: "
        f"{links or NOT_RUN}."
    )


def _detection(results: Results, words: dict[str, str], folder: Path) -> Iterator[str]:
    yield "## Gini inside the network (Table 1)"
    yield words["internal"]
    yield tables.internal(results)
    yield _follows(results, "internal")
    yield "## TNSScore and accuracy (Table 6, Fig. 4)"
    yield words["partitions"]
    yield _figure(results, folder, "partitions.png", figures.partitions, "Accuracy in tenths of the pool, by score")
    yield tables.correlations(results)
    yield _follows(results, "partitions")
    yield "## Faults found (Table 7)"
    yield words["detection"]
    yield _figure(results, folder, "detection.png", figures.detection, "Fault detection rate at 5% of the pool")
    for percent in PERCENT:
        yield f"FDR with {percent}% of the pool selected:"
        yield tables.detection(results, percent)
    yield tables.reasons(results)
    yield _follows(results, "detection")
    yield "## Kinds of faults (Table 8)"
    yield words["diversity"]
    yield tables.diversity(results)
    yield _follows(results, "diversity")
    yield "## How early (Table 9)"
    yield words["early"]
    yield tables.early(results)
    yield _follows(results, "early")


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
    yield _follows(results, "ablation")
    yield "## Single mutations (Tables 14, 15)"
    yield words["operations"]
    yield "FDR at 5 / 10 / 15 / 20% with one mutation in Algorithm 1:"
    yield tables.operations(results, "identify")
    yield "FDR at 5 / 10 / 15 / 20% with one mutation in Algorithm 2:"
    yield tables.operations(results, "select")
    yield _follows(results, "operations")


def _follows(results: Results, part: str) -> str:
    found = [f"- {sentence}" for sentence in FINDINGS[part](results)]
    return "**What follows from the numbers.**\n\n" + ("\n".join(found) or f"- {NOT_RUN}")


def _figure(results: Results, folder: Path, name: str, draw: Draw, title: str) -> str:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        drawn = draw(results, folder / name)
    except MissingExtra as error:
        print(f"{name} is not drawn: {error}", file=sys.stderr)
        drawn = (folder / name).exists()
    return f"![{title}](nss/{name})" if drawn else f"Figure: {NOT_RUN}."
