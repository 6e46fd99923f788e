"""What campaigns cost: the store and the schedule over a bare loop, and what more workers gain.

python -m benchmarks.engines [--quick] [--json FILE] [--data DIR]

Tasks are searches for the weakest mutant of LeNet-5, as `assess` does them; with --data the inputs are MNIST's,
otherwise digits drawn from scikit-learn's. Workers are started before the clock is; the work is sent to them while it
runs. Ray is left out if it is not installed. Needs two idle cores, half an hour, or five minutes with --quick: seconds
are those of the wall.
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median

import torch

from benchmarks.command import run
from benchmarks.subjects import bench
from benchmarks.timing import entry, seconds
from mutiny.campaigns.campaign_run import CampaignRun
from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.engines.processes import Processes
from mutiny.campaigns.engines.ray import Ray
from mutiny.campaigns.engines.serial import Serial
from mutiny.campaigns.jobs import Job
from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.progress import Silent
from mutiny.faults.evaluation import Runner, Screening
from mutiny.faults.parsing import as_operators
from mutiny.models import default_forward
from mutiny.subjects.tasks import Classification
from mutiny.verbs.assess.muff.judge import MutantJudge
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.operator_run import OperatorRun
from mutiny.verbs.assess.muff.search import Search, binary_search

CODES = "WI,GF,NEB,NAI,NI,WS"
OVERHEAD_GOAL, SPEED_GOAL, EMPTY_GOAL = 1.03, 1.8, 200.0
WORKERS = 2


@dataclass(frozen=True)
class Sizes:
    """How much is evaluated, and how often."""

    originals: int
    inputs: int
    epochs: int | None
    search: Search
    rounds: int
    empty: int


FULL = Sizes(10, 10_000, None, Search(max_probes=4), 1, 4000)
QUICK = Sizes(5, 4000, 2, Search(max_probes=3), 1, 1000)


def prepared(sizes: Sizes, data: Path | None) -> Runner:
    """Originals with their clean passes."""
    found = bench("lenet5", sizes.originals, sizes.inputs, sizes.epochs, data)
    half = len(found.train) // 2
    splits = {"train": found.train.subset(range(half)), "test": found.train.subset(range(half, 2 * half))}
    runner = Runner(found.models, Classification(10, "logits"), splits, default_forward, 0)
    for split in splits:
        runner.clean_outcomes(split)
    return runner


def runs(runner: Runner, sizes: Sizes) -> list[OperatorRun]:
    rule = KillRule().resolve(sizes.originals)
    return [
        OperatorRun(MutantJudge(runner, operator, operator.code, rule, sizes.search, Screening(least_work=0)))
        for operator in as_operators(CODES)
    ]


def bare(runner: Runner, sizes: Sizes) -> None:
    """The same mutants, judged in plain loops."""
    for each in runs(runner, sizes):
        judge, bounds = each.judge, sizes.search.bounds(each.operator.bounds)
        found = [
            binary_search(lambda s, j=judge, split=split: j(s, split).record.verdict, bounds, sizes.search)
            for split in each.sets
        ]
        for strength in found[0].archive:
            for split in each.sets[1:]:
                judge(strength, split)


NUMBERS = count()


@dataclass(frozen=True)
class Judges:
    """Does the jobs of all operators."""

    by_label: dict[str, MutantJudge]

    def __call__(self, job: Job) -> object:
        """The verdict on a mutant."""
        return self.by_label[job.arguments[0]].work(job)


def campaign(runner: Runner, sizes: Sizes, engine: Engine, store: Store | None = None) -> None:
    """All plans, through an engine and a store."""
    found = runs(runner, sizes)
    work = Judges({each.label: each.judge for each in found})
    running = CampaignRun(Campaign(str(next(NUMBERS)), "benchmark", "lenet5"), engine, store)
    running.run(work, [each.plan(Silent()) for each in found])


def stored(runner: Runner, sizes: Sizes) -> None:
    with tempfile.TemporaryDirectory() as folder, SqliteStore(Path(folder) / "a.mutiny") as store:
        campaign(runner, sizes, Serial(), store)


def nothing(task: Job) -> None:
    """An empty task."""


def per_second(engine: Engine, tasks: int) -> float:
    """Empty tasks in a second."""
    start = time.perf_counter()
    done = sum(1 for _ in engine.run(nothing, (Job("empty", number) for number in range(tasks))))
    assert done == tasks
    return tasks / (time.perf_counter() - start)


def engines() -> Iterator[tuple[str, Engine]]:
    yield "processes", Processes(WORKERS)
    if importlib.util.find_spec("ray") is not None:  # the engine itself asks for it only when it runs
        yield "ray", Ray(workers=WORKERS)


def turns(rounds: int, *ways: Callable[[], object]) -> list[float]:
    """Median seconds of each, measured in turns."""
    found = [[seconds(way) for way in ways] for _ in range(rounds)]
    return [median(column) for column in zip(*found, strict=True)]


def threads(number: int, work: Callable[[], object]) -> Callable[[], object]:
    def with_threads() -> object:
        before = torch.get_num_threads()
        torch.set_num_threads(number)
        try:
            return work()
        finally:
            torch.set_num_threads(before)

    return with_threads


def measure(quick: bool, data: Path | None) -> dict[str, dict[str, object]]:
    """All ratios."""
    sizes = QUICK if quick else FULL
    torch.set_num_threads(1)
    runner = prepared(sizes, data)
    bare(runner, sizes)
    plain, kept = turns(2 * sizes.rounds, lambda: bare(runner, sizes), lambda: stored(runner, sizes))
    results = {"store and serial / bare loop": entry(kept / plain, OVERHEAD_GOAL, "lower")}
    results["serial, empty tasks"] = entry(per_second(Serial(), 10 * sizes.empty), EMPTY_GOAL, unit=" / s")
    for name, engine in engines():
        with engine:
            per_second(engine, WORKERS)
            one, two, ours = turns(
                sizes.rounds,
                lambda: campaign(runner, sizes, Serial()),
                threads(2, lambda: campaign(runner, sizes, Serial())),
                lambda engine=engine: campaign(runner, sizes, engine),
            )
            results[f"{name}, 2 workers / serial, 1 thread"] = entry(one / ours, SPEED_GOAL)
            results[f"{name}, 2 workers / serial, 2 threads"] = entry(two / ours, 1.0)
            results[f"{name}, empty tasks"] = entry(per_second(engine, sizes.empty), EMPTY_GOAL, unit=" / s")
    return results


if __name__ == "__main__":
    run("campaigns", measure)
