"""The work of a repair: a method proposes patches, and inputs that it has not seen choose among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from mutiny.campaigns.jobs import Job
from mutiny.core.progress import Progress, Silent
from mutiny.models import Forward, ModelView, Patch
from mutiny.models.patch import WeightEdit
from mutiny.models.placement import placement
from mutiny.models.view import PROBE_INPUTS
from mutiny.subjects.data import Data
from mutiny.subjects.inference.calibration import measured_pace
from mutiny.subjects.inference.passes import Pace, rows
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.repair.base import Method
from mutiny.verbs.repair.credit import losses
from mutiny.verbs.repair.damage import Damage
from mutiny.verbs.repair.verdict import Change

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
DOSES = (0.5, 0.25, 0.1)
"""Parts of the most promising patch that are tried too: what a search finds tends to be too much of the good."""


class Answers(NamedTuple):
    """Which are right, ``(n,)``, the class that is said, and where the loss is a number."""

    right: Bools
    said: Ints
    sound: Bools


class Judge:
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


def _best(
    patches: Sequence[Patch], judge: Judge, which: Bools, before: Bools, indices: Ints, progress: Progress
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


@dataclass(frozen=True, eq=False)
class Bench:
    """Looks for a patch, as one task.

    Attributes:
        method: that proposes.
        damage: what it sees.
        judge: says which answers are right.
        which: failures to be mended, ``(n,)``.
        before: answers that are right without a patch, ``(n,)``.
        validation: inputs that choose.
        progress: told what is being done, as long as it is done here.
    """

    method: Method
    damage: Damage
    judge: Judge
    which: Bools
    before: Bools
    validation: Ints
    progress: Progress

    @torch.inference_mode(False)  # blame and training need gradients
    def __call__(self, task: Job) -> Patch:
        """The patch with the largest gain; one without edits if none gains."""
        del task
        patches = self.method.patches(self.damage, self.progress)
        return _best(patches, self.judge, self.which, self.before, self.validation, self.progress)

    def __reduce__(self) -> tuple[Any, ...]:
        """Nobody watches elsewhere."""
        parts = self.method, self.damage, self.judge, self.which, self.before, self.validation, Silent()
        return type(self), parts
