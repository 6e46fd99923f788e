"""`repair`: can the guilty be mended?"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from mutiny.checks import check_whole
from mutiny.data import Data
from mutiny.data.labels import unknown
from mutiny.errors import BadInput
from mutiny.evaluation import steadiness
from mutiny.evaluation.calibration import measured_pace
from mutiny.evaluation.exact import Pace, cast, placement, rows
from mutiny.evaluation.settling import settle
from mutiny.models import Forward, ModelState, ModelView, Patch
from mutiny.models.layers import Layer
from mutiny.models.patch import WeightEdit
from mutiny.models.state import check_untouched
from mutiny.progress import Progress, Silent
from mutiny.random import generator_for
from mutiny.records import versions
from mutiny.repairs.base import Method
from mutiny.repairs.credit import losses
from mutiny.repairs.damage import Damage
from mutiny.repairs.methods import as_repair
from mutiny.repairs.notes import notes
from mutiny.repairs.result import Repair
from mutiny.repairs.split import ROLES, check_shares, equals, split
from mutiny.repairs.target import Target, check_target, targeted
from mutiny.repairs.verdict import Change
from mutiny.subjects import Subject
from mutiny.subjects.given import Given, as_given
from mutiny.task import Classification, Task

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
SHARES = (0.5, 0.25, 0.25)
PROBE_INPUTS = 4
DOSES = (0.5, 0.25, 0.1)
"""Parts of the most promising patch that are tried too: what a search finds tends to be too much of the good."""


@torch.inference_mode(False)  # blame and training need gradients, also where the caller wants none
def repair(
    subject: Subject | nn.Module,
    method: str | Method = "search",
    *,
    target: Target = "all",
    data: Any = None,
    task: Task | None = None,
    forward: Forward | None = None,
    layers: str | Sequence[str] | None = None,
    shares: tuple[float, float, float] = SHARES,
    seed: int = 0,
    device: str | None = None,
    batch_size: int | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Repair:
    """Looks for a patch of weights that mends failures, and judges it on inputs that took no part.

    Inputs are split into three roles, failures and classes alike: a method proposes patches from the first, the second
    chooses among them (or none), and the third alone says what the choice is worth. It is called a repair only if the
    interval of its gain on held-out inputs, mended failures less broken passes, lies above 0, and at least 20 of them
    passed before.

    Args:
        subject: what is tested; or simply a model in evaluation mode, with ``data``. It is never changed.
        method: ``"search"`` (new values for the weights to blame), ``"scale"`` (factors for neurons), ``"tune"``
            (training of the suspects), each with parameters if you like: ``"search(generations=50)"``.
        target: ``"all"`` failures; the most frequent ``"confusion"``; or a pair, the true class and the one that is
            said instead.
        data: labelled inputs, passing ones as well as failures; the test set if not given.
        task: if ``subject`` is a model; by default classification by the largest output.
        forward: how the model is called, if ``subject`` is a model.
        layers: names or patterns of layers whose weights may change; all if not given.
        shares: of the inputs, for repair, validation and held-out.
        seed: one seed, one answer.
        device: where to run; where the model is if not given.
        batch_size: inputs per forward pass; measured if not given.
        folder: where trained originals are kept.
        progress: told what is being done.

    >>> x = torch.rand(400, 2, generator=torch.Generator().manual_seed(0))
    >>> net = nn.Sequential(nn.Linear(2, 2)).eval()
    >>> with torch.no_grad():  # it should compare both numbers, but has a wrong weight
    ...     _ = net[0].weight.copy_(torch.tensor([[1.0, 0.5], [0.0, 1.0]])), net[0].bias.zero_()
    >>> repair(net, data=(x, (x[:, 1] > x[:, 0]).long()))
    Repair('search', repaired, held-out: 28 of 28 mended, 0 of 72 broken)
    """
    start, created = time.monotonic(), time.strftime("%Y-%m-%dT%H:%M:%S%z")
    progress = progress or Silent()
    chosen = as_repair(method)
    check_shares(shares)
    check_whole("seed", seed, 0)
    check_whole("batch_size", 1 if batch_size is None else batch_size)
    given = as_given(subject, data, None, task, forward, "data", pool=False)
    _check_labels(given)
    model = given.originals(1, seed, device, folder, progress)[0]
    state, kept = ModelState.of(model), _copied(model)
    repeatable = steadiness.repeats(model, given.data, given.forward)
    steadiness.check_constant(model, state)
    task = settle(given.task, [model], given.data, given.forward, batch_size)
    wanted = check_target(target, task)
    judge = _Judge(model, task, given.data, given.forward, batch_size)
    before, said, sound = judge.answers(Patch(()), np.arange(len(given.data)))
    labels = judge.targets.numpy() if isinstance(task, Classification) else np.zeros(len(before), np.int64)
    which, about = targeted(wanted, ~before, labels, said)
    parts = split(_strata(which, before, labels), shares, generator_for(seed, "repair", "split"), equals(given.data))
    view = judge.view()
    found = _layers(view, layers)
    patch = Patch(())
    if which[parts[0]].any():
        own = parts[0][which[parts[0]] | before[parts[0]]]
        damage = Damage(
            view, task, given.data.subset(own), judge.targets[torch.from_numpy(own)], which[own], sound[own],
            found, given.forward, seed, judge.pace.batch_size,
        )  # fmt: skip
        patch = _best(chosen.patches(damage, progress), judge, which, before, parts[1], progress)
    progress.stage("judging", 1)
    after = judge.answers(patch, np.arange(len(before))).right if patch.edits else before
    progress.step()
    changes = {role: Change.of(which[at], before[at], after[at]) for role, at in zip(ROLES, parts, strict=True)}
    check_untouched([model], [state])
    originals = len(given.subject.models) if given.subject else 1
    return Repair(
        subject={
            "name": given.name,
            "model": type(model).__name__,
            "task": {"kind": type(task).__name__.lower(), "metric": task.metric, **vars(task)},
            "inputs": len(given.data),
            "from": given.source,
        },
        settings={
            "seed": seed,
            "layers": [layer.name for layer in found],
            "shares": list(shares),
            "batch_size": judge.pace.batch_size,
            "device": str(placement(model)[0]),
            "threads": torch.get_num_threads(),
        },
        versions=versions(),
        method=str(chosen),
        target=about,
        patch=patch,
        changes=changes,
        notes=tuple(notes(changes, patch, repeatable, originals, int((~sound).sum()), _unseen(task, labels[parts[2]]))),
        seconds=time.monotonic() - start,
        created=created,
        original=kept,
    )


class _Answers(NamedTuple):
    """Which are right, ``(n,)``, the class that is said, and where the loss is a number."""

    right: Bools
    said: Ints
    sound: Bools


class _Judge:
    """Which answers are right, with a patch or without."""

    def __init__(self, model: nn.Module, task: Task, data: Data, forward: Forward, batch_size: int | None) -> None:
        self.model, self.task, self.data, self.forward = model, task, data, forward
        self.targets = torch.from_numpy(task.check_targets(data.targets, "data"))
        self.pace = Pace(batch_size) if batch_size else measured_pace(model, data, forward)

    def view(self) -> ModelView:
        device, dtype = placement(self.model)
        return ModelView.of(self.model, cast(next(iter(self.data.batches(PROBE_INPUTS, device))), dtype), self.forward)

    def answers(self, patch: Patch, indices: Ints) -> _Answers:
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
        return _Answers(torch.cat(right).numpy(), classes, torch.cat(sound).numpy())


def _best(
    patches: Sequence[Patch], judge: _Judge, which: Bools, before: Bools, indices: Ints, progress: Progress
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


def _check_labels(given: Given) -> None:
    missing = unknown(given.data.targets, given.task)
    if missing:
        raise BadInput("data", f"{missing} of {len(given.data)} labels unknown", "labelled inputs")
    labels = given.task.check_targets(given.data.targets, "data")
    if isinstance(given.task, Classification) and len(np.unique(labels)) == 1:
        raise BadInput(
            "data labels", f"only class {int(labels[0])}", "at least two classes",
            "A network that always gives this answer would look repaired.",
        )  # fmt: skip


def _copied(model: nn.Module) -> nn.Module:
    """As it is now, whatever its owner does to it later."""
    try:
        return copy.deepcopy(model)
    except (RuntimeError, TypeError) as error:
        raise BadInput("model", type(model).__name__, "a model that copy.deepcopy copies", str(error)) from error


def _unseen(task: Task, labels: Ints) -> Sequence[int]:
    """Classes without any of these labels."""
    return np.setdiff1d(np.arange(task.classes), labels).tolist() if isinstance(task, Classification) else ()


def _strata(which: Bools, before: Bools, labels: Ints) -> Ints:
    """Failures to be mended, other failures, and passes, each by class."""
    kind = np.where(which, 0, np.where(before, 2, 1))
    found: Ints = kind * (labels.max(initial=0) + 1) + labels
    return found


def _layers(view: ModelView, wanted: str | Sequence[str] | None) -> tuple[Layer, ...]:
    able = tuple(layer for layer in view.layers if layer.neurons)
    if wanted is None:
        return able
    patterns = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(patterns, Sequence) or not patterns or not all(isinstance(one, str) for one in patterns):
        raise BadInput("layers", repr(wanted), "names or patterns of layers")
    for pattern in patterns:
        if not any(fnmatchcase(layer.name, pattern) for layer in able):
            names = ", ".join(layer.name for layer in able)
            raise BadInput("layers", repr(pattern), "a layer with weights, or a pattern", f"It has: {names}.")
    return tuple(layer for layer in able if any(fnmatchcase(layer.name, pattern) for pattern in patterns))
