"""What blaming and mending cost: multiples of passes that cannot be done without, and of an obvious loop.

python -m benchmarks.localization [--quick] [--json FILE] [--data DIR]

With --data the inputs are MNIST's, otherwise digits drawn from scikit-learn's. Both sides have one thread, and seconds
are those of the processor. The perceptron shows the other end: a pass through eight layers of twenty neurons is next to
nothing, and counting what they say costs more than the pass itself. Its goal only says how much more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.against_dnn_tip import Results
from benchmarks.command import run
from benchmarks.selection import last
from benchmarks.subjects import bench
from benchmarks.timing import entry, ratio, seconds
from mutiny.models import Patch, default_forward
from mutiny.models.activation_gradients import activation_gradients
from mutiny.models.layout import laid_out
from mutiny.models.patch import WeightEdit
from mutiny.models.variants import WeightVariants
from mutiny.subjects.data import Data
from mutiny.subjects.tasks import Classification
from mutiny.verbs.locate.activity import Above
from mutiny.verbs.locate.ascent import Ascent
from mutiny.verbs.locate.counting import count_hits, hidden_points
from mutiny.verbs.locate.failures import ByLabel
from mutiny.verbs.locate.model_under_test import ModelUnderTest
from mutiny.verbs.locate.spectrum import Ints
from mutiny.verbs.locate.synthesis import synthesis
from mutiny.verbs.repair.credit import credits

TASK = Classification(10, "logits")
Entries = Mapping[str, Ints]
Values = Mapping[str, Tensor]
SPECTRA_GOALS = {"lenet5": 1.15, "perceptron": 3.0}
"""Plain passes that counting may take."""
SYNTHESIS_GOAL = 1.3
SUSPECTS = 10
"""Neurons that are exercised."""


POPULATION, WEIGHTS = 100, 20
"""Candidates of a generation, and weights in which they differ."""
REPAIR_GOALS = {"head": 20.0, "fc1": 1.0, "conv2": 1.0}
"""Times faster than a loop, with the changed weights in the dense head, in the first dense layer, in a convolution."""


@dataclass(frozen=True)
class Sizes:
    """How many inputs are counted, changed and mended, and how often."""

    inputs: int
    changed: int
    mended: int
    rounds: int


FULL = Sizes(10_000, 2_000, 400, 9)
QUICK = Sizes(2_000, 500, 200, 15)


def measure(quick: bool, data: Path | None) -> Results:
    torch.set_num_threads(1)
    sizes = QUICK if quick else FULL
    subject = bench("lenet5", 1, sizes.inputs, 2, data)
    lenet = case_of(subject.models[0], subject.train)
    results = spectra("lenet5", lenet, sizes.rounds)
    torch.manual_seed(0)
    results |= spectra("perceptron", case_of(perceptron(), subject.train), 3 * sizes.rounds)
    results |= synthesized("lenet5", lenet, np.arange(sizes.changed), sizes.rounds)
    return results | mended("lenet5", lenet, np.arange(sizes.mended), rounds=3)


def case_of(model: nn.Module, data: Data) -> ModelUnderTest:
    """As `mutiny.locate` opens it: failures by label, batch size and layout as measured."""
    targets = torch.from_numpy(TASK.check_targets(data.targets, "data"))
    return ModelUnderTest(model, TASK, data, ByLabel(TASK, targets), targets, default_forward)


def perceptron(layers: int = 8, width: int = 20) -> nn.Sequential:
    """DeepFault's largest network for MNIST: 28 x 28 pixels, ``layers`` times ``width`` leaky ReLUs, ten classes."""
    sizes = [28 * 28, *[width] * layers]
    hidden = [nn.Sequential(nn.Linear(*pair), nn.LeakyReLU(0.01)) for pair in pairwise(sizes)]
    return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(width, 10)).eval()


# (a) spectra


def spectra(network: str, case: ModelUnderTest, rounds: int) -> Results:
    """Counts of all hidden neurons and classes as a multiple of one plain pass over the same batches."""
    places, pace = hidden_points(case), case.pace
    faster = ratio(lambda: last(plain(case)), lambda: count_hits(case, places, Above()), rounds, time.process_time)
    neurons = sum(place.count("neuron") for place in places)
    name = f"spectra: {network}, {len(case.data):,} inputs, {neurons} neurons, as a multiple of a plain pass"
    at = f"at batch {pace.batch_size}, {pace.layout} layout"
    return {f"{name} ({at})": entry(1 / faster, SPECTRA_GOALS[network], "lower")}


