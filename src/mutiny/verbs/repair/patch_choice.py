"""Chooses among proposed patches, on validation inputs that no method has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from mutiny.core.progress import Progress
from mutiny.models import Forward, ModelView, Patch, WeightEdit
from mutiny.models.device import placement
from mutiny.models.view import PROBE_INPUTS
from mutiny.subjects.data import Data
from mutiny.subjects.inference.calibration import measured_pace
from mutiny.subjects.inference.passes import Pace, rows
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.repair.credit import losses
from mutiny.verbs.repair.verdict import Change

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
DOSES = (0.5, 0.25, 0.1)
"""Fractions of the first patch that are tried too, because a search tends to overshoot."""


class Answers(NamedTuple):
    """Answers of a model.

    Attributes:
        right: Which answers are right, ``(n,)``.
        predicted: Predicted classes, ``(n,)``; 0 for regression.
        finite: Which inputs have a finite loss, ``(n,)``.
    """

    right: Bools
    predicted: Ints
    finite: Bools


class AnswerJudge:
    """Evaluates the answers of a model, with a patch applied."""

    def __init__(self, model: nn.Module, task: Task, data: Data, forward: Forward, batch_size: int | None) -> None:
        self.model, self.task, self.data, self.forward = model, task, data, forward
        self.targets = torch.from_numpy(task.check_targets(data.targets, "data"))
        self.pace = Pace(batch_size) if batch_size else measured_pace(model, data, forward)

    def view(self) -> ModelView:
        """Structure of the model."""
        return ModelView.of(self.model, placement(self.model).put(self.data.first(PROBE_INPUTS)), self.forward)

    def answers(self, patch: Patch, indices: Ints) -> Answers:
        """Answers to the inputs at ``indices``, of the model with a patch."""
        none = torch.zeros(0, dtype=torch.bool)  # there may be no inputs
        right, finite, predicted, start = [none], [none], [], 0
        with patch.applied(self.model, self.forward) as call:
            for outputs in rows(call, self.model, self.data, self.pace, indices):
                targets = self.targets[torch.from_numpy(indices[start : start + len(outputs)])].to(outputs.device)
                right.append(self.task.judge(outputs, targets)[0].cpu())
                known = ~outputs.flatten(1).isnan().any(dim=1) if outputs.ndim > 1 else ~outputs.isnan()
                finite.append((known & losses(self.task, outputs, targets).isfinite()).cpu())
                if isinstance(self.task, Classification):
                    predicted.append(self.task.probabilities(outputs).argmax(dim=1).cpu())
                start += len(outputs)
        classes = torch.cat(predicted).numpy() if predicted else np.zeros(start, np.int64)
        return Answers(torch.cat(right).numpy(), classes, torch.cat(finite).numpy())


def best_patch(
    patches: Sequence[Patch], judge: AnswerJudge, failing: Bools, before: Bools, indices: Ints, progress: Progress
) -> Patch:
    """The patch, or fraction of the first one, with the largest gain; a patch without edits if none has a gain.

    Args:
        patches: Proposed patches, the most promising first.
        judge: Evaluates the model with a patch.
        failing: Failures to fix, of all inputs.
        before: Which answers are right without a patch, of all inputs.
        indices: Positions of the validation inputs.
        progress: Receiver of progress messages.
    """
    tried = [*patches, *(dose(patches[0], judge.model, share) for share in DOSES if patches)]
    progress.stage("validating", len(tried))
    best, most = Patch(()), 0.0
    for patch in tried:
        after = judge.answers(patch, indices).right
        gain = Change.of(failing[indices], before[indices], after).gain
        if gain > most:
            best, most = patch, gain
        progress.step()
    return best


def dose(patch: Patch, model: nn.Module, share: float) -> Patch:
    """A patch that changes weights by only a share of what ``patch`` does."""
    weights, edits = dict(model.named_parameters()), []
    for edit in patch.edits:
        assert isinstance(edit, WeightEdit)
        now = weights[edit.parameter].detach().flatten()[torch.from_numpy(edit.indices)].cpu()
        edits.append(WeightEdit(edit.parameter, edit.indices, now + share * (edit.values - now)))
    return Patch(tuple(edits), patch.first_layer)
