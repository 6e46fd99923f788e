"""What could be gained by not recomputing what a patch cannot change: upper bounds, measured.

python -m benchmarks.reuse [--quick] [--json FILE]

Three ideas, none of which mutiny uses: keep the activations before the first touched layer; recompute only the touched
channels of that layer; compute once what is linear in the strength, which is that layer's own output. For each operator
the most that a forward pass could save is the time spent before, or in, the first layer that its patches touch.
"""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from torch import nn

from benchmarks.command import run
from benchmarks.timing import entry
from mutiny.core.errors import NotApplicable
from mutiny.core.random import generator_for
from mutiny.faults.evaluation import Runner
from mutiny.faults.parsing import as_operators
from mutiny.models import default_forward
from mutiny.subjects.architectures import LeNet5, MnistCnn, ResNet20
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification

OPERATORS = "WI,NI,GF,WS,NEB,NAI,NS,LR,LA,LD,AFR"
SHAPES = {LeNet5: (1, 28, 28), MnistCnn: (1, 28, 28), ResNet20: (3, 32, 32)}


def measure(quick: bool, _data: Path | None) -> dict[str, dict[str, object]]:
    torch.set_num_threads(1)
    results: dict[str, dict[str, object]] = {}
    for network, shape in SHAPES.items():
        torch.manual_seed(0)
        rng, model = generator_for(0, "reuse"), network().eval()
        inputs = as_data((rng.random((64, *shape), dtype=np.float32), np.arange(64) % 10), "train")
        runner = Runner([model], Classification(10, "logits"), {"train": inputs}, default_forward, 0, 64)
        begins, ends = timeline(model, inputs.first(64), 3 if quick else 10)
        for operator in as_operators(OPERATORS):
            try:
                patches = [runner.patch(operator, 0, repetition) for repetition in range(20 if quick else 100)]
            except NotApplicable:
                continue
            first = [patch.first_layer.split(":")[0] for patch in patches]
            known = [name for name in first if name in begins]
            before = float(np.mean([begins[name] for name in known])) if known else 0.0
            within = float(np.mean([ends[name] - begins[name] for name in known])) if known else 0.0
            name = f"{network.__name__}, {operator.code}"
            results[f"{name}: most by keeping what comes before"] = entry(1 / (1 - before), 1.0)
            results[f"{name}: most by not recomputing the first touched layer"] = entry(1 / (1 - within), 1.0)
    return results


def timeline(model: nn.Module, inputs: torch.Tensor, rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """When each module without children begins and ends, as shares of a forward pass."""
    marks: dict[str, list[float]] = defaultdict(list)
    handles = []
    for name, module in model.named_modules():
        if not list(module.children()):
            handles.append(
                module.register_forward_pre_hook(lambda *_, n=name: marks[f"+{n}"].append(time.perf_counter()))
            )
            handles.append(module.register_forward_hook(lambda *_, n=name: marks[f"-{n}"].append(time.perf_counter())))
    starts, totals = [], []
    with torch.inference_mode():
        model(inputs)
        marks.clear()
        for _ in range(rounds):
            starts.append(time.perf_counter())
            model(inputs)
            totals.append(time.perf_counter() - starts[-1])
    for handle in handles:
        handle.remove()
    shares = {
        name: float(
            np.median([(m - s) / t for m, s, t in zip(times[:: len(times) // rounds], starts, totals, strict=True)])
        )
        for name, times in marks.items()
    }
    return ({n[1:]: v for n, v in shares.items() if n[0] == "+"}, {n[1:]: v for n, v in shares.items() if n[0] == "-"})


if __name__ == "__main__":
    run("reuse", measure)
