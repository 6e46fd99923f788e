"""One of the two networks of a comparison, with the inputs that it answers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput, called
from mutiny.models import Forward
from mutiny.subjects.data import Data
from mutiny.subjects.inference.passes import Pace, first_call, repeats, rows, settle
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.compare.answers import Bools, ComparedAnswers, Floats, Texts

BATCH = 256
"""Inputs per forward pass by default: the same for both, so that only the networks make a difference."""


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What a network answers, as a store keeps it.

    Attributes:
        correct: Whether each answer is right, ``(n,)``; ``None`` for regression.
        scores: Loss of each input, ``(n,)``; ``None`` for classification.
        said: Predicted classes, ``(n,)``, -1 for NaN; ``None`` for regression.
        confidence: Probability of the right class, ``(n,)``; ``None`` for regression.
        digest: Hash of all outputs.
    """

    correct: Bools | None
    scores: Floats | None
    said: np.ndarray | None
    confidence: Floats | None
    digest: str


@dataclass(frozen=True, eq=False)
class NetworkSide:
    """A network and the inputs that it answers.

    Attributes:
        name: ``a`` or ``b``, for messages.
        model: The network.
        forward: Function that calls it.
        data: Inputs.
        targets: Their targets, in the task's form.
        task: Task, with the kind of the network's outputs resolved.
        batch_size: Inputs per forward pass.
    """

    name: str
    model: nn.Module
    forward: Forward
    data: Data
    targets: Tensor
    task: Task
    batch_size: int

    def settled(self) -> NetworkSide:
        """This side with the kind of outputs determined; an error in a sentence if the network does not fit."""
        task = Classification(self.task.classes) if isinstance(self.task, Classification) else self.task
        try:
            with called(self.name, "models[0]"):
                task = settle(task, [self.model], self.data, self.forward, self.batch_size)
        except BadInput as error:
            if error.argument != "model output":
                raise
            fix = "Both networks must answer the same question."
            raise BadInput(f"output of {self.name}", error.value, f"{error.expected}, as A gives", fix) from error
        return NetworkSide(self.name, self.model, self.forward, self.data, self.targets, task, self.batch_size)

    @property
    def repeatable(self) -> bool:
        """Whether the network answers the same inputs in the same way again."""
        with called(self.name, "model"):
            return repeats(self.model, self.data, self.forward)

    def evaluated(self) -> Evaluated:
        """Runs the network over all inputs."""
        said, correct, shares, confidence, start, digest = [], [], [], [], 0, hashlib.sha256()
        pace = Pace(self.batch_size)
        for outputs in rows(self._call, self.model, self.data, pace):
            truth = self.targets[start : start + len(outputs)].to(outputs.device)
            digest.update(f"{outputs.dtype} {tuple(outputs.shape[1:])}".encode() if not start else b"")
            digest.update(outputs.contiguous().cpu().reshape(-1).view(torch.uint8).numpy().data)
            if isinstance(self.task, Classification):
                answers = self.task.answers(outputs)
                said.append(answers.cpu().numpy())
                correct.append((answers == truth).cpu().numpy())
                chances = self.task.probabilities(outputs).double().gather(1, truth[:, None])[:, 0]
                confidence.append(chances.nan_to_num(nan=0.0).cpu().numpy())
            else:
                shares.append(self.task.judge(outputs, truth)[1].double().cpu().numpy())
            start += len(outputs)
        if isinstance(self.task, Classification):
            joined = np.concatenate(said), np.concatenate(confidence)
            return Evaluated(np.concatenate(correct), None, *joined, digest.hexdigest())
        scores = np.concatenate(shares)
        bad = np.flatnonzero(~np.isfinite(scores))
        if len(bad):
            wrong = f"{self.task.metric} of {scores[bad[0]]} for input {bad[0]}"
            fix = f"{len(bad):,} of {len(scores):,} are not finite; the mean would be none." if len(bad) > 1 else ""
            raise BadInput(f"output of {self.name}", wrong, "finite numbers", fix)
        return Evaluated(None, scores, None, None, digest.hexdigest())

    def answers(self, found: Evaluated) -> ComparedAnswers:
        """The result of `evaluated` with the identifiers of the inputs."""
        classes = self.data.classes

        def text(label: int) -> str:
            if label < 0:
                return "NaN"
            return classes[label] if classes is not None and label < len(classes) else str(label)

        said = None if found.said is None else tuple(map(text, found.said.tolist()))
        targets = None if found.said is None else tuple(map(text, self.targets.tolist()))
        names = identifiers(self.data)
        return ComparedAnswers(names, found.correct, found.scores, said, targets, found.confidence, digest=found.digest)

    def _call(self, inputs: Any) -> Tensor:
        return first_call(self.forward, self.model, inputs, self.name)


def identifiers(data: Data) -> Texts:
    """Names of the inputs, or their numbers if they have no names that tell them apart."""
    names = data.names
    return names if names is not None and len(set(names)) == len(names) else tuple(map(str, range(len(data))))
