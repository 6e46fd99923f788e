"""``docs/scale.md`` and its figure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

from studies.scale.assessment import AssessmentCosts, FaultJob, read_jobs
from studies.scale.campaigns import PARTS, WORKERS, Case, designs, fault_cases, other_cases
from studies.scale.measuring import EngineCosts, SearchCosts
from studies.scale.simulation import Run
from studies.writing import DPI, GRAY, figure, markdown, prose, styled, write_page

COSTS, JOBS = "measured.json", "jobs.csv"
COLORS = ("#0072b2", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe and Ito
MARKS = "osD^v*"
Runs = Mapping[str, Mapping[int, Run]]


@dataclass(frozen=True)
class Measured:
    """All that was measured."""

    jobs: Sequence[FaultJob]
    assessment: AssessmentCosts
    searches: SearchCosts
    engines: EngineCosts


def read(folder: Path) -> Measured:
    """What the files beside the figure say."""
    told = json.loads((folder / COSTS).read_text(encoding="utf-8"))
    return Measured(
        read_jobs(folder / JOBS),
        AssessmentCosts(**told["assessment"]),
        SearchCosts(**told["searches"]),
        EngineCosts(**told["engines"]),
    )


def write(measured: Measured, out: Path) -> Path:
    """Simulates, draws and writes."""
    faults = fault_cases(measured.jobs, measured.assessment, measured.engines)
    others = other_cases(measured.searches, measured.engines)
    runs = {name: {workers: case.on(workers) for workers in WORKERS} for name, case in {**faults, **others}.items()}
    drawn = {name: case for name, case in {**faults, **others}.items() if name in DRAWN}
    text, path = prose(Path(__file__).with_name("prose.md")), out / "scale.md"
    told = _told(measured, faults, runs)
    write_page(
        path,
        [
            "# How campaigns grow",
            text["intro"].format(**told),
            "## What a job costs",
            text["costs"].format(**told, subject=measured.assessment.subject, measured=measured.assessment.measured),
            _job_costs(measured.jobs, measured.assessment),
            text["operators"],
            _operators(measured.jobs),
            "## 10,000 faults on 1 to 1,000 workers",
            text["simulated"],
            figure(out / "scale" / "speed.png", "How much faster with more workers", lambda p: draw(drawn, runs, p)),
            _table(faults, runs),
            text["idle"],
            _idle(faults, runs),
            text["reading"].format(**told),
            _designs(faults),
            text["designs"],
            "## The method muff, and trainings",
            text["searches"].format(subject=measured.searches.subject, measured=measured.searches.measured),
            _search_costs(measured.searches),
            _table({name: others[name] for name in ("searches", "searches, 100 x", "trainings")}, runs),
            text["searches read"].format(**told),
            "## The driver",
            text["driver"].format(measured=measured.engines.measured),
            _engine_costs(measured.engines),
            text["driver tried"],
            _table({name: others[name] for name in ("weights", "tiny", "batches")}, runs),
            text["driver read"],
            "## Memory of a long campaign",
            text["memory"],
            "## How the design responds",
            text["design"],
        ],
    )
    return path


def _told(measured: Measured, faults: Mapping[str, Case], runs: Runs) -> dict[str, str]:
    """Numbers in the prose."""
    searches = [job for job in measured.jobs if job.faults]
    usual, crowd = faults["faults"], runs["faults"][WORKERS[-1]]
    driver = usual.costs.task + usual.costs.call + usual.pending * WORKERS[-1]
    return {
        "per_job": f"{mean(job.faults for job in searches if job.operator):.0f}",
        "sent": _size(mean(job.sent for job in measured.jobs)),
        "most_busy": f"{runs['more, 100 x'][WORKERS[-1]].busy:.0%}",
        "slow_busy": f"{runs['100 x'][WORKERS[-1]].busy:.0%}",
        "fewest_busy": f"{crowd.busy:.0%}",
        "total": _time(float(usual.times.sum())),
        "on_100": _time(runs["faults"][100].seconds),
        "on_1000": _time(crowd.seconds),
        "each": f"{crowd.bounds['workers']:.1f} s",
        "longest": f"{crowd.bounds['longest job']:.1f} s",
        "driver": f"{1000 * driver:.1f} ms",
        "rate": f"{1 / driver:,.0f}",
        "balance": f"{WORKERS[-1] * driver:.0f} s",
    }


def _size(value: float) -> str:
    for unit, bytes_ in (("MB", 1e6), ("kB", 1e3)):
        if value >= bytes_:
            return f"{value / bytes_:,.{0 if value >= 100 * bytes_ else 1}f} {unit}"
    return f"{value:,.0f} bytes"


def _job_costs(jobs: Sequence[FaultJob], costs: AssessmentCosts) -> str:
    searches = [job for job in jobs if job.operator]
    seconds, faults = [job.seconds for job in searches], sum(job.faults for job in searches)
    slowest = max(searches, key=lambda job: job.seconds)
    rows = [
        ("jobs that search for faults", f"{len(searches)}, with {faults:,} faults"),
        ("one job", f"{mean(seconds):.2f} s (standard deviation {stdev(seconds):.2f} s)"),
        ("the slowest job", f"{slowest.seconds:.1f} s ({slowest.operator})"),
        ("a job, sent", _size(mean(job.sent for job in searches))),
        ("its result, returned", _size(mean(job.returned for job in searches))),
        ("its result in the store", _size(costs.kept)),
        ("the file when the campaign is done, clean passes and final result included", _size(costs.file)),
        ("networks, data and clean passes, sent once to each worker", _size(costs.work)),
        ("loading them on a worker", f"{costs.loading:.2f} s"),
        ("what the first job of a worker takes longer", f"{costs.first:.2f} s"),
        ("before the first fault: the slowest of the clean passes", f"{costs.clean:.1f} s ({costs.passes} jobs)"),
        ("before the first fault: the slowest pre-flight", f"{costs.preflight:.1f} s ({costs.checked} jobs)"),
        ("before the first fault: planning, driver alone", f"{1000 * costs.planning:.2f} ms per job"),
        ("driver, from one job to the next, store included", f"{1000 * mean(job.driver for job in jobs):.2f} ms"),
    ]
    return markdown(["what", "measured"], rows)


def _operators(jobs: Sequence[FaultJob]) -> str:
    rows = []
    for operator in dict.fromkeys(job.operator for job in jobs):
        group = [job for job in jobs if job.operator == operator]
        seconds = [job.seconds for job in group]
        cells = (str(len(group)), f"{mean(job.faults for job in group):.1f}", f"{mean(seconds):.2f} s")
        rows.append([operator or "harmless changes", *cells, f"{max(seconds):.2f} s"])
    return markdown(["operator", "jobs", "faults per job", "mean", "slowest"], rows)


def _search_costs(costs: SearchCosts) -> str:
    rows = [
        ("one mutant on one set of inputs", f"{costs.probe_seconds:.2f} s ({costs.instances:.0f} instances)"),
        ("its job, sent, with what earlier probes of its search found", _size(costs.sent)),
        ("its result, returned and stored during the search", _size(costs.returned)),
        ("size in the file per job when the campaign is done", _size(costs.kept)),
        ("networks, data and clean passes, sent once to each worker", _size(costs.work)),
    ]
    return markdown(["what", "measured"], rows)


def _engine_costs(costs: EngineCosts) -> str:
    each = {**costs.driver, "ray, one per call": costs.call_driver}
    rows = [
        (f"driver, an empty job, {name}, store included", f"{1000 * seconds:.2f} ms of processor time")
        for name, seconds in each.items()
    ]
    rows.append(("the same, for each 1,000 calls that are under way on ray", f"{1e6 * costs.pending:.2f} ms more"))
    for name, rate in {**costs.rate, "ray, one per call": 1 / costs.call}.items():
        rows.append((f"empty jobs, {name}, without a store", f"{rate:,.0f} per second"))
    rows.append(("verification of a file when a command opens it for writing", f"{_size(costs.checked)} per second"))
    return markdown(["what", "measured"], rows)


def _table(found: Mapping[str, Case], runs: Runs) -> str:
    rows = []
    for name, case in found.items():
        cells = [f"{_time(runs[name][w].seconds)} ({runs[name][w].limit}, {runs[name][w].busy:.0%})" for w in WORKERS]
        rows.append([case.title, f"{case.times.size:,}", *cells])
    return markdown(["campaign", "jobs", *(f"{workers:,} worker{'s' * (workers > 1)}" for workers in WORKERS)], rows)


def _idle(found: Mapping[str, Case], runs: Runs) -> str:
    rows = []
    for name, case in found.items():
        run = runs[name][WORKERS[-1]]
        shares = (run.busy, run.before, run.between, run.after)
        rows.append([case.title, f"{case.times.size / WORKERS[-1]:,.1f}", *(f"{share:.0%}" for share in shares)])
    head = ["campaign", "jobs per worker", "busy", "before the first job", "between jobs", "after the last job"]
    return markdown(head, rows)


def _designs(faults: Mapping[str, Case]) -> str:
    rows = []
    for name in ("more", "100 x", "more, 100 x"):
        found = designs(faults[name], PARTS)
        cells = [f"{_time(run.seconds)} ({run.limit}, {run.busy:.0%})" for run in found.values()]
        rows.append([faults[name].title, *cells])
    return markdown(["campaign on 1,000 workers", *found], rows)


def _time(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.0f} s"


DRAWN = ("faults", "more", "100 x", "more, 100 x", "searches, 100 x", "trainings")


def draw(found: Mapping[str, Case], runs: Runs, path: Path) -> bool:
    """How much faster than one worker, both axes logarithmic."""
    pyplot = styled()
    drawing, panel = pyplot.subplots(figsize=(7.2, 4.2), layout="constrained")
    panel.plot(WORKERS, WORKERS, color=GRAY, linewidth=1, linestyle=":", label="as many times as workers")
    for (name, case), color, mark in zip(found.items(), COLORS, MARKS, strict=True):
        gains = [runs[name][WORKERS[0]].seconds / runs[name][workers].seconds for workers in WORKERS]
        panel.plot(WORKERS, gains, color=color, marker=mark, label=case.title)
    panel.set(xscale="log", yscale="log", xlabel="workers", ylabel="times as fast as one worker")
    panel.set_xticks(WORKERS, [f"{workers:,}" for workers in WORKERS])
    panel.set_yticks(WORKERS, [f"{workers:,}" for workers in WORKERS])
    panel.minorticks_off()
    panel.grid(axis="y", alpha=0.3)
    panel.legend(frameon=False, loc="upper left", fontsize="small")
    drawing.savefig(path, dpi=DPI)
    pyplot.close(drawing)
    return True
