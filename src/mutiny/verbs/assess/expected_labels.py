"""Expected labels of an unlabeled pool: the class probabilities that the other originals predict.

The cost of a fault is the probability that the original's answer is right, minus that of the fault's answer, averaged
over the pool. By its own probabilities, an original would be too sure of answers that it chose itself, and faults would
seem to cost more than they do. Networks that were trained from other seeds did not choose these answers; averaging
several of them lowers the noise, which is less than that of labels.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mutiny.faults.evaluation import Runner
from mutiny.subjects.inference.passes import first_call, rows
from mutiny.subjects.tasks import Classification
from mutiny.verbs.assess.reference import Reference


def expect_labels(runner: Runner, reference: Reference) -> None:
    """Sets the class probabilities of the pool of each original; with one original, these are its own."""
    assert isinstance(runner.task, Classification)
    numbers = range(len(runner.models))
    predicted = [_probabilities(runner, number, reference.split(number)) for number in numbers]
    total = sum(predicted[1:], predicted[0].double())
    for number, own in enumerate(predicted):
        others = (total - own) / (len(predicted) - 1) if len(predicted) > 1 else total
        runner.expect(reference.split(number), others.float())


def _probabilities(runner: Runner, number: int, split: str) -> Tensor:
    model, task = runner.models[number], runner.task
    assert isinstance(task, Classification)
    name = f"models[{number}]"
    outputs = rows(
        lambda inputs: first_call(runner.forward, model, inputs, name), model, runner.splits[split], runner.pace
    )
    return torch.cat([task.probabilities(part).float().cpu() for part in outputs])
