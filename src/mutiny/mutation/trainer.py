"""Networks of faulty programs: trained once, kept on disk, evaluated on every set of inputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from torch import nn

from mutiny.errors import Diverged, MutinyError, NotApplicable
from mutiny.evaluation import Outcome, Runner
from mutiny.evaluation.exact import evaluate, placement
from mutiny.operators.training.base import Program, TrainingOperator
from mutiny.random import generator_for, seed_for
from mutiny.training.loop import Epoch
from mutiny.training.originals import Stored, default_folder, settings
from mutiny.training.prefixes import ending_here

PREFIXES = ("epochs", "patience")
"""Strengths of which weaker and stronger mutants are beginnings of one training."""


class Instance(NamedTuple):
    """One trained network of a faulty program, as far as it matters.

    Attributes:
        outcomes: by set of inputs.
        trained: whether it was trained now; if not, it was known.
        diverged: whether its loss did not stay a number; then every answer is wrong.
    """

    outcomes: dict[str, Outcome]
    trained: bool
    diverged: bool


class Trainer:
    """Trains the instances of faulty programs: number ``i`` with the seed of original ``i``.

    Args:
        program: that trained the originals.
        runner: the originals, the sets of inputs and the campaign's seed.
        folder: where trained networks are kept.
        reuse: whether trainings that are the beginning of another one are taken from it.
    """

    def __init__(self, program: Program, runner: Runner, folder: Path | None = None, reuse: bool = True) -> None:
        self.program, self.runner, self.reuse = program, runner, reuse
        self.folder = default_folder().with_name("mutants") if folder is None else Path(folder)
        self.trainings = 0
        self._known: dict[tuple[TrainingOperator, int], Instance] = {}
        self._twins: dict[str, Instance] = {}

    def instance(self, operator: TrainingOperator, number: int) -> Instance:
        """One instance of a configuration, on all sets; raises `NotApplicable` if it cannot be trained."""
        key = (operator, number)
        if key not in self._known:
            self._known[key] = self._made(operator, number)
        return self._known[key]

    def _made(self, operator: TrainingOperator, number: int) -> Instance:
        seed = self.runner.seed
        program = operator.mutate(self.program, generator_for(seed, "fault", operator.code, number))
        own = seed_for(seed, "original", number)
        stored = self._stored(program, own)
        if stored.path.name in self._twins:  # another configuration is the very same program
            return self._twins[stored.path.name]
        device = placement(self.runner.models[0])[0]
        model = stored.load(program.recipe, own, device)
        known, diverged = model is not None, False
        try:
            if model is None:
                model = self._trained(operator, program, own)
                stored.save(model)
            outcomes = {split: self._outcome(model, split) for split in self.runner.splits}
        except Diverged:
            diverged, outcomes = True, {split: self._wrong(split) for split in self.runner.splits}
        made = self._twins[stored.path.name] = Instance(outcomes, not known, diverged)
        return made

    def _trained(self, operator: TrainingOperator, program: Program, seed: int) -> nn.Module:
        def watch(epoch: Epoch) -> None:
            for recipe in ending_here(program.recipe, epoch):
                self._stored(replace(program, recipe=recipe), seed).save(epoch.model)

        self.trainings += 1
        device = placement(self.runner.models[0])[0]
        try:
            return program.recipe.train(
                program.data, program.task, seed, forward=program.forward, device=device,
                watch=watch if self.reuse and operator.strength in PREFIXES else None,
            )  # fmt: skip
        except MutinyError:
            raise
        except Exception as error:  # the user's code or torch, with a program that nobody has tried before
            raise NotApplicable(f"training raised {type(error).__name__}: {error}") from error

    def _stored(self, program: Program, seed: int) -> Stored:
        self.folder.mkdir(parents=True, exist_ok=True)
        device = placement(self.runner.models[0])[0]
        told = settings(
            program.recipe, program.data, program.task, seed, forward=program.forward, device=device
        )  # fmt: skip
        return Stored(self.folder, told)

    def _outcome(self, model: nn.Module, split: str) -> Outcome:
        targets = self.runner.targets(split, placement(model)[0])
        return evaluate(
            lambda inputs: self.program.forward(model, inputs), model, self.runner.splits[split], targets,
            self.runner.task, self.runner.pace,
        )  # fmt: skip

    def _wrong(self, split: str) -> Outcome:
        """What a network that answers nothing does."""
        inputs = len(self.runner.splits[split])
        metric = 0.0 if self.runner.task.higher_is_better else float("inf")
        return Outcome(np.packbits(np.zeros(inputs, bool)), inputs, metric)
