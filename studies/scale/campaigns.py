"""The campaigns that are simulated: about 10,000 faults each, unless they say otherwise."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean

import numpy as np

from mutiny.campaigns.engines.ray_calls import SECONDS
from studies.scale.assessment import AssessmentCosts, FaultJob
from studies.scale.measuring import EngineCosts, SearchCosts
from studies.scale.simulation import Costs, Load, Run, Times, simulate

WORKERS = (1, 10, 100, 1000)
FAULTS = 10_000
SLOWER = 100.0
"""How many times as slow as LeNet-5 a large network is."""
PARTS = 5
"""Faults of a job, about."""
BATCH = 8
"""Jobs of one call, if the engine sent several jobs of seconds together."""
BANDWIDTH = 1e9
"""Bytes that a driver sends or receives in a second: a network of 10 gigabits."""
START = 5.0
"""Seconds until a worker has imported torch."""
SMALL = 1000.0
"""Bytes of a task that is a seed, or of a result that is a verdict."""
TRAINING, WEIGHTS, OUTPUTS = 60.0, 1e8, 5e6
"""Seconds of a training; bytes of a network of 25 million weights, and of its answers to 60,000 inputs."""


@dataclass(frozen=True)
class Case:
    """A campaign with what its messages cost.

    Attributes:
        title: What it is, in words.
        times: Seconds of every job.
        costs: What else takes time.
        passes: Clean passes that are jobs of their own, before the first fault.
        clean: Seconds of a clean pass.
        checked: Originals whose pre-flights are jobs of their own, after the clean passes and before the first fault.
        preflight: Seconds of the pre-flight of an original.
        pending: Seconds that each worker adds to the driver's time for a call.
    """

    title: str
    times: Times
    costs: Costs
    passes: int = 0
    clean: float = 0.0
    checked: int = 0
    preflight: float = 0.0
    pending: float = 0.0

    def on(self, workers: int) -> Run:
        """The campaign on so many workers, which start once for the clean passes and once more for the faults."""
        costs, before = self.costs, self.costs.before
        if self.passes:
            before += costs.start + costs.work / costs.bandwidth + math.ceil(self.passes / workers) * self.clean
        before += math.ceil(self.checked / workers) * self.preflight
        return simulate(self.times, replace(costs, before=before, call=costs.call + self.pending * workers), workers)


def fault_times(jobs: Sequence[FaultJob], faults: int, slower: float = 1.0, seed: int = 0) -> Times:
    """Seconds of as many jobs as find about so many faults, in the order in which an assessment plans them.

    The number of random choices grows until there are enough faults. A job takes as long as one that was measured for
    its operator, drawn at random; first and further choices apart, because some operators have a single choice.
    """
    rng = np.random.default_rng(seed)
    first, further = _by_operator(jobs, later=False), _by_operator(jobs, later=True)
    originals = 1 + max(job.original for job in jobs)
    per_choice = {operator: originals * mean(job.faults for job in group) for operator, group in further.items()}
    more = faults - sum(originals * mean(job.faults for job in group) for group in first.values())
    choices = max(0, round(more / sum(per_choice.values())))
    times = []
    for operator, group in first.items():
        seconds, later = ([job.seconds for job in some] for some in (group, further[operator]))
        drawn = np.hstack([rng.choice(seconds, (originals, 1)), rng.choice(later, (originals, choices))])
        times.append(drawn.ravel())
    times.append(np.array([job.seconds for job in jobs if not job.operator]))  # harmless changes
    return slower * np.concatenate(times)[None, None, :]


def _by_operator(jobs: Sequence[FaultJob], later: bool) -> dict[str, list[FaultJob]]:
    groups = defaultdict(list)
    for job in jobs:
        if job.operator and (job.choice > 0) == later:
            groups[job.operator].append(job)
    return groups


def fault_case(
    title: str,
    jobs: Sequence[FaultJob],
    costs: AssessmentCosts,
    engines: EngineCosts,
    faults: int = FAULTS,
    slower: float = 1.0,
) -> Case:
    """A campaign of `assess` on Ray, one job per call, of a network that is so many times as slow."""
    times = fault_times(jobs, faults, slower)
    overhead = Costs(
        task=mean(job.driver for job in jobs),
        call=engines.call_driver - engines.driver["serial"],
        bandwidth=BANDWIDTH,
        sent=mean(job.sent for job in jobs),
        returned=mean(job.returned for job in jobs),
        work=costs.work,
        start=START,
        before=times.size * costs.planning,
        load=costs.loading + slower * costs.first,
    )
    before = costs.passes, slower * costs.clean, costs.checked, slower * costs.preflight
    return Case(title, times, overhead, *before, engines.pending)


def fault_cases(jobs: Sequence[FaultJob], costs: AssessmentCosts, engines: EngineCosts) -> Mapping[str, Case]:
    """Assessments as measured, with more faults, and of slower networks."""
    how = (jobs, costs, engines)
    return {
        "faults": fault_case("10,000 faults", *how),
        "more": fault_case("100,000 faults", *how, faults=10 * FAULTS),
        "10 x": fault_case("10,000 faults, network 10 times as slow", *how, slower=10),
        "100 x": fault_case("10,000 faults, network 100 times as slow", *how, slower=SLOWER),
        "more, 100 x": fault_case("100,000 faults, network 100 times as slow", *how, faults=10 * FAULTS, slower=SLOWER),
    }


def designs(case: Case, parts: int) -> Mapping[str, Run]:
    """A campaign on the most workers as it is, and with designs that are not built.

    Args:
        case: Campaign.
        parts: Faults of a job.
    """
    split = replace(case, times=np.repeat(case.times / parts, parts, axis=2))
    together = replace(case, costs=replace(case.costs, batch=BATCH))
    return {
        "as it is": case.on(WORKERS[-1]),
        "one fault per job": split.on(WORKERS[-1]),
        f"up to {BATCH} jobs per call": together.on(WORKERS[-1]),
    }


def other_cases(searches: SearchCosts, engines: EngineCosts) -> Mapping[str, Case]:
    """Searches by the method muff, trainings, and designs not used."""
    probes = Load(chains=46, steps=11, wide=1, seconds=searches.probe_seconds)
    costs = Costs(
        task=engines.driver["processes"], call=0.0, bandwidth=BANDWIDTH, sent=searches.sent,
        returned=searches.returned, work=searches.work, start=START,
    )  # fmt: skip
    trainings = Load(chains=84, steps=6, wide=20, seconds=TRAINING).times()
    seeds = replace(costs, sent=SMALL, returned=20 * SMALL)
    tiny = Load(chains=1, steps=1, wide=10_000, seconds=0.01)
    batch = int(SECONDS / tiny.seconds)  # what the engine puts into one call
    calls = replace(seeds, call=engines.call)
    return {
        "searches": Case("muff: searches", probes.times(), costs),
        "searches, 100 x": Case(
            "muff: searches, network 100 times as slow", replace(probes, seconds=100 * probes.seconds).times(), costs
        ),
        "trainings": Case("muff: trainings of a minute", trainings, seeds),
        "weights": Case(
            "trainings of a minute, weights and answers sent", trainings, replace(seeds, sent=WEIGHTS, returned=OUTPUTS)
        ),
        "tiny": Case("jobs of 10 ms, one per call", tiny.times(), calls),
        "batches": Case(f"jobs of 10 ms, up to {batch} per call", tiny.times(), replace(calls, batch=batch)),
    }
