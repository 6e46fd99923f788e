"""``docs/scale.md`` and its figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from studies.scale.campaigns import WORKERS, Case, cases
from studies.scale.measuring import Measured
from studies.scale.simulation import Run, simulate
from studies.writing import DPI, GREY, figure, markdown, prose, styled, write_page

COLOURS = ("#0072b2", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe and Ito
MARKS = "osD^v*"
Runs = Mapping[str, Mapping[int, Run]]


def write(measured: Measured, out: Path) -> Path:
    """Simulates, draws and writes."""
    found = cases(measured)
    runs = {
        name: {workers: simulate(case.load, case.costs, workers) for workers in WORKERS} for name, case in found.items()
    }
    text, path = prose(Path(__file__).with_name("prose.md")), out / "scale.md"
    write_page(
        path,
        [
            "# How campaigns grow",
            text["intro"],
            "## What a job costs",
            text["costs"].format(subject=measured.subject),
            _costs(measured),
            "## 10,000 mutant instances on 1 to 1,000 workers",
            text["simulated"],
            figure(out / "scale" / "speed.png", "How much faster with more workers", lambda p: draw(found, runs, p)),
            _table(found, runs),
            text["reading"],
            "## How the design responds",
            text["design"],
        ],
    )
    return path


def _costs(measured: Measured) -> str:
    def size(value: float) -> str:
        return f"{value / 1000:,.0f} kB" if value < 1e6 else f"{value / 1e6:,.{0 if value >= 1e8 else 1}f} MB"

    rows = [
        ("one mutant on one set of inputs", f"{measured.probe_seconds:.2f} s ({measured.instances:.0f} instances)"),
        ("its job, sent, with what earlier probes of its search found", size(measured.sent)),
        ("its result, returned and stored during the search", size(measured.returned)),
        ("size in the file per job when the campaign is done", size(measured.kept)),
        ("networks, data and clean passes, sent once to each worker", size(measured.work)),
    ]
    for name, seconds in measured.driver.items():
        rows.append((f"driver, an empty job, {name}, store included", f"{1000 * seconds:.2f} ms of processor time"))
    for name, rate in measured.rate.items():
        rows.append((f"empty jobs, {name}, without a store", f"{rate:,.0f} per second"))
    rows.append(("empty jobs, ray, without a store, one per call", f"{1 / measured.call:,.0f} per second"))
    rows.append(("verification of a file when a command opens it for writing", f"{size(measured.checked)} per second"))
    return markdown(["what", "measured"], rows)


def _table(found: Mapping[str, Case], runs: Runs) -> str:
    rows = []
    for name, case in found.items():
        cells = [f"{_time(runs[name][w].seconds)} ({runs[name][w].limit}, {runs[name][w].busy:.0%})" for w in WORKERS]
        rows.append([case.title, f"{case.load.tasks:,}", *cells])
    return markdown(["campaign", "jobs", *(f"{workers:,} worker{'s' * (workers > 1)}" for workers in WORKERS)], rows)


def _time(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.0f} s"


def draw(found: Mapping[str, Case], runs: Runs, path: Path) -> bool:
    """How much faster than one worker, both axes logarithmic."""
    pyplot = styled()
    drawing, panel = pyplot.subplots(figsize=(7.2, 4.2), layout="constrained")
    panel.plot(WORKERS, WORKERS, color=GREY, linewidth=1, linestyle=":", label="as many times as workers")
    for (name, case), colour, mark in zip(found.items(), COLOURS, MARKS, strict=True):
        gains = [runs[name][WORKERS[0]].seconds / runs[name][workers].seconds for workers in WORKERS]
        panel.plot(WORKERS, gains, color=colour, marker=mark, label=case.title)
    panel.set(xscale="log", yscale="log", xlabel="workers", ylabel="times as fast as one worker")
    panel.set_xticks(WORKERS, [f"{workers:,}" for workers in WORKERS])
    panel.set_yticks(WORKERS, [f"{workers:,}" for workers in WORKERS])
    panel.minorticks_off()
    panel.grid(axis="y", alpha=0.3)
    panel.legend(frameon=False, loc="upper left", fontsize="small")
    drawing.savefig(path, dpi=DPI)
    pyplot.close(drawing)
    return True