def plain(case: ModelUnderTest) -> Iterator[Tensor]:
    """Outputs, batch by batch."""
    size = case.pace.batch_size
    with torch.inference_mode(), laid_out(case.model, case.pace.layout):
        for at in range(0, len(case.data), size):
            yield case.model(case.data.read(slice(at, min(at + size, len(case.data)))))


# (b) synthesis


def synthesized(network: str, case: ModelUnderTest, indices: Ints, rounds: int) -> Results:
    """The gradient step alone, and all of synthesis with the pass that sees whether new inputs fail."""
    neurons = spread(case, SUSPECTS)
    gradients = activation_gradients(case.view, neurons, case.call)

    def step() -> None:
        last(gradients(batch, "none") for batch in batches(case, indices))

    def whole() -> None:
        synthesis(case, indices, neurons, Ascent())

    some = f"{network}, {len(indices):,} inputs, {SUSPECTS} neurons, as a multiple of"
    ways = {
        f"gradient step: {some} a forward and a backward pass": (lambda: last(slopes(case, indices)), step),
        f"synthesis: {some} a forward, a backward and a forward pass": (lambda: last(judged(case, indices)), whole),
    }
    return {
        name: entry(1 / ratio(floor, ours, rounds, time.process_time), SYNTHESIS_GOAL, "lower")
        for name, (floor, ours) in ways.items()
    }


def spread(case: ModelUnderTest, count: int) -> dict[str, Ints]:
    """So many neurons, from the first of the first hidden layer to the last of the last one, evenly."""
    places = hidden_points(case)
    every = [(place.name, neuron) for place in places for neuron in range(place.count("neuron"))]
    chosen = [every[at] for at in np.linspace(0, len(every) - 1, count).astype(int)]
    found = {place.name: np.array([n for name, n in chosen if name == place.name], np.int64) for place in places}
    return {name: neurons for name, neurons in found.items() if len(neurons)}


def batches(case: ModelUnderTest, indices: Ints) -> Iterator[Tensor]:
    """Copies of the inputs at ``indices``."""
    for at in range(0, len(indices), case.pace.batch_size):
        yield case.data.read(indices[at : at + case.pace.batch_size])


def slopes(case: ModelUnderTest, indices: Ints) -> Iterator[tuple[Tensor, Tensor]]:
    """Inputs, and the gradient of the sum of all outputs with respect to them."""
    for batch in batches(case, indices):
        moving = batch.requires_grad_()
        yield batch, torch.autograd.grad(case.model(moving).sum(), moving)[0]


def judged(case: ModelUnderTest, indices: Ints) -> Iterator[Tensor]:
    """Outputs for inputs that were moved along their gradient."""
    for batch, gradient in slopes(case, indices):
        with torch.inference_mode():
            outputs = case.model((batch + gradient).clamp(0, 1))
        yield outputs


# (c) repair


def mended(network: str, case: ModelUnderTest, indices: Ints, rounds: int) -> Results:
    """A generation of repair, with new values for some weights of a layer, against one candidate after another."""
    inputs, targets = case.data.read(indices), case.targets[torch.from_numpy(indices)]
    results, rng = {}, np.random.default_rng(0)
    for layer, goal in REPAIR_GOALS.items():
        weight = case.view.layer(layer).weights[0]
        entries = {weight.parameter: np.sort(rng.choice(weight.all, WEIGHTS, replace=False))}
        values = {weight.parameter: torch.from_numpy(rng.normal(size=(POPULATION, WEIGHTS))).float()}
        variants = WeightVariants(case.model, inputs, entries)

        def loop(entries: Entries = entries, values: Values = values) -> Tensor:
            return credits(TASK, one_by_one(case.model, inputs, entries, values), targets)[1]

        def together(variants: WeightVariants = variants, values: Values = values) -> Tensor:
            return credits(TASK, variants.outputs(values), targets)[1]

        name = f"repair: {network}, {POPULATION} candidates that differ in {layer}, {len(indices)} inputs"
        faster = ratio(loop, together, rounds, time.process_time)
        each = POPULATION / seconds(together, time.process_time)
        results[f"{name} ({each:,.0f} candidates/s), against a loop"] = entry(faster, goal)
    return results


def one_by_one(model: nn.Module, inputs: Tensor, entries: Entries, values: Values) -> Tensor:
    """The obvious way: put a candidate's weights into the model, run it, put the old ones back."""
    found = []
    for candidate in range(POPULATION):
        edits = tuple(WeightEdit(name, at, values[name][candidate]) for name, at in entries.items())
        with Patch(edits).applied(model) as call, torch.inference_mode():
            found.append(call(inputs))
    return torch.stack(found)


if __name__ == "__main__":
    run("localization", measure)
