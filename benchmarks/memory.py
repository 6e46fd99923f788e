"""How much memory a campaign gains with each job, once it is under way.

python -m benchmarks.memory [--quick] [--json FILE] [--data DIR]

With --data the inputs are MNIST's, otherwise digits drawn from scikit-learn's; the network is LeNet-5. Jobs run in this
process. Memory is what only this process uses, as Linux reports it; the gain is the slope over the second half of the
jobs, when everything that is made once is there. Faults and verdicts are results and stay; answers at other strengths,
which the method muff needs during a search, must not.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

import mutiny
from benchmarks.command import run
from benchmarks.notice import QUICK, subject_of
from benchmarks.timing import entry

FAULTS_GOAL, PROBES_GOAL = 60.0, 1000.0
"""Megabytes per 1,000 jobs: 20 to 30 kB for the faults of a job, and a bit per input and instance of a mutant."""
OPERATORS = "WI,NEB,GF,NI,WS,NAI"


@dataclass
class MemoryProgress:
    """Notes how much memory is used after each step of a stage."""

    stages: dict[str, list[int]] = field(default_factory=dict)
    now: str = ""

    def stage(self, title: str, total: int) -> None:  # noqa: ARG002, as `Progress` has it
        self.now = title
        self.stages[title] = []

    def step(self, note: str = "", done: int = 1) -> None:  # noqa: ARG002
        self.stages[self.now].append(private_bytes())


def private_bytes() -> int:
    """Bytes in memory that this process does not share."""
    gc.collect()
    resident, shared = map(int, Path("/proc/self/statm").read_text().split()[1:3])
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def gain(used: Sequence[int]) -> float:
    """Megabytes per 1,000 steps in the second half."""
    later = np.asarray(used[len(used) // 2 :]) / 1e6
    return 1000 * float(np.polyfit(np.arange(len(later)), later, 1)[0])


def measure(quick: bool, data: Path | None) -> dict[str, dict[str, object]]:
    """All gains."""
    torch.set_num_threads(1)
    subject = subject_of(QUICK, data)
    ways: dict[str, tuple[str, float, dict[str, Any]]] = {
        "notice rate": ("finding faults", FAULTS_GOAL, {"seeds": 10 if quick else 100}),
        "muff": ("searching mutants", PROBES_GOAL, {"method": "muff", "search": mutiny.Search(max_probes=4)}),
    }
    results = {}
    for name, (stage, goal, more) in ways.items():
        progress = MemoryProgress()
        mutiny.assess(subject, OPERATORS, originals=2, batch_size=256, progress=progress, **more)
        used = progress.stages[stage]
        label = f"memory: {name} on {subject.name}, gained per 1,000 of {len(used)} jobs"
        results[label] = entry(gain(used), goal, "lower", " MB")
    return results


if __name__ == "__main__":
    run("memory", measure)
