"""The verb `repair`: finds patches on one part of the inputs, chooses on another, and evaluates on a third."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from mutiny.campaigns.verb import Job, Session, Verb, ask, code_of
from mutiny.core.json_values import to_plain
from mutiny.core.progress import Local, Progress
from mutiny.core.random import generator_for
from mutiny.core.results import ModelAndInputs
from mutiny.models import Layer, Patch
from mutiny.subjects.tasks import Classification, Task, task_record
from mutiny.verbs.repair.base import RepairMethod
from mutiny.verbs.repair.patch_choice import AnswerJudge, best_patch
from mutiny.verbs.repair.problem import RepairProblem, layers_to_change
from mutiny.verbs.repair.result import Repair, copied, notes_on_repair
from mutiny.verbs.repair.split import ROLES, equals, split
from mutiny.verbs.repair.target import Target, check_target, targeted
from mutiny.verbs.repair.verdict import Change

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RepairState:
    """What the search needs.

    Attributes:
        judge: Evaluates answers.
        problem: The problem that the method solves; ``None`` if nothing fails in the repair part of the inputs.
        failing: Failures to fix, ``(n,)``.
        before: Which answers are right without a patch, ``(n,)``.
        finite: Which inputs have a finite loss, ``(n,)``.
        labels: Classes, ``(n,)``; 0 for regression.
        parts: Indices for repair, validation and held-out.
        layers: Layers whose weights may change.
        about: Description of the target, as plain values.
        original: Copy of the model, which the result keeps; it does not travel to workers.
        progress: Receiver of progress messages.
    """

    judge: AnswerJudge
    problem: RepairProblem | None
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
class FindPatch(Verb[RepairState, Repair]):
    """Arguments of `repair`, checked."""

    method: RepairMethod
    target: Target
    layers: str | Sequence[str] | None
    shares: tuple[float, ...]

    name = "repair"

    def settings(self) -> dict[str, Any]:
        """Layers that may change, and the split of the inputs."""
        return {"layers": to_plain(self.layers), "shares": list(self.shares)}

    def identity(self) -> Mapping[str, Any]:
        """The method, and the failures to fix."""
        return {"method": self.method, "target": self.target}

    def prepare(self, session: Session) -> RepairState:
        """Finds the failures and splits the inputs."""
        given, model, size = session.given, session.model, session.runtime.batch_size
        original = copied(model)
        task = session.settled_task()
        wanted = check_target(self.target, task)
        judge = AnswerJudge(model, task, given.data, given.forward, size)
        judge.pace = session.pace or judge.pace
        before, predicted, finite = judge.answers(Patch(()), np.arange(len(given.data)))
        labels = judge.targets.numpy() if isinstance(task, Classification) else np.zeros(len(before), np.int64)
        failing, about = targeted(wanted, ~before, labels, predicted)
        rng = generator_for(session.seed, "repair", "split")
        parts = split(_strata(failing, before, labels), self.shares, rng, equals(given.data))
        view = judge.view()
        layers = layers_to_change(view, self.layers)
        session.settle_pace(judge.pace)
        problem = None
        if failing[parts[0]].any():
            indices = parts[0][failing[parts[0]] | before[parts[0]]]  # without failures that are not targeted
            problem = RepairProblem(
                view,
                task,
                given.data.subset(indices),
                judge.targets[torch.from_numpy(indices)],
                failing[indices],
                finite[indices],
                layers,
                given.forward,
                session.seed,
                judge.pace.batch_size,
            )
            session.expect(1)
        return RepairState(
            judge, problem, failing, before, finite, labels, parts, layers, about, original, Local(session.progress)
        )

    async def plan(self, session: Session, state: RepairState) -> tuple[Patch, Bools]:
        """Searches for a patch, in one job because each generation needs the one before; then evaluates it."""
        patch = Patch(())
        if state.problem is not None:
            patch = await ask(session.job("repair", [code_of(self.method), to_plain(state.about)], str(self.method)))
        session.progress.stage("judging", 1)
        after = state.before
        if patch.edits:
            after = state.judge.answers(patch, np.arange(len(state.before))).right
        session.progress.step()
        return patch, after

    def work(self, state: RepairState, job: Job) -> Patch:
        """The patch with the largest gain on validation inputs; one without edits if none gains."""
        assert state.problem is not None
        patches = self.method.patches(state.problem, state.progress)
        return best_patch(patches, state.judge, state.failing, state.before, state.parts[1], state.progress)

    def result(self, session: Session, state: RepairState, found: tuple[Patch, Bools]) -> Repair:
        """The patch, and its effect on each part of the inputs."""
        given, task, (patch, after) = session.given, state.judge.task, found
        changes = {
            role: Change.of(state.failing[part], state.before[part], after[part])
            for role, part in zip(ROLES, state.parts, strict=True)
        }
        originals = given.count(None)
        unseen = _classes_without(task, state.labels[state.parts[2]])
        not_finite = int((~state.finite).sum())
        return Repair(
            subject=ModelAndInputs(
                given.name, type(session.model).__name__, task_record(task), len(given.data), given.source
            ),
            settings={**session.settings, "layers": [layer.name for layer in state.layers]},
            method=str(self.method),
            target=state.about,
            patch=patch,
            changes=changes,
            notes=tuple(notes_on_repair(changes, patch, session.repeatable, originals, not_finite, unseen)),
            original=state.original,
            **session.stamp(),
        )

    def stored(self, result: Repair) -> Repair:
        """The result without the model, which belongs to the user."""
        return replace(result, original=None)

    def recalled(self, session: Session, result: Repair) -> Repair:
        """The stored result with a copy of the model."""
        return replace(result, original=copied(session.model))


def _classes_without(task: Task, labels: Ints) -> Sequence[int]:
    """Classes that do not occur among ``labels``; none for regression."""
    return np.setdiff1d(np.arange(task.classes), labels).tolist() if isinstance(task, Classification) else ()


def _strata(failing: Bools, before: Bools, labels: Ints) -> Ints:
    """Stratum of each input: failures to fix, other failures and passes, each by class."""
    kind = np.where(failing, 0, np.where(before, 2, 1))
    strata: Ints = kind * (labels.max(initial=0) + 1) + labels
    return strata
