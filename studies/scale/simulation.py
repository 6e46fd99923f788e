"""A campaign with one driver and many workers, event by event."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.float64]
"""Seconds of every job, ``(chains, steps, wide)``; a step begins when the step before it is complete."""


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
        before: seconds before workers are started: clean passes, pre-flights, planning.
        load: seconds of a worker between receiving the work and its first task.
    """

    task: float
    call: float
    bandwidth: float
    sent: float
    returned: float
    work: float
    start: float
    batch: int = 1
    before: float = 0.0
    load: float = 0.0


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

    def times(self, seed: int = 0) -> Times:
        """Random durations."""
        rng = np.random.default_rng(seed)
        times = rng.lognormal(np.log(self.seconds) - self.spread**2 / 2, self.spread, self.tasks)
        return times.reshape(self.chains, self.steps, self.wide)


@dataclass(frozen=True)
class Run:
    """What a simulated campaign took.

    Attributes:
        seconds: from the start of the campaign to the last result.
        busy: share of the workers' time spent on tasks.
        before: share of it that passes before the first task of a worker.
        between: share of it that passes between the tasks of a worker.
        after: share of it that passes after the last task of a worker, or without any.
        bounds: seconds below which it cannot be, by what takes them.
    """

    seconds: float
    busy: float
    before: float
    between: float
    after: float
    bounds: dict[str, float]

    @property
    def limit(self) -> str:
        """What keeps it from being faster than it is."""
        return max(self.bounds, key=lambda name: self.bounds[name])


def simulate(times: Times, costs: Costs, workers: int) -> Run:
    """One campaign: the driver does one thing at a time, results first; a worker has one message at a time."""
    chains, steps, wide = map(int, times.shape)
    ready = deque((chain, 0, place) for chain in range(chains) for place in range(wide))
    missing, left = dict.fromkeys(range(chains), wide), times.size
    copies = np.ceil(np.log2(np.arange(workers) + 2))  # whoever has the work passes it on
    started = costs.before + costs.start
    free = [(started + costs.work / costs.bandwidth * float(copy) + costs.load, n) for n, copy in enumerate(copies)]
    heapq.heapify(free)
    under_way: list[tuple[float, int, int, list[tuple[int, int, int]]]] = []
    first, last = dict[int, float](), dict[int, float]()
    now = driver = spent = 0.0
    number = 0
    while left:
        if under_way and under_way[0][0] <= now:
            done, _, worker, batch = heapq.heappop(under_way)
            last[worker] = done
            cost = len(batch) * (costs.task + costs.returned / costs.bandwidth)
            now, driver, left = now + cost, driver + cost, left - len(batch)
            heapq.heappush(free, (max(done, now), worker))
            for chain, step, _ in batch:
                missing[chain] -= 1
                if not missing[chain] and step + 1 < steps:
                    missing[chain] = wide
                    ready.extend((chain, step + 1, place) for place in range(wide))
        elif ready and free and free[0][0] <= now:
            _, worker = heapq.heappop(free)
            size = max(1, min(costs.batch, len(ready) // workers))
            batch = [ready.popleft() for _ in range(size)]
            cost = costs.call + len(batch) * costs.sent / costs.bandwidth
            now, driver = now + cost, driver + cost
            first.setdefault(worker, now)
            takes = sum(float(times[each]) for each in batch)
            spent += takes
            number += 1
            heapq.heappush(under_way, (now + takes, number, worker, batch))
        else:
            soonest = [under_way[0][0]] if under_way else []
            now = min([*soonest, free[0][0]] if ready and free else soonest)
    whole = now * workers
    before, after = sum(first.values()), sum(now - last.get(worker, 0.0) for worker in range(workers))
    bounds = {
        "workers": spent / workers,
        "driver": driver,
        "longest search" if steps > 1 else "longest job": float(times.max(axis=2).sum(axis=1).max()),
        "start": started + costs.work / costs.bandwidth + costs.load,
    }
    return Run(now, spent / whole, before / whole, 1 - (spent + before + after) / whole, after / whole, bounds)
