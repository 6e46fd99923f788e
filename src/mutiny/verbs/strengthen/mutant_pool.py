"""Mutants of one seed and their answers to the test set and the pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.core.records import Verdict
from mutiny.core.stats import relative_standard_error
from mutiny.faults import Operator
from mutiny.faults.evaluation import Runner, Screening
from mutiny.subjects.tasks import Task
from mutiny.verbs.assess.judge import Judge
from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.assess.search import Search
from mutiny.verbs.strengthen.answers import Answers, answered, losses, right
from mutiny.verbs.strengthen.kill_table import MutantRow

TEST, POOL = "test", "pool"


@dataclass(frozen=True, eq=False)
class SetAnswers:
    """Answers of a mutant's instances, or of originals, to the test set and the pool, ``(..., n)`` each."""

    test: Answers
    pool: Answers


@dataclass(frozen=True)
class KillableRange:
    """The strengths of an operator that the training set kills: from the weakest to the upper bound.

    ``low`` and ``high`` are ``None`` for an operator without a strength.
    """

    operator: Operator
    label: str
    low: float | None
    high: float | None

    def strengths(self, count: int) -> list[float | None]:
        """Evenly spaced strengths, each in the middle of one of ``count`` equal parts.

        >>> from mutiny.faults import OPERATORS
        >>> KillableRange(OPERATORS["WI"](), "WI", 0.5, 1.0).strengths(2)
        [0.625, 0.875]
        """
        if self.low is None or self.high is None:
            return [None]
        return [self.low + (number + 0.5) / count * (self.high - self.low) for number in range(count)]


class MutantPool:
    """The originals with mutants of one seed.

    Args:
        runner: Originals, seed of the mutants, and the splits ``train``, ``test`` and optionally ``pool``; only inputs
            of the pool are read.
        rule: Resolved kill rule.
        search: Number of repetitions, and the limit below which a mutant is stable.
        screening: Screening for verdicts on the training set; ``None`` evaluates every input.
    """

    def __init__(self, runner: Runner, rule: KillRule, search: Search, screening: Screening | None) -> None:
        self.runner, self.rule, self.search, self.screening = runner, rule, search, screening

    @property
    def task(self) -> Task:
        """Task of the originals."""
        return self.runner.task

    @cached_property
    def targets(self) -> npt.NDArray[Any]:
        """Targets of the test set."""
        return self.task.check_targets(self.runner.splits[TEST].targets, TEST)

    def killable(self, operator: Operator, label: str, strength: float | None) -> int:
        """Number of repetitions with which the training set kills a mutant; 0 if it does not."""
        judge = Judge(self.runner, operator, label, self.rule, self.search, self.screening)
        record = judge(strength, "train").record
        return record.instances // len(self.runner.models) if record.verdict is Verdict.KILLED else 0

    def answers(self, operator: Operator, strength: float | None, least: int = 1) -> SetAnswers:
        """Answers of at least ``least`` repetitions, and of more until the mutant is stable on the test set."""
        mutant, runner = operator.at(strength), self.runner
        splits = [split for split in (TEST, POOL) if split in runner.splits]
        single = all(mutant.choices(view) == 1 for view in runner.views)
        answers: dict[str, list[list[Answers]]] = {split: [] for split in splits}
        for repetition in range(1 if single else self.search.k_max):
            instances = [self._instance(mutant, original, repetition, splits) for original in range(len(runner.models))]
            for split in splits:
                answers[split].append([instance[split] for instance in instances])
            if repetition + 1 >= least and self._stable(np.array(answers[TEST])):
                break
        return SetAnswers(*(np.array(answers.get(split, [])) for split in (TEST, POOL)))

    def _instance(self, mutant: Operator, original: int, repetition: int, splits: Sequence[str]) -> dict[str, Answers]:
        runner, model = self.runner, self.runner.models[original]
        with runner.patch(mutant, original, repetition).applied(model, runner.forward) as call:
            return {split: answered(call, model, runner.splits[split], self.task, runner.pace) for split in splits}

    def _stable(self, answers: Answers) -> bool:
        loss = losses(self.task, answers, self.targets)
        metrics = (right(self.task, answers, self.targets) if loss is None else loss).mean(axis=2).ravel()
        if not np.isfinite(metrics).all():
            return True  # no repetition changes that
        return metrics.size >= self.search.min_instances and relative_standard_error(metrics) <= self.search.rse


def row_of(task: Task, label: str, strength: float | None, answers: Answers, targets: npt.NDArray[Any]) -> MutantRow:
    """A mutant of a kill table, from answers ``(repetitions, originals, n)`` and targets."""
    return MutantRow(label, strength, right(task, answers, targets), losses(task, answers, targets))
