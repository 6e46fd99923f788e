"""The campaigns that are simulated: 10,000 mutant instances each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mutiny.campaigns.engines.ray_calls import SECONDS
from studies.scale.measuring import Measured
from studies.scale.simulation import Costs, Load

WORKERS = (1, 10, 100, 1000)
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
    """A campaign with what its messages cost."""

    title: str
    load: Load
    costs: Costs


def cases(measured: Measured) -> Mapping[str, Case]:
    """Searches of mutants as measured and of a network a hundred times as slow; trainings; and designs not used."""
    searches = Load(chains=46, steps=11, wide=1, seconds=measured.probe_seconds)
    costs = Costs(
        task=measured.driver["processes"], call=0.0, bandwidth=BANDWIDTH, sent=measured.sent,
        returned=measured.returned, work=measured.work, start=START,
    )  # fmt: skip
    trainings = Load(chains=84, steps=6, wide=20, seconds=TRAINING)
    seeds = replace(costs, sent=SMALL, returned=20 * SMALL)
    tiny = Load(chains=1, steps=1, wide=10_000, seconds=0.01)
    batch = int(SECONDS / tiny.seconds)  # what the engine puts into one call
    return {
        "searches": Case("searches", searches, costs),
        "100 x": Case("searches, 100 times as slow", replace(searches, seconds=100 * searches.seconds), costs),
        "trainings": Case("trainings of a minute", trainings, seeds),
        "weights": Case(
            "the same, weights and answers sent", trainings, replace(seeds, sent=WEIGHTS, returned=OUTPUTS)
        ),
        "tiny": Case("jobs of 10 ms, one per call", tiny, replace(seeds, call=measured.call)),
        "batches": Case(
            f"jobs of 10 ms, up to {batch} per call", tiny, replace(seeds, call=measured.call, batch=batch)
        ),
    }
