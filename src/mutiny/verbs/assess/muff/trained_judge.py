"""Judges networks that were trained with a fault, and asks for the trainings that this takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mutiny.campaigns.jobs import Job
from mutiny.campaigns.schedule import ask, together
from mutiny.core.parsing import described
from mutiny.core.records import Basis, MutantRecord, Verdict
from mutiny.core.stats import power_two_sample
from mutiny.faults.evaluation import Runner
from mutiny.faults.training.base import TrainingOperator
from mutiny.verbs.assess.muff.early_verdict import surely_killed
from mutiny.verbs.assess.muff.judge import MutantEvaluation, MutantJudge, sample_of
from mutiny.verbs.assess.muff.kill_rule import Judged, KillRule
from mutiny.verbs.assess.muff.search import Search
from mutiny.verbs.assess.muff.trainer import TrainedInstance, Trainer

DIVERGED = "trainings diverged"

Key = float | str
"""A configuration: the value of a strength, or a text that names the changed setting."""


class TrainedJudge(MutantJudge):
    """Judges networks that were trained with a fault, each configuration once on every set.

    Args:
        runner: Originals and their data.
        trainer: Trainer of faulty programs; ``None`` if there is no recipe.
        label: Name of the operator in records.
        rule: Resolved kill rule.
        search: Limits of the search.
        basis: Hash of everything but the program that decides how a network is evaluated.
    """

    def __init__(
        self,
        runner: Runner,
        trainer: Trainer | None,
        label: str,
        rule: KillRule,
        search: Search,
        basis: str = "",
    ) -> None:
        self.runner, self.label, self.rule, self.search, self.basis = runner, label, rule, search, basis
        self._trainer = trainer
        self._seen: dict[str, dict[Key, Judged]] = {}

    @property
    def trains(self) -> bool:
        """Whether faulty programs can be trained at all."""
        return self._trainer is not None

    @property
    def trainer(self) -> Trainer:
        """Trainer of faulty programs."""
        assert self._trainer is not None
        return self._trainer

    async def configuration(self, key: Key, operator: TrainingOperator, split: str) -> Judged:
        """Verdict on a configuration; raises `NotApplicable` if it cannot be trained."""
        seen = self._seen.setdefault(split, {})
        if key not in seen:
            instances, evaluation = await self._in_groups(operator, split)
            judged = self._judged(evaluation, None, split, single=False)
            record = replace(_named(judged.record, key, instances), power=self._power(judged))
            seen[key] = replace(judged, record=record)
        return seen[key]

    async def _in_groups(
        self, operator: TrainingOperator, split: str
    ) -> tuple[list[TrainedInstance], MutantEvaluation]:
        """Trains instances until the verdict is certain."""
        instances: list[TrainedInstance] = []
        total = len(self.runner.models)
        for size in self.trainer.savings.groups(total):
            instances += await trained(self.trainer, operator, range(len(instances), size), split, self.basis)
            evaluation = self._evaluation(instances, split)
            if size < total and surely_killed(evaluation.sample, total, self.rule, self.runner.task):
                return instances, replace(evaluation, answer=Verdict.KILLED, basis=Basis.FOREGONE)
        return instances, evaluation

    def _power(self, judged: Judged) -> float | None:
        effect, sample = judged.record.effect_size, judged.sample
        if self.rule.effect != "cohen-d" or effect is None or len(sample.originals) + sample.mutants.size < 3:
            return None
        return power_two_sample(effect, len(sample.originals), sample.mutants.size, self.rule.alpha)

    def configurations(self, split: str) -> dict[Key, Judged]:
        """Configurations judged on a split, in the order in which their trainings ended."""
        return self._seen.get(split, {})

    def _evaluation(self, instances: list[TrainedInstance], split: str) -> MutantEvaluation:
        outcomes = [instance.outcomes[split] for instance in instances]
        sample = sample_of(self.runner.clean_outcomes(split), [outcomes])
        answer = None
        if np.isfinite(sample.mutants).all():
            killed = self.rule.judge(sample, self.runner.task.higher_is_better).killed
            answer = Verdict.KILLED if killed else Verdict.SURVIVED
        right = np.array([[outcome.bits for outcome in outcomes]])
        return MutantEvaluation(answer, sample, right, Basis.EXACT, sample.mutants.size * sample.inputs, 0.0)


def _named(record: MutantRecord, key: Key, instances: list[TrainedInstance]) -> MutantRecord:
    """The record with the name or value of the configuration, and the number of diverged trainings."""
    diverged = sum(instance.diverged for instance in instances)
    reason = f"{diverged} of {len(instances)} {DIVERGED}" if diverged else record.reason
    if isinstance(key, str):
        return replace(record, operator=key, reason=reason)
    return replace(record, strength=float(key), reason=reason)


async def trained(
    trainer: Trainer, operator: TrainingOperator, numbers: Sequence[int], split: str, basis: str
) -> list[TrainedInstance]:
    """Instances of a configuration.

    Args:
        trainer: Trainer, which recognizes equal trainings and intermediate states.
        operator: Configuration.
        numbers: Numbers of the instances.
        split: Set of inputs whose search asks; it decides the job only if trainings are not shared.
        basis: Hash of what decides how networks are evaluated.
    """
    if trainer.savings.together and len(numbers) > 1:
        return await _at_once(trainer, operator, numbers, split, basis)
    return await together(_instance(trainer, operator, number, split, basis) for number in numbers)


async def _at_once(
    trainer: Trainer, operator: TrainingOperator, numbers: Sequence[int], split: str, basis: str
) -> list[TrainedInstance]:
    programs = [trainer.identity(operator, number) for number in numbers]
    name = f"{described(operator, operator.code)} {numbers[0] + 1} to {numbers[-1] + 1}"
    job = _job("group", programs, trainer, split, basis, name, (operator, tuple(numbers)))
    instances: list[TrainedInstance] = await ask(job)
    trainer.counted[job.id] = sum(instance.trained for instance in instances)
    return instances


async def _instance(
    trainer: Trainer, operator: TrainingOperator, number: int, split: str, basis: str
) -> TrainedInstance:
    identity, name = trainer.identity(operator, number), f"{described(operator, operator.code)} {number + 1}"
    given = (operator, number)
    if trainer.is_beginning(operator, number):
        states = f"states of original {number + 1}"
        longer = _job("walk", trainer.original_identity(number), trainer, split, basis, states, given)
        trainer.counted[longer.id] = await ask(longer)
    job = _job("training", identity, trainer, split, basis, name, given)
    instance: TrainedInstance = await ask(job)
    trainer.counted[job.id] = int(instance.trained)
    return instance


def _job(
    kind: str, identity: object, trainer: Trainer, split: str, basis: str, name: str, given: tuple[object, ...]
) -> Job:
    """A job identified by what is trained, not by the operator that asks for it."""
    asking = () if trainer.savings.shared else (split,)
    return Job(kind, (identity, *asking), basis, name=name, given=given)
