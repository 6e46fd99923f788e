"""What one network answers to the test set, and to other inputs while it is in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput
from mutiny.faults.evaluation import Runner
from mutiny.models import Patch
from mutiny.subjects.data import Data, as_pool
from mutiny.subjects.inference.passes import Pace, rows
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.assess.gates.answers import GateAnswers


class NetworkAnswers:
    """Answers of one network, an original or a fault, to the test set. Each is computed when it is first read.

    Args:
        task: Task, which says what is correct.
        test: Inputs of the test set, and their targets.
        truth: Targets in the form of the task.
        run: Function from inputs to the outputs of the network as it is now.
    """

    def __init__(self, task: Task, test: Data, truth: Tensor, run: Callable[[Data], Tensor]) -> None:
        self.task, self.test = task, test
        self._truth, self._run = truth, run

    def __len__(self) -> int:
        return len(self.test)

    @cached_property
    def outputs(self) -> Tensor:
        """Outputs for the test set, ``(n, ...)``, on the device of the network."""
        return self._answered(self.test)

    @cached_property
    def predicted(self) -> npt.NDArray[np.generic]:
        """Predicted classes, ``(n,)``, -1 where an output is NaN; for regression, the outputs, ``(n, k)``."""
        if isinstance(self.task, Classification):
            return self.task.answers(self.outputs).cpu().numpy()
        return self.outputs.reshape(len(self), -1).double().cpu().numpy()

    @cached_property
    def probabilities(self) -> npt.NDArray[np.float64] | None:
        """Probabilities of the classes, ``(n, classes)``; ``None`` for regression."""
        if not isinstance(self.task, Classification):
            return None
        return self.task.probabilities(self.outputs).double().cpu().numpy()

    @cached_property
    def targets(self) -> npt.NDArray[np.generic]:
        """Labels, ``(n,)``, or the targets of a regression, ``(n, k)``."""
        return self._truth.cpu().numpy()

    @property
    def correct(self) -> npt.NDArray[np.bool_]:
        """Whether each answer is correct, ``(n,)``."""
        return self._judged[0]

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """Share of each input in the metric of the task, ``(n,)``: 0 or 1 for a class, the loss for regression."""
        return self._judged[1]

    def predict(self, inputs: Any) -> Tensor:
        """Outputs of the network for any inputs, on the CPU, ``(k, ...)``.

        Args:
            inputs: The test set itself, whose outputs are computed once; or inputs like those, as an array, a tensor,
                or whatever else ``mutiny`` reads as data.
        """
        if inputs is self.test:
            return self.outputs.cpu()
        return self._answered(inputs if isinstance(inputs, Data) else as_pool(inputs, "inputs")).cpu()

    @cached_property
    def classes_for_gates(self) -> GateAnswers:
        """The answers as gates read them, without probabilities, which may be large."""
        if isinstance(self.task, Classification):
            kept: dict[str, Any] = {"classes": self.task.classes, "predicted": self.predicted}
        else:
            kept = {"losses": self.shares, "values": self.predicted}
        return GateAnswers(targets=self.targets, correct=self.correct, metric=self.task.metric, **kept)

    @cached_property
    def probabilities_for_gates(self) -> GateAnswers:
        """The answers as gates read them, with probabilities."""
        return replace(self.classes_for_gates, probabilities=self.probabilities)

    def worse_than(self, clean: NetworkAnswers) -> npt.NDArray[np.float32]:
        """How much worse this network answers each input than another one, ``(n,)``, in shares of the metric."""
        sign = -1.0 if self.task.higher_is_better else 1.0
        return (sign * (self.shares - clean.shares)).astype(np.float32)

    @cached_property
    def _judged(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
        right, shares = self.task.judge(self.outputs, self._truth.to(self.outputs.device))
        return right.cpu().numpy(), shares.double().cpu().numpy()

    def _answered(self, data: Data) -> Tensor:
        return self._run(data)

    def close(self) -> None:
        """Ends the use of the network; answers that were computed stay."""
        self._run = _not_in_use


@contextmanager
def answering(
    runner: Runner, patch: Patch, original: int, split: str, pace: Pace | None = None
) -> Iterator[NetworkAnswers]:
    """Context in which an original with a patch answers a split, and can be asked about other inputs.

    Args:
        runner: Originals and their data.
        patch: Patch of the original; one without edits for the original itself.
        original: Number of the original.
        split: Set of inputs.
        pace: Batch size and memory layout; those of the campaign by default.
    """
    model = runner.models[original]
    with patch.applied(model, runner.forward) as call:
        run = partial(_outputs, call, model, pace or runner.pace)
        answers = NetworkAnswers(runner.task, runner.splits[split], runner.targets(split, torch.device("cpu")), run)
        try:
            yield answers
        finally:
            answers.close()


def _outputs(call: Callable[[Any], Tensor], model: nn.Module, pace: Pace, data: Data) -> Tensor:
    return torch.cat([*rows(call, model, data, pace)])


def _not_in_use(_: Data) -> Tensor:
    fix = "Predict with the other network, or read the answers to the test set."
    raise BadInput("predict", "a network that is not in use now", "the network that is being judged", fix)
