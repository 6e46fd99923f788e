"""One call of `mutiny.repair`, what it proposed, and its verdict as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import mutiny
from mutiny.core.progress import Progress
from mutiny.models import Patch
from mutiny.verbs.repair.base import RepairMethod
from mutiny.verbs.repair.methods import as_repair
from mutiny.verbs.repair.problem import RepairProblem
from mutiny.verbs.repair.result import Repair
from studies.clock import Clock
from studies.deepfault.lab import BATCH, Network, Settings

METHODS: Mapping[str, str] = {
    "search": "search(population=10, generations=3)",
    "scale": "scale(population=10, generations=3)",
    "tune": "tune(epochs=2)",
}
"""By name, and what a quick run takes in place of their usual settings."""
VERDICT = (
    "failures held_out_failures repaired repair_rate repair_low repair_high break_rate break_low break_high "
    "gain gain_low gain_high inputs before after weights seconds cpu_seconds"
).split()
"""Failures that were to be mended; all else is about held-out inputs, of which ``before`` and ``after`` are right."""


@dataclass(frozen=True, eq=False)
class Overheard(RepairMethod):
    """A method whose proposals are kept, for `repair` tells nothing of patches that it does not take.

    Args:
        method: that works.
        proposed: filled by it.
    """

    code: ClassVar[str] = "overheard"
    title: ClassVar[str] = "another method, overheard"
    source: ClassVar[str] = "this study"

    method: RepairMethod
    proposed: list[Patch] = field(default_factory=list)

    def patches(self, problem: RepairProblem, progress: Progress) -> Sequence[Patch]:
        """Those of the method."""
        found = self.method.patches(problem, progress)
        self.proposed.extend(found)
        return found

    def __str__(self) -> str:
        return str(self.method)


@dataclass(frozen=True, eq=False)
class Mending:
    """What `repair` found, what the method proposed, and how long it took."""

    repair: Repair
    proposed: tuple[Patch, ...]
    spent: Mapping[str, float]

    def columns(self) -> dict[str, Any]:
        """The verdict on held-out inputs."""
        found, change = self.repair, self.repair.held_out
        return {
            "failures": found.target["failures"],
            "held_out_failures": change.repaired.total,
            "repaired": int(found.repaired),
            "repair_rate": change.repaired.value,
            "repair_low": change.repaired.interval.low,
            "repair_high": change.repaired.interval.high,
            "break_rate": change.broken.value,
            "break_low": change.broken.interval.low,
            "break_high": change.broken.interval.high,
            "gain": change.gain,
            "gain_low": change.gain_interval.low,
            "gain_high": change.gain_interval.high,
            "inputs": change.inputs,
            "before": change.before,
            "after": change.after,
            "weights": found.weights,
            **self.spent,
        }


def mend(
    network: Network, name: str, settings: Settings, seed: int, target: str = "all", layers: Sequence[str] | None = None
) -> Mending:
    """Repairs a network with the inputs of the test set."""
    method = Overheard(as_repair(METHODS[name] if settings.quick else name))
    clock = Clock()
    found = mutiny.repair(
        network.model, method, target=target, data=network.subject.test, task=network.subject.task,
        forward=network.forward, layers=layers, seed=seed, batch_size=BATCH,
    )  # fmt: skip
    return Mending(found, tuple(method.proposed), clock.lap())
