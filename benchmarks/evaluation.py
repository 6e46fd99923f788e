"""What a mutant instance costs beyond its forward passes, against a bare loop and against copying the model.

python -m benchmarks.evaluation [--quick] [--json FILE]
"""

from __future__ import annotations

import copy

import numpy as np
import torch

from benchmarks.command import run
from benchmarks.timing import entry, ratio
from mutiny.architectures import DigitsCnn, ResNet20
from mutiny.data import as_data
from mutiny.evaluation import Runner
from mutiny.models import default_forward
from mutiny.operators import NeuronInhibitor, WeightInhibitor
from mutiny.random import generator_for
from mutiny.task import Classification


def measure(quick: bool, _data: object) -> dict[str, dict[str, object]]:
    rounds, size = (5, 1000) if quick else (15, 4000)
    torch.manual_seed(0)
    rng = generator_for(0, "benchmark")
    images = rng.random((size, 1, 8, 8), dtype=np.float32)
    data = as_data((images, rng.integers(10, size=size)), "train")
    model = DigitsCnn().eval()
    runner = Runner([model], Classification(10), {"train": data}, default_forward, 0, 256)
    inhibited, silenced = WeightInhibitor(factor=0.5), NeuronInhibitor(factor=0.5)
    tensor = torch.from_numpy(images)

    def bare() -> None:
        with torch.inference_mode():
            for batch in tensor.split(256):
                model(batch).argmax(dim=1)

    big = ResNet20().eval()
    big_data = as_data((rng.random((8, 3, 32, 32), dtype=np.float32), np.arange(8)), "train")
    big_runner = Runner([big], Classification(10), {"train": big_data}, default_forward, 0, 8)
    patch = big_runner.patch(inhibited, 0, 0)

    def copying() -> None:
        mutant = copy.deepcopy(big)
        with torch.no_grad():
            for parameter in mutant.parameters():
                parameter.mul_(1.0)

    def patching() -> None:
        with patch.applied(big):
            pass

    return {
        "WI instance against a bare loop": entry(
            ratio(bare, lambda: runner.outcome(inhibited, 0, 0, "train"), rounds), 0.7
        ),
        "NI instance (signals followed) against a bare loop": entry(
            ratio(bare, lambda: runner.outcome(silenced, 0, 0, "train"), rounds), 0.4
        ),
        "patch applied and undone against a copy of ResNet-20": entry(ratio(copying, patching, rounds), 2.0),
    }


if __name__ == "__main__":
    run("evaluation", measure)
