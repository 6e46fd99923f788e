"""What originals and harmless variants of them answer to the test set, for the false alarms of gates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from mutiny.faults import Operator
from mutiny.faults.evaluation import Runner
from mutiny.models import ModelView, Patch, WeightEdit
from mutiny.subjects.inference.passes import Pace
from mutiny.verbs.assess.gates.answers import GateAnswers
from mutiny.verbs.assess.gates.harmless_trials import Pair
from mutiny.verbs.assess.judges.answers import NetworkAnswers, answering

NOISES = 2
"""Random choices of noise on all weights for each original."""
OTHER_BATCH = 3
"""The other batch size is smaller by this factor."""


@dataclass(frozen=True, eq=False)
class HarmlessNetworks:
    """Answers of networks in which nothing is wrong.

    Attributes:
        originals: Answers of the originals.
        variants: For each variant, the answers of its original and its own.
    """

    originals: tuple[GateAnswers, ...]
    variants: tuple[Pair, ...]


def harmless_networks(
    runner: Runner, split: str, noise: Operator, read: Callable[[NetworkAnswers], GateAnswers]
) -> HarmlessNetworks:
    """Runs the originals, and variants of each: rounded to bfloat16, with such noise, and in other batches.

    Args:
        runner: Originals and their data.
        split: Name of the test set.
        noise: Noise on the weights, as small as rounding errors.
        read: Function that turns answers into those of gates.
    """
    originals, variants = [], []
    for original in range(len(runner.models)):
        with answering(runner, Patch(()), original, split) as clean:
            before = read(clean)
        originals.append(before)
        for patch, pace in _variants(runner, original, noise):
            with answering(runner, patch, original, split, pace) as varied:
                variants.append((before, read(varied)))
    return HarmlessNetworks(tuple(originals), tuple(variants))


def _variants(runner: Runner, original: int, noise: Operator) -> Iterator[tuple[Patch, Pace]]:
    yield rounded_to_bfloat16(runner.views[original]), runner.pace
    for number in range(NOISES):
        yield runner.patch(noise, original, number), runner.pace
    smaller = max(1, runner.pace.batch_size // OTHER_BATCH)
    yield Patch(()), Pace(smaller, runner.pace.layout)


def rounded_to_bfloat16(view: ModelView) -> Patch:
    """A patch that rounds every weight and bias of every layer to bfloat16."""
    edits = []
    for layer in view.layers:
        for tensor in (*layer.weights, *layer.biases):
            values = view.parameters[tensor.parameter].detach().reshape(-1).cpu()[torch.from_numpy(tensor.all)]
            edits.append(WeightEdit(tensor.parameter, tensor.all, values.to(torch.bfloat16).to(values.dtype)))
    return Patch(tuple(edits), view.layers[0].name)
