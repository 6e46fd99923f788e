"""What engines and the searches of the method muff cost: seconds of the driver, bytes, and seconds of the work."""

from __future__ import annotations

import logging
import pickle
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from types import ModuleType
from typing import Any

import numpy as np

import mutiny
from mutiny.campaigns.campaign_run import CampaignRun
from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.engines.processes import Processes
from mutiny.campaigns.engines.ray import Ray
from mutiny.campaigns.engines.serial import Serial
from mutiny.campaigns.jobs import Job, JobResult, WithScratch, Work
from mutiny.campaigns.schedule import ask
from mutiny.campaigns.stores.base import Campaign
from mutiny.campaigns.stores.sqlite import SqliteStore
from studies.scale.assessment import today

EMPTY = 3000
OPERATORS = "WI,GF,NEB"


@dataclass(frozen=True)
class SearchCosts:
    """Means over the jobs of MUFF's searches.

    Attributes:
        measured: date of the measurement.
        subject: what was assessed, in words.
        probe_seconds: of one mutant with all its instances on one set of inputs.
        instances: of a mutant.
        sent: bytes of a probe as it goes to a worker.
        returned: bytes of its result, which the store has while the search goes on.
        kept: bytes that stay when the search is done.
        work: bytes of networks, data and clean passes.
    """

    measured: str
    subject: str
    probe_seconds: float
    instances: float
    sent: float
    returned: float
    kept: float
    work: float


@dataclass(frozen=True)
class EngineCosts:
    """What empty jobs cost.

    Attributes:
        measured: date of the measurement.
        driver: processor seconds of the driver for an empty job, store included, by engine.
        call_driver: the same on Ray, with one job per call.
        pending: processor seconds that each call which is under way adds to another one, on Ray.
        rate: empty jobs in a second, by engine, without a store.
        call: seconds of a call on Ray that carries one empty job.
        checked: bytes of a file that are checked in a second when a writer opens it.
    """

    measured: str
    driver: dict[str, float]
    call_driver: float
    pending: float
    rate: dict[str, float]
    call: float
    checked: float


class Weighing(Serial):
    """Runs tasks here, and weighs them as they would travel."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.returned: list[int] = []
        self.seconds: list[float] = []
        self.instances: list[int] = []
        self.work = 0

    def run(self, work: Work, tasks: Iterable[Job | None]) -> Iterator[JobResult]:
        """As `Serial` does."""
        for result in super().run(work, self._weighed(tasks)):
            if result.job.kind == "probe":
                self.returned.append(len(pickle.dumps(result.value)))
                self.seconds.append(result.seconds)
                judged = result.value.value if isinstance(result.value, WithScratch) else result.value
                self.instances.append(judged.record.instances)
            yield result
        self.work = max(self.work, weight(work))

    def _weighed(self, tasks: Iterable[Job | None]) -> Iterator[Job | None]:
        for task in tasks:
            if task is not None and task.kind == "probe":
                self.sent.append(len(pickle.dumps(task)))
            yield task


def weight(work: Any) -> int:
    """Bytes of a work as it is sent."""
    import cloudpickle

    return len(cloudpickle.dumps(work))


def nothing(task: Job) -> None:
    """An empty task."""


def searches(data: Path | None) -> SearchCosts:
    """Assesses ten networks by the method muff, in this process."""
    subject = mutiny.load_subject("mnist/lenet5" if data else "digits", data)
    weighing = Weighing()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.mutiny"
        mutiny.assess(subject, OPERATORS, engine=weighing, store=file, originals=10, method="muff")
        with SqliteStore(file, write=False) as store:
            tasks = sum(store.tally(store.campaigns()[0].id).done.values())
        kept = file.stat().st_size / tasks
    return SearchCosts(
        measured=today(),
        subject="ten LeNet-5 on MNIST" if data else "ten small networks on scikit-learn's digits",
        probe_seconds=mean(weighing.seconds),
        instances=mean(weighing.instances),
        sent=mean(weighing.sent),
        returned=mean(weighing.returned),
        kept=kept,
        work=weighing.work,
    )


def engines() -> EngineCosts:
    """Runs empty jobs on every engine."""
    all_: dict[str, Engine] = {"serial": Serial(), "processes": Processes(2), "ray": Ray(workers=2)}
    driver, rate = {}, {}
    for name, engine in all_.items():
        with engine:
            rate[name] = EMPTY / _seconds(engine)
            driver[name] = _driver(engine) / EMPTY
    with Ray(workers=2, batch=1) as alone:
        call = _seconds(alone) / EMPTY
        call_driver = _driver(alone) / EMPTY
    return EngineCosts(today(), driver, call_driver, pending(), rate, call, _checked())


def pending(most: int = 1000, calls: int = 200) -> float:
    """Processor seconds per call and per call under way: the driver asks Ray about all of them for each result."""
    import ray

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        empty = ray.remote(lambda: None)
        waiting = [empty.options(resources={"missing": 1}).remote() for _ in range(most)]
        few, many = (_waited(ray, empty, waiting[:under_way], calls) for under_way in (1, most))
    finally:
        ray.shutdown()
    return max(0.0, many - few) / calls / (most - 1)


def _waited(ray: ModuleType, empty: Any, waiting: list[Any], calls: int) -> float:
    ray.get([empty.remote() for _ in range(50)])  # the worker is there
    start = time.process_time()
    for _ in range(calls):
        under_way = [*waiting, empty.remote()]
        ray.wait(under_way, num_returns=1)
        done, _ = ray.wait(under_way, num_returns=len(under_way), timeout=0)
        ray.get(done)
    return time.process_time() - start


def _checked(results: int = 100, size: int = 3_000_000) -> float:
    """Bytes in a second: a file with results as large as those of a search, which nothing compresses."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.mutiny"
        with SqliteStore(file) as store:
            store.open(Campaign("large", "scale", "nothing"))
            for number in range(results):
                store.save("large", JobResult(Job("large", number), np.random.default_rng(number).bytes(size)))
        start = time.perf_counter()
        SqliteStore(file).close()
        return file.stat().st_size / (time.perf_counter() - start)


def _seconds(engine: Engine) -> float:
    list(engine.run(nothing, (Job("warm", number) for number in range(4))))
    start = time.perf_counter()
    assert sum(1 for _ in engine.run(nothing, (Job("empty", number) for number in range(EMPTY)))) == EMPTY
    return time.perf_counter() - start


def _driver(engine: Engine) -> float:
    """Processor seconds of this process for empty tasks, with plans and a store."""

    async def plan(number: int) -> None:
        await ask(Job("empty", number))

    with tempfile.TemporaryDirectory() as folder, SqliteStore(Path(folder) / "a.mutiny") as store:
        running = CampaignRun(Campaign("empty", "scale", "nothing"), engine, store)
        start = time.process_time()
        running.run(nothing, [plan(number) for number in range(EMPTY)])
        return time.process_time() - start
