"""Trains networks of faulty programs once, stores them on disk, and evaluates them on every set of inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from mutiny.campaigns.jobs import Job
from mutiny.core.errors import BadInput, Diverged, MutinyError, NotApplicable
from mutiny.core.memory_errors import is_out_of_memory
from mutiny.core.private_files import make_private
from mutiny.core.random import generator_for, seed_for
from mutiny.faults.evaluation import Outcome, Runner
from mutiny.faults.training.base import Program, TrainingOperator
from mutiny.models.device import placement
from mutiny.subjects.inference.passes import evaluate
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.loop import Epoch
from mutiny.subjects.training.originals import Stored, default_folder, settings, warn_of_refused
from mutiny.subjects.training.prefixes import ending_here, ending_with, is_beginning
from mutiny.subjects.training.together import reason_against, train_together
from mutiny.verbs.assess.muff.options import Savings


class TrainedInstance(NamedTuple):
    """One trained network of a faulty program.

    Attributes:
        outcomes: Outcomes by set of inputs.
        trained: Whether it was trained now, instead of loaded.
        diverged: Whether its loss became infinite or NaN; then every answer counts as wrong.
    """

    outcomes: dict[str, Outcome]
    trained: bool
    diverged: bool


class Trainer:
    """Trains the instances of faulty programs: number ``i`` with the seed of original ``i``.

    Args:
        program: Program that trained the originals.
        runner: Originals, sets of inputs and seed.
        folder: Folder for trained networks.
        savings: Trainings that may be shared or left out.
    """

    def __init__(
        self, program: Program, runner: Runner, folder: Path | None = None, savings: Savings | None = None
    ) -> None:
        self.program, self.runner, self.savings = program, runner, savings or Savings()
        self.folder = default_folder().with_name("mutants") if folder is None else Path(folder)
        self.trainings = 0
        self._known: dict[tuple[TrainingOperator, int], TrainedInstance] = {}
        self._twins: dict[str, TrainedInstance] = {}
        self._walked: set[int] = set()
        self._warned = False
        self._identities: dict[tuple[TrainingOperator, int], tuple[str, bool]] = {}
        self.counted: dict[str, int] = {}

    def work(self, job: Job) -> TrainedInstance | list[TrainedInstance] | int:
        """Trains one instance, a group of instances, or an original once more to store its intermediate states."""
        match job.kind:
            case "training":
                return self.instance(*job.given)
            case "group":
                return self.group(*job.given)
            case "walk":
                return self.walk(*job.given)
        raise ValueError(f"unknown kind of job: {job.kind}")

    def instance(self, operator: TrainingOperator, number: int) -> TrainedInstance:
        """One instance of a configuration on all sets; raises `NotApplicable` if it cannot be trained."""
        key = (operator, number)
        if not self.savings.shared:
            return self._made(operator, number)
        if key not in self._known:
            self._known[key] = self._made(operator, number)
        return self._known[key]

    def group(self, operator: TrainingOperator, numbers: Sequence[int]) -> list[TrainedInstance]:
        """Several instances of a configuration, trained together if `Savings.together` is set and it is possible."""
        missing = [number for number in numbers if (operator, number) not in self._known]
        new = self._at_once(operator, missing) if self.savings.together and len(missing) > 1 else {}
        if self.savings.shared:
            self._known |= {(operator, number): made for number, made in new.items()}
        return [new[number] if number in new else self.instance(operator, number) for number in numbers]

    def identity(self, operator: TrainingOperator, number: int) -> str:
        """Hash of everything that decides an instance's network; raises `NotApplicable` if there is none."""
        key = (operator, number)
        if key not in self._identities:
            program = self._program(operator, number)
            beginning = program.data is self.program.data and is_beginning(program.recipe, self.program.recipe)
            self._identities[key] = self._stored(program, self._seed(number)).path.stem, beginning
        return self._identities[key][0]

    def original_identity(self, number: int) -> str:
        """Hash of everything that decides an original's training."""
        return self._stored(self.program, self._seed(number)).path.stem

    def is_beginning(self, operator: TrainingOperator, number: int) -> bool:
        """Whether the instance is an intermediate state of its original's training."""
        self.identity(operator, number)
        return self.savings.beginnings and self._identities[operator, number][1]

    def walk(self, operator: TrainingOperator, number: int) -> int:
        """Stores intermediate states of an original's training, unless the instance exists.

        Returns:
            Number of new trainings.
        """
        program, seed = self._program(operator, number), self._seed(number)
        before = self.trainings
        if self._remembered(self._stored(program, seed), program, seed) is None and number not in self._walked:
            self._walk(number, seed)
        return self.trainings - before

    def network(self, operator: TrainingOperator, number: int) -> nn.Module:
        """Network of an instance, from disk if stored; raises `Diverged` if training gives none."""
        program, seed = self._program(operator, number), self._seed(number)
        return self._network(program, number, self._stored(program, seed))[0]

    def _seed(self, number: int) -> int:
        """Seed with which an original and all its instances are trained."""
        return seed_for(self.runner.seed, "original", number)

    @property
    def _device(self) -> torch.device:
        return placement(self.runner.models[0]).device

    def _at_once(self, operator: TrainingOperator, numbers: Sequence[int]) -> dict[int, TrainedInstance]:
        """Instances that can be trained together; rounding differs from single trainings, so they are not stored."""
        programs = [self._program(operator, number) for number in numbers]
        recipe, data = programs[0].recipe, [program.data for program in programs]
        if any(program.recipe != recipe for program in programs) or is_beginning(recipe, self.program.recipe):
            return {}
        if reason_against(recipe, data) is not None:
            return {}
        seeds = [self._seed(number) for number in numbers]
        try:
            models = train_together(
                recipe, data, self.program.task, seeds, forward=self.program.forward, device=self._device
            )
        except Exception:  # cannot be stacked, or draws random numbers; trained alone it works, or says why not
            return {}
        self.trainings += len(models)
        made = {}
        for number, model in zip(numbers, models, strict=True):
            outcome = partial(self._outcome, model) if model is not None else self._wrong
            outcomes = {split: outcome(split) for split in self.runner.splits}
            made[number] = TrainedInstance(outcomes, True, model is None)
        return made

    def _made(self, operator: TrainingOperator, number: int) -> TrainedInstance:
        program = self._program(operator, number)
        stored = self._stored(program, self._seed(number))
        if self.savings.shared and stored.path.name in self._twins:  # another configuration is the same program
            return self._twins[stored.path.name]
        trained, diverged = False, False
        try:
            model, trained = self._network(program, number, stored)
            outcomes = {split: self._outcome(model, split) for split in self.runner.splits}
        except Diverged:
            diverged, outcomes = True, {split: self._wrong(split) for split in self.runner.splits}
        made = self._twins[stored.path.name] = TrainedInstance(outcomes, trained or diverged, diverged)
        return made

    def _network(self, program: Program, number: int, stored: Stored) -> tuple[nn.Module, bool]:
        """The trained network, and whether it was trained now."""
        model = self._remembered(stored, program, self._seed(number))
        if model is not None:
            return model, False
        refused = stored.path.is_file()
        model = self._trained(program, number, stored)
        if refused and self.savings.shared and not self._warned:
            self._warned = True
            warn_of_refused([stored.path])
        return model, True

    def _program(self, operator: TrainingOperator, number: int) -> Program:
        try:
            return operator.mutate(self.program, generator_for(self.runner.seed, "fault", operator.code, number))
        except BadInput as error:  # a setting that contradicts others
            raise NotApplicable(f"cannot be trained: {error}") from error

    def _remembered(self, stored: Stored, program: Program, seed: int) -> nn.Module | None:
        kept = self.savings.shared or self.savings.beginnings
        return stored.load(program.recipe, seed, self._device) if kept else None

    def _trained(self, program: Program, number: int, stored: Stored) -> nn.Module:
        """Trains a network, or the longer training of which it is an intermediate state."""
        seed = self._seed(number)
        if self.savings.beginnings and program.data is self.program.data:
            if is_beginning(program.recipe, self.program.recipe) and number not in self._walked:
                self._walk(number, seed)
            model = self._remembered(stored, program, seed)
            if model is not None:
                return model
        model = self._train(program, seed)
        if self.savings.shared:
            stored.save(model)
        return model

    def _walk(self, number: int, seed: int) -> None:
        """Trains as the original was trained, and stores intermediate states."""
        self._walked.add(number)
        whole = self.program.recipe

        def keep(recipe: Recipe, model: nn.Module) -> None:
            self._stored(replace(self.program, recipe=recipe), seed).save(model)

        def watch(epoch: Epoch) -> None:
            for recipe in ending_here(whole, epoch):
                keep(recipe, epoch.model)
            curve.append(epoch.curve[-1])

        curve: list[float] = []
        try:
            model = self._train(self.program, seed, watch)
        except Diverged:
            return  # earlier states are stored already
        for recipe in ending_with(whole, curve):
            keep(recipe, model)

    def _train(self, program: Program, seed: int, watch: Callable[[Epoch], None] | None = None) -> nn.Module:
        self.trainings += 1
        try:
            return program.recipe.train(
                program.data, program.task, seed, forward=program.forward, device=self._device, watch=watch
            )
        except (Diverged, NotApplicable):
            raise
        except BadInput as error:  # for instance, too few items for a validation split
            raise NotApplicable(f"cannot be trained: {error}") from error
        except MutinyError:
            raise
        except Exception as error:  # the user's code, or torch, may refuse a program with a fault in any way
            if is_out_of_memory(error):  # says nothing about the fault: the job fails, and is tried again
                raise
            raise NotApplicable(f"training raised {type(error).__name__}: {error}") from error

    def _stored(self, program: Program, seed: int) -> Stored:
        make_private(self.folder)
        decisive = settings(
            program.recipe, program.data, program.task, seed, forward=program.forward, device=self._device
        )
        return Stored(self.folder, decisive)

    def _outcome(self, model: nn.Module, split: str) -> Outcome:
        targets = self.runner.targets(split, placement(model).device)
        return evaluate(
            lambda inputs: self.program.forward(model, inputs),
            model,
            self.runner.splits[split],
            targets,
            self.runner.task,
            self.runner.pace,
        )

    def _wrong(self, split: str) -> Outcome:
        """Outcome of a network that gives no valid answer."""
        inputs = len(self.runner.splits[split])
        metric = 0.0 if self.runner.task.higher_is_better else float("inf")
        return Outcome(np.packbits(np.zeros(inputs, bool)), inputs, metric)
