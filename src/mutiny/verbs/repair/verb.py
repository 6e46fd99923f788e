"""The verb `repair`: one part of the inputs proposes patches, another chooses, a third judges the choice."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from mutiny.campaigns.verb import Job, Session, Verb, ask, code_of
from mutiny.core.errors import BadInput
from mutiny.core.json_values import to_plain
from mutiny.core.progress import Local, Progress
from mutiny.core.random import generator_for
from mutiny.core.results import ModelAndInputs
from mutiny.models import ModelView, Patch
from mutiny.models.layers import Layer
from mutiny.subjects.inference.passes import settle
from mutiny.subjects.tasks import Classification, Task, task_record
from mutiny.verbs.repair.base import Method
from mutiny.verbs.repair.damage import Damage
from mutiny.verbs.repair.notes import notes
from mutiny.verbs.repair.patch_choice import AnswerJudge, best_patch
from mutiny.verbs.repair.result import Repair
from mutiny.verbs.repair.split import ROLES, equals, split
from mutiny.verbs.repair.target import Target, check_target, targeted
from mutiny.verbs.repair.verdict import Change

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the search works on.

    Attributes:
        judge: Tells which answers are right.
        damage: What a method sees; ``None`` if nothing fails in the part of the inputs that is for repair.
        failing: Failures to be fixed, ``(n,)``.
        before: Answers that are right without a patch, ``(n,)``.
        finite: Inputs whose loss is finite, ``(n,)``.
        labels: Classes, ``(n,)``; 0 for regression.
        parts: Indices for repair, validation and held-out.
        layers: Layers whose weights may change.
        about: The target as plain values.
        original: Copy of the model, which the result keeps; it does not travel to workers.
        progress: Receiver of progress messages.
    """

    judge: AnswerJudge
    damage: Damage | None
    failing: Bools
    before: Bools
    finite: Bools
    labels: Ints
    parts: Sequence[Ints]
    layers: tuple[Layer, ...]
    about: Any
    original: nn.Module | None
    progress: Progress

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "original": None}


@dataclass(frozen=True)
class FindPatch(Verb[Inputs, Repair]):
    """Arguments of `repair`, checked."""

    method: Method
    target: Target
    layers: str | Sequence[str] | None
    shares: tuple[float, ...]

    name = "repair"

    def settings(self) -> dict[str, Any]:
        """Which weights may change, and how inputs are split."""
        return {"layers": to_plain(self.layers), "shares": list(self.shares)}

    def identity(self) -> Mapping[str, Any]:
        """How a patch is searched for, and for which failures."""
        return {"method": self.method, "target": self.target}

    def prepare(self, session: Session) -> Inputs:
        """Finds the failures and splits the inputs."""
        given, model, size = session.given, session.model, session.runtime.batch_size
        original = _copied(model)
        _ = session.repeatable  # refuses a model that changes itself before anything else is asked of it
        task = settle(given.task, [model], given.data, given.forward, size)
        wanted = check_target(self.target, task)
        judge = AnswerJudge(model, task, given.data, given.forward, size)
        judge.pace = session.pace or judge.pace
        before, predicted, finite = judge.answers(Patch(()), np.arange(len(given.data)))
        labels = judge.targets.numpy() if isinstance(task, Classification) else np.zeros(len(before), np.int64)
        failing, about = targeted(wanted, ~before, labels, predicted)
        rng = generator_for(session.seed, "repair", "split")
        parts = split(_strata(failing, before, labels), self.shares, rng, equals(given.data))
        view = judge.view()
        layers = _layers(view, self.layers)
        session.settle(batch_size=int(judge.pace.batch_size), layout=judge.pace.layout)
        damage = None
        if failing[parts[0]].any():
            own = parts[0][failing[parts[0]] | before[parts[0]]]
            damage = Damage(
                view,
                task,
                given.data.subset(own),
                judge.targets[torch.from_numpy(own)],
                failing[own],
                finite[own],
                layers,
                given.forward,
                session.seed,
                judge.pace.batch_size,
            )
            session.expect(1)
        return Inputs(
            judge, damage, failing, before, finite, labels, parts, layers, about, original, Local(session.progress)
        )

    async def plan(self, session: Session, state: Inputs) -> tuple[Patch, Bools]:
        """Searches for a patch, as one job because each generation needs the one before; then judges it."""
        patch = Patch(())
        if state.damage is not None:
            patch = await ask(session.job("repair", [code_of(self.method), to_plain(state.about)], str(self.method)))
        session.progress.stage("judging", 1)
        after = state.before
        if patch.edits:
            after = state.judge.answers(patch, np.arange(len(state.before))).right
        session.progress.step()
        return patch, after

    @torch.inference_mode(False)  # blame and training need gradients
    def work(self, state: Inputs, job: Job) -> Patch:
        """The patch with the largest gain on validation inputs; one without edits if none gains."""
        assert state.damage is not None
        patches = self.method.patches(state.damage, state.progress)
        return best_patch(patches, state.judge, state.failing, state.before, state.parts[1], state.progress)

    def result(self, session: Session, state: Inputs, found: tuple[Patch, Bools]) -> Repair:
        """The patch, and what it changes in each part of the inputs."""
        given, task, (patch, after) = session.given, state.judge.task, found
        changes = {
            role: Change.of(state.failing[part], state.before[part], after[part])
            for role, part in zip(ROLES, state.parts, strict=True)
        }
        originals = len(given.subject.models) if given.subject else 1
        unseen = _unseen(task, state.labels[state.parts[2]])
        return Repair(
            subject=ModelAndInputs(
                given.name, type(session.model).__name__, task_record(task), len(given.data), given.source
            ),
            settings={**session.settings, "layers": [layer.name for layer in state.layers]},
            method=str(self.method),
            target=state.about,
            patch=patch,
            changes=changes,
            notes=tuple(notes(changes, patch, session.repeatable, originals, int((~state.finite).sum()), unseen)),
            original=state.original,
            **session.stamp(),
        )

    def stored(self, result: Repair) -> Repair:
        """Without the model, which is the user's."""
        return replace(result, original=None)

    def recalled(self, session: Session, result: Repair) -> Repair:
        """With a copy of the model."""
        return replace(result, original=_copied(session.model))


def _copied(model: nn.Module) -> nn.Module:
    """As it is now, whatever its owner does to it later."""
    try:
        return copy.deepcopy(model)
    except (RuntimeError, TypeError) as error:
        raise BadInput("model", type(model).__name__, "a model that copy.deepcopy copies", str(error)) from error


def _unseen(task: Task, labels: Ints) -> Sequence[int]:
    """Classes without any of these labels."""
    return np.setdiff1d(np.arange(task.classes), labels).tolist() if isinstance(task, Classification) else ()


def _strata(failing: Bools, before: Bools, labels: Ints) -> Ints:
    """Failures to be mended, other failures, and passes, each by class."""
    kind = np.where(failing, 0, np.where(before, 2, 1))
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
