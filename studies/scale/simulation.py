"""A campaign with one driver and many workers, event by event."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Costs:
    """What things take that are not the work itself.

    Attributes:
        task: seconds of the driver for each task: planning, the store, waking up the plan that waits.
        call: seconds of the driver for each message to a worker, with whatever number of tasks in it.
        bandwidth: bytes that the driver sends or receives in a second.
        sent: bytes of a task on its way to a worker.
        returned: bytes of its result.
        work: bytes that every worker needs before its first task: networks, data, clean passes.
        start: seconds until a worker is ready to receive them.
        batch: most tasks in one message.
    """

    task: float
    call: float
    bandwidth: float
    sent: float
    returned: float
    work: float
    start: float
    batch: int = 1


@dataclass(frozen=True)
class Load:
    """What is to be done: chains of steps, each of which must be complete before the next one is known.

    Attributes:
        chains: searches that do not wait for one another.
        steps: probes of a search.
        wide: tasks of a step.
        seconds: mean time of a task.
        spread: of its logarithm.
    """

    chains: int
    steps: int
    wide: int
    seconds: float
    spread: float = 0.5

    @property
    def tasks(self) -> int:
        """How many in all."""
        return self.chains * self.steps * self.wide


@dataclass(frozen=True)
class Run:
    """What a simulated campaign took.

    Attributes:
        seconds: from the first task to the last result.
        busy: share of the workers' time spent on tasks.
        bounds: seconds below which it cannot be, by what takes them.
    """

    seconds: float
    busy: float
    bounds: dict[str, float]

    @property
    def limit(self) -> str:
        """What keeps it from being faster than it is."""
        return max(self.bounds, key=lambda name: self.bounds[name])


def simulate(load: Load, costs: Costs, workers: int, seed: int = 0) -> Run:
    """One campaign: the driver does one thing at a time, results first; a worker has one message at a time."""
    rng = np.random.default_rng(seed)
    times = rng.lognormal(np.log(load.seconds) - load.spread**2 / 2, load.spread, load.tasks)
    times = times.reshape(load.chains, load.steps, load.wide)
    ready = deque((chain, 0, place) for chain in range(load.chains) for place in range(load.wide))
    missing, left = dict.fromkeys(range(load.chains), load.wide), load.tasks
    copies = np.ceil(np.log2(np.arange(workers) + 2))  # whoever has the work passes it on
    free = [(costs.start + costs.work / costs.bandwidth * float(copy)) for copy in copies]
    heapq.heapify(free)
    under_way: list[tuple[float, int, list[tuple[int, int, int]]]] = []
    now = driver = spent = 0.0
    number = 0
    while left:
        if under_way and under_way[0][0] <= now:
            done, _, batch = heapq.heappop(under_way)
            cost = len(batch) * (costs.task + costs.returned / costs.bandwidth)
            now, driver, left = now + cost, driver + cost, left - len(batch)
            heapq.heappush(free, max(done, now))
            for chain, step, _ in batch:
                missing[chain] -= 1
                if not missing[chain] and step + 1 < load.steps:
                    missing[chain] = load.wide
                    ready.extend((chain, step + 1, place) for place in range(load.wide))
        elif ready and free and free[0] <= now:
            heapq.heappop(free)
            size = max(1, min(costs.batch, len(ready) // workers))
            batch = [ready.popleft() for _ in range(size)]
            cost = costs.call + len(batch) * costs.sent / costs.bandwidth
            now, driver = now + cost, driver + cost
            takes = sum(float(times[each]) for each in batch)
            spent += takes
            number += 1
            heapq.heappush(under_way, (now + takes, number, batch))
        else:
            soonest = [under_way[0][0]] if under_way else []
            now = min([*soonest, free[0]] if ready and free else soonest)
    bounds = {
        "workers": spent / workers,
        "driver": driver,
        "longest search": float(times.max(axis=2).sum(axis=1).max()),
        "start": costs.start + costs.work / costs.bandwidth,
    }
    return Run(now, spent / (now * workers), bounds)
