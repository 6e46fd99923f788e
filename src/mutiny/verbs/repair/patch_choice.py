"""Chooses among proposed patches by inputs that no method has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from mutiny.core.progress import Progress
from mutiny.models import Forward, ModelView, Patch
from mutiny.models.patch import WeightEdit
from mutiny.models.placement import placement
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
"""Fractions of the most promising patch that are tried too, because a search tends to overshoot."""


class Answers(NamedTuple):
    """Which answers are right, ``(n,)``, the predicted classes, and where the loss is finite."""

    right: Bools
    said: Ints
    sound: Bools


class AnswerJudge:
    """Which answers are right, with a patch or without."""

    def __init__(self, model: nn.Module, task: Task, data: Data, forward: Forward, batch_size: int | None) -> None:
        self.model, self.task, self.data, self.forward = model, task, data, forward
        self.targets = torch.from_numpy(task.check_targets(data.targets, "data"))
        self.pace = Pace(batch_size) if batch_size else measured_pace(model, data, forward)

    def view(self) -> ModelView:
        """Of the model."""
        return ModelView.of(self.model, placement(self.model).put(self.data.first(PROBE_INPUTS)), self.forward)

    def answers(self, patch: Patch, indices: Ints) -> Answers:
        """Of the model with a patch."""
        none = torch.zeros(0, dtype=torch.bool)
        right, sound, said, start = [none], [none], [], 0
        with patch.applied(self.model, self.forward) as call:
            for outputs in rows(call, self.model, self.data, self.pace, indices):
                wanted = self.targets[torch.from_numpy(indices[start : start + len(outputs)])].to(outputs.device)
                right.append(self.task.judge(outputs, wanted)[0].cpu())
                known = ~outputs.flatten(1).isnan().any(dim=1) if outputs.ndim > 1 else ~outputs.isnan()
                sound.append((known & losses(self.task, outputs, wanted).isfinite()).cpu())
                if isinstance(self.task, Classification):
                    said.append(self.task.probabilities(outputs).argmax(dim=1).cpu())
                start += len(outputs)
        classes = torch.cat(said).numpy() if said else np.zeros(start, np.int64)
        return Answers(torch.cat(right).numpy(), classes, torch.cat(sound).numpy())


def best_patch(
    patches: Sequence[Patch], judge: AnswerJudge, which: Bools, before: Bools, indices: Ints, progress: Progress
) -> Patch:
    """The patch, or part of the first, with the largest gain on validation inputs; none if none gains."""
    tried = [*patches, *(dose(patches[0], judge.model, share) for share in DOSES if patches)]
    progress.stage("validating", len(tried))
    best, most = Patch(()), 0.0
    for patch in tried:
        after = judge.answers(patch, indices).right
        gain = Change.of(which[indices], before[indices], after).gain
        if gain > most:
            best, most = patch, gain
        progress.step()
    return best


def dose(patch: Patch, model: nn.Module, share: float) -> Patch:
    """A patch of weights that goes only a part of the way."""
    weights, edits = dict(model.named_parameters()), []
    for edit in patch.edits:
        assert isinstance(edit, WeightEdit)
        now = weights[edit.parameter].detach().flatten()[torch.from_numpy(edit.indices)].cpu()
        edits.append(WeightEdit(edit.parameter, edit.indices, now + share * (edit.values - now)))
    return Patch(tuple(edits), patch.first_layer)
