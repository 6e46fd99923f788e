"""State of `strengthen`, which jobs need: the originals with their answers to the test set and the pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

from mutiny.faults import Operator
from mutiny.faults.evaluation import Runner, Screening
from mutiny.models import ModelView
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.given import Given
from mutiny.subjects.inference.passes import settle
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.assess.search import Search
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.strengthen.answers import Answers, answered, answers_of, losses, right
from mutiny.verbs.strengthen.kill_distance import Belief
from mutiny.verbs.strengthen.kill_table import KillTable, MutantRow
from mutiny.verbs.strengthen.mutant_pool import POOL, TEST, KillableRange, MutantPool, SetAnswers, row_of
from mutiny.verbs.strengthen.starting_point import StartingPoint


class StrengthenContext:
    """State of `strengthen`; it is sent to workers.

    Args:
        evidence: Originals, task, forward function and pace, with the pool, or with the test set if there is no pool.
        splits: ``train``, ``test`` and, if there is one, ``pool``.
        rule: Resolved kill rule.
        search: Number of repetitions, and the limit below which a mutant is stable.
        screening: Screening for verdicts on the training set; ``None`` evaluates every input.
        labels: Targets of the pool, checked by the task; ``None`` if some are unknown. Choosing never reads them.
    """

    def __init__(
        self,
        evidence: Evidence,
        splits: Mapping[str, Any],
        rule: KillRule,
        search: Search,
        screening: Screening | None,
        labels: npt.NDArray[Any] | None = None,
    ) -> None:
        self.evidence, self.splits, self.labels = evidence, dict(splits), labels
        self.rule, self.search, self.screening = rule, search, screening

    @classmethod
    def of(cls, models: Sequence[nn.Module], given: Given, start: StartingPoint, seed: int) -> StrengthenContext:
        """The context of a call.

        Args:
            models: Originals.
            given: Pool, or the test set if there is none, and the subject.
            start: Assessment to start from.
            seed: Seed of the call.
        """
        subject, options = given.subject, start.options
        assert subject is not None
        has_pool = given.source != "the test set"
        task = settle(subject.task, models, subject.train, subject.forward)
        evidence = Evidence(
            models, task, given.data, subject.train, forward=subject.forward, seed=seed, pace=start.pace
        )
        splits = {"train": subject.train, "test": subject.test, **({POOL: given.data} if has_pool else {})}
        labeled = has_pool and not unknown(given.data.targets, task)
        labels = task.check_targets(given.data.targets, POOL) if labeled else None
        return cls(evidence, splits, options.rule, options.search, options.screening, labels)

    @property
    def task(self) -> Task:
        """Task of the originals."""
        return self.evidence.task

    def mutant_pool(self, seed: int, pool: bool = True) -> MutantPool:
        """Mutants of a seed on the test set and, if ``pool``, on the pool."""
        splits = {name: data for name, data in self.splits.items() if pool or name != POOL}
        evidence = self.evidence
        runner = Runner(evidence.models, evidence.task, splits, evidence.forward, seed, pace=evidence.pace)
        return MutantPool(runner, self.rule, self.search, self.screening)

    def table(self, rows: Sequence[MutantRow]) -> KillTable:
        """Table of originals and mutants on every input of the test set."""
        task, answers = self.task, self.originals.test
        return KillTable(
            right(task, answers, self.targets),
            losses(task, answers, self.targets),
            tuple(rows),
            self.rule,
            self.search,
            task.higher_is_better,
        )

    def rows(self, killable: KillableRange, seed: int, strengths: Sequence[float | None]) -> list[MutantRow]:
        """An operator's mutants on every input of the test set."""
        mutants = self.mutant_pool(seed, pool=False)
        answers = [(strength, mutants.answers(killable.operator, strength).test) for strength in strengths]
        return [row_of(self.task, killable.label, strength, given, self.targets) for strength, given in answers]

    @property
    def is_classifier(self) -> bool:
        """Whether answers are classes."""
        return isinstance(self.task, Classification)

    def judges(self, ranges: Sequence[KillableRange]) -> tuple[int, ...]:
        """Numbers of the operators that make other mutants with another seed, so that some can be held out."""
        return tuple(number for number, operator in enumerate(ranges) if self.renews(operator.operator))

    def renews(self, operator: Operator) -> bool:
        """Whether another seed makes other mutants; it does not if there are only a few, such as layers to remove."""
        return any(operator.choices(view) is None for view in self._views)

    @cached_property
    def _views(self) -> tuple[ModelView, ...]:
        return self.mutant_pool(0, pool=False).runner.views

    @cached_property
    def targets(self) -> npt.NDArray[Any]:
        """Targets of the test set."""
        return self.task.check_targets(self.splits[TEST].targets, TEST)

    @cached_property
    def originals(self) -> SetAnswers:
        """Answers of the originals."""
        evidence, test, pool = self.evidence, list[Answers](), list[Answers]()
        for number, model in enumerate(evidence.models):
            test.append(answered(partial(evidence.forward, model), model, self.splits[TEST], self.task, evidence.pace))
            if POOL in self.splits:
                pool.append(answers_of(self.task, evidence.outputs("pool", number)))
        return SetAnswers(np.array(test), np.array(pool))

    @cached_property
    def belief(self) -> Belief:
        """Mean prediction of the originals for the pool: class probabilities, or outputs of a regression."""
        total: Any = 0.0
        for number in range(len(self.evidence.models)):
            if isinstance(self.task, Classification):
                prediction = self.evidence.probabilities("pool", number)
            else:
                prediction = self.evidence.outputs("pool", number).reshape(self.evidence.size, -1)
            total = total + prediction.double().numpy()
        mean: Belief = (total / len(self.evidence.models)).astype(np.float32)
        return mean
