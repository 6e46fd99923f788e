"""What selecting inputs costs: against dnn-tip, against the passes that it cannot do without, and in memory.

python -m benchmarks.selection [--quick] [--json FILE] [--data DIR]

With --data the inputs are MNIST's, otherwise digits drawn from scikit-learn's. dnn-tip is compared with if it is
installed: pip install "mutiny-nn[bench]". The quick form is small, so fixed costs weigh more than in the full one.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.against_dnn_tip import Results, compare
from benchmarks.command import run
from benchmarks.subjects import NETWORKS, bench, drawn_digits
from benchmarks.timing import entry, ratio, seconds
from mutiny.core.random import generator_for
from mutiny.models.layout import laid_out, layouts
from mutiny.subjects.data import ArrayData, Data
from mutiny.subjects.inference.passes import Pace
from mutiny.subjects.tasks import Classification
from mutiny.verbs.select import METHODS, McDropout, Nss
from mutiny.verbs.select.evidence import Evidence

TASK = Classification(10, "logits")
MEGABYTE = 2**20
MEMORY_GOAL = 1500
"""Megabytes that selecting may take with everything in it: Python, torch, the model and its inputs."""
WIDE = 4096
"""Units of the layer that is read when memory is measured."""
ENCODERS = {"lenet5": "pool2", "cnn": "pool"}
"""Where NSS reads: the last feature layer before the classifier head."""
BATCH_SIZES = (32, 64, 128, 256, 512)


@dataclass(frozen=True)
class Sizes:
    """How many inputs are measured with, and how often."""

    train: int
    pool: int
    covered: int
    moved: dict[str, int]
    dropped: int
    wide: int
    wide_train: int
    rounds: int


FULL = Sizes(6_000, 2_000, 4_000, {"lenet5": 20_000, "cnn": 4_000}, 64, 60_000, 10_000, 5)
QUICK = Sizes(6_000, 1_000, 2_000, {"lenet5": 4_000, "cnn": 800}, 16, 6_000, 2_000, 3)


def measure(quick: bool, data: Path | None) -> Results:
    torch.set_num_threads(1)
    sizes = QUICK if quick else FULL
    subject = bench("lenet5", 1, sizes.train + sizes.covered, 2, data)
    train = subject.train.subset(np.arange(sizes.train))
    pools = [subject.train.subset(sizes.train + np.arange(count)) for count in (sizes.pool, sizes.covered)]
    surprised, covered = (Evidence(subject.models, TASK, pool, train) for pool in pools)
    results = compare(surprised, covered, sizes.rounds)
    for network, inputs in sizes.moved.items():
        torch.manual_seed(0)
        results |= sensitivity(network, NETWORKS[network]().eval(), drawn_digits(inputs), sizes.rounds)
    results |= dropout(drawn_digits(sizes.dropped), sizes.rounds)
    return results | memory(sizes)


def sensitivity(network: str, model: nn.Module, pool: Data, rounds: int) -> Results:
    """NSS as a multiple of the least that it could do, see `floor`."""
    layer = ENCODERS[network]
    paces = [Pace(size, layout) for layout in layouts(model) for size in BATCH_SIZES]
    some = pool.subset(np.arange(min(len(pool), max(BATCH_SIZES))))
    best = min(paces, key=lambda pace: min(seconds(lambda: last(floor(model, layer, some, pace))) for _ in range(3)))

    def ours() -> None:
        Nss().rank(Evidence([model], TASK, pool))  # with all that the first call of a method has to find out

    faster = ratio(lambda: last(floor(model, layer, pool, best)), ours, rounds)
    name = f"nss: {network}, {len(pool):,} inputs, as a multiple of two passes and one mutation each"
    return {f"{name} (at batch {best.batch_size}, {best.layout} layout)": entry(1 / faster, 1.25, "lower")}


def floor(model: nn.Module, layer: str, pool: Data, pace: Pace) -> Iterator[tuple[Tensor, Tensor]]:
    """Features of inputs and of one mutant of each, batch by batch: plain passes that end after ``layer``.

    The mutants are those of NSS, from the same function.
    """
    names = [name for name, _ in model.named_children()]
    prefix = nn.Sequential(*list(model.children())[: names.index(layer) + 1])
    mutation = Evidence([model], TASK, pool, batch_size=pace.batch_size).mutation()
    with torch.inference_mode(), laid_out(model, pace.layout):
        for at in range(0, len(pool), pace.batch_size):
            stop = min(at + pace.batch_size, len(pool))
            batch = pool.read(slice(at, stop))
            yield prefix(batch), prefix(mutation.apply(batch, np.arange(at, stop), 0, "nss select"))


def last(batches: Iterator[object]) -> None:
    """Computes all and keeps nothing."""
    for _ in batches:
        pass


def dropout(pool: Data, rounds: int, samples: int = 200) -> Results:
    """MC-Dropout against as many plain passes in which dropout acts, for a network with dropout in its head."""
    torch.manual_seed(0)
    model = late_dropout()
    evidence = Evidence([model], TASK, pool)

    def plain() -> None:
        active = [module.train() for module in model.modules() if isinstance(module, nn.Dropout)]
        with torch.inference_mode(), laid_out(model, evidence.pace.layout):
            for batch in pool.batches(evidence.pace.batch_size):
                for _ in range(samples):
                    model(batch)
        for module in active:
            module.eval()

    faster = ratio(plain, lambda: McDropout(samples).rank(evidence), rounds)
    return {f"mc-dropout: {samples} samples of {len(pool)} inputs, times faster than plain passes": entry(faster, 3.0)}


def late_dropout(width: int = 32) -> nn.Sequential:
    """A small VGG for ``(n, 1, 28, 28)``: six convolutions, and two linear layers with dropout before the output."""
    layers: list[nn.Module] = []
    channels = 1
    for wide in (width, 2 * width, 4 * width):
        for _ in range(2):
            layers += [nn.Conv2d(channels, wide, 3, padding=1), nn.BatchNorm2d(wide), nn.ReLU()]
            channels = wide
        layers.append(nn.MaxPool2d(2))
    layers += [nn.Flatten(), nn.Linear(channels * 9, 512), nn.ReLU(), nn.Dropout(0.5)]
    layers += [nn.Linear(512, 512), nn.ReLU(), nn.Dropout(0.5), nn.Linear(512, 10)]
    return nn.Sequential(*layers).eval()


def memory(sizes: Sizes) -> Results:
    """The largest resident memory of a process that only selects, one process for each method."""
    results: Results = {}
    for code in ("nss", "kmnc", "dsa"):
        # a spawned process would inherit this one's peak, a forked one its memory; the fork server has neither
        with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
            peak = pool.submit(peak_memory, code, sizes.wide, sizes.wide_train, WIDE).result()
        name = f"{code}: peak memory, {sizes.wide:,} inputs, {WIDE:,} units"
        results[name] = entry(peak / MEGABYTE, MEMORY_GOAL, "lower", " MB")
    return results


def peak_memory(code: str, inputs: int, train: int, units: int) -> int:
    """Peak, in bytes, of ranking so many inputs by one method that reads a layer of so many units."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, units), nn.ReLU(), nn.Linear(units, 10)).eval()
    pool, known = (noise(count, name) for name, count in (("pool", inputs), ("train", train)))
    METHODS[code](layers=("1",)).rank(Evidence([model], TASK, pool, known))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def noise(count: int, name: str) -> Data:
    """Images ``(count, 1, 28, 28)`` without any meaning, made without a second copy."""
    images = generator_for(0, "benchmark", name).random((count, 1, 28, 28), dtype=np.float32)
    return ArrayData(torch.from_numpy(images), np.arange(count) % 10)


if __name__ == "__main__":
    run("selection", measure)
