"""Tables 3 to 10: inputs that exercise suspects, or others: do they fail, how far are they, how long does it take?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

import mutiny
from mutiny.core.stats import mann_whitney
from mutiny.models import ModelView
from mutiny.models.capture import activations
from mutiny.verbs.locate.synthesis import Synthesis
from studies.clock import Clock
from studies.deepfault.lab import ALL, BATCH, MEASURES, RANDOM, Classes, Lab, Network, Settings, count
from studies.deepfault.subjects import DISTANCE, Family, family_of
from studies.store import Rows

NAME = "synthesis"
NEXT = tuple(f"next_{place}" for place in range(1, 6))
COLUMNS = (
    f"subject network way k measure draw inputs loss accuracy l1 l2 linf limited raised {' '.join(NEXT)} "
    "seconds cpu_seconds"
).split()
TEST_COLUMNS = "subject network way k first second metric first_mean second_mean p_value".split()
METRICS = ("loss", "accuracy")
MOST_LOSS = -math.log(1e-7)
"""Keras lets no probability be less than 1e-7, so that no loss is larger than this."""

Floats = npt.NDArray[np.float64]


def rows(folder: Path) -> Rows:
    return Rows(folder / "synthesis.csv", COLUMNS, 4)


def test_rows(folder: Path) -> Rows:
    """Every pair of strategies, compared over inputs."""
    return Rows(folder / "tests.csv", TEST_COLUMNS, 4)


def units(subject: str, settings: Settings) -> list[tuple[str, ...]]:
    """(network, way, k)."""
    family = family_of(subject)
    return [
        (str(number), way, str(k))
        for number in range(count(subject, settings))
        for way in family.ways
        for k in family.ks
    ]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one strategy did in one draw: a row, and for each input the loss and whether it is still right."""

    row: dict[str, Any]
    loss: Floats
    accuracy: Floats


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Writes the unit's rows: the measures once, the random choice several times."""
    network, way, k = lab.network(int(unit[0]), unit[1]), unit[1], int(unit[2])
    key = dict(zip(COLUMNS, (lab.name, *unit), strict=False))
    found = {
        measure: [outcome(network, lab.family, way, k, measure, draw) for draw in range(draws(measure, lab.settings))]
        for measure in ALL
    }
    test_rows(folder).put(key | row for row in compared(found))
    rows(folder).put(key | one.row for some in found.values() for one in some)  # last: they say that the unit is done
    return True


def draws(measure: str, settings: Settings) -> int:
    """How often; the paper averages a measure over 100 inputs and the random choice over 500."""
    return settings.draws if measure == RANDOM else 1


def outcome(network: Network, family: Family, way: str, k: int, measure: str, draw: int) -> Outcome:
    """Synthesizes once and looks at the new inputs."""
    made, targets, spent = synthesized(network, family, way, k, measure, draw)
    said = network.say(made.inputs)
    loss = functional.cross_entropy(said, targets, reduction="none").clamp_max(MOST_LOSS).double().numpy()
    row: dict[str, Any] = {
        "measure": measure,
        "draw": draw,
        "inputs": len(made),
        "loss": float(loss.mean()),
        "accuracy": 1 - float(made.failed.mean()),
        **{norm: family.top * float(apart.mean()) for norm, apart in made.distances.items()},
        "limited": limited(made.originals, made.inputs),
        "raised": float(made.raised.mean()),
        **spent,
    }
    if measure in MEASURES:
        row |= raised_next(network, family, k, network.suspects(measure, family.ks[-1]), made, targets)
    return Outcome(row, loss, (~made.failed).astype(np.float64))


def synthesized(
    network: Network, family: Family, way: str, k: int, measure: str, draw: int
) -> tuple[Synthesis, Tensor, dict[str, float]]:
    """New inputs, their classes, and seconds."""
    chosen = replace(network.location, by_class=network.suspects(measure, k, draw))
    data, clock = network.inputs(draw), Clock()
    made = mutiny.synthesize(
        network.model, chosen, len(data), ascent=family.ascent(way), data=data, task=network.subject.task,
        forward=network.forward, seed=draw, batch_size=BATCH,
    )  # fmt: skip
    spent = clock.lap()
    return made, torch.from_numpy(data.targets[made.indices].astype(np.int64)), spent


def limited(old: Tensor, new: Tensor) -> float:
    """The share of changed pixels that went as far as they may.

    >>> limited(torch.zeros(1, 4), torch.tensor([[0.1, 0.05, 0.0, -0.1]])) == 2 / 3
    True
    """
    apart = (new - old).abs()
    changed = int((apart > 0).sum())
    return float((apart > 0.999 * DISTANCE).sum()) / changed if changed else 0.0


def raised_next(
    network: Network, family: Family, k: int, ranking: Classes, made: Synthesis, targets: Tensor
) -> dict[str, float]:
    """Tables 6 and 7: the share of the first k' suspects that say more than before, for every k' of at least k."""
    spectrum = network.location.spectrum
    start = dict(zip(spectrum.layers, np.cumsum([0, *spectrum.sizes[:-1]]).tolist(), strict=True))
    view = ModelView.of(network.model, made.originals[:1], network.forward)
    old, new = (
        torch.cat([said[layer] for layer in spectrum.layers], dim=1)
        for said in activations(view, (made.originals, made.inputs), spectrum.layers, network.forward)
    )
    places = {group: [start[one.layer] + one.neuron for one in some] for group, some in ranking.items() if some}
    at = torch.tensor([places[label] for label in targets.tolist()])
    more = (new > old).gather(1, at).double()
    return {
        column: float(more[:, :later].mean()) for column, later in zip(NEXT, family.ks, strict=True) if later >= k
    }  # fmt: skip


def compared(found: dict[str, list[Outcome]]) -> Iterator[dict[str, Any]]:
    """Mann-Whitney's test for every pair and both metrics."""
    for first, second in combinations(ALL, 2):
        for metric in METRICS:
            a, b = (np.concatenate([getattr(one, metric) for one in found[name]]) for name in (first, second))
            means = {"first_mean": float(a.mean()), "second_mean": float(b.mean())}
            yield {"first": first, "second": second, "metric": metric, **means, "p_value": mann_whitney(a, b)}
