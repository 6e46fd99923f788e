"""Which trainings a configuration of a faulty program needs, as tasks."""

from __future__ import annotations

from collections.abc import Sequence

from mutiny.campaigns.jobs import Job
from mutiny.campaigns.schedule import ask, together
from mutiny.core.parsing import described
from mutiny.faults.training.base import TrainingOperator
from mutiny.verbs.assess.trainer import Instance, Trainer


async def trained(
    trainer: Trainer, operator: TrainingOperator, numbers: Sequence[int], split: str, basis: str
) -> list[Instance]:
    """Instances of a configuration.

    Args:
        trainer: says what is the same training, and what lies on the way of another.
        operator: the configuration.
        numbers: which instances.
        split: the set of inputs whose search asks; it matters only where nothing is shared.
        basis: hash of what decides how networks are evaluated.
    """
    if trainer.savings.together and len(numbers) > 1:
        return await _at_once(trainer, operator, numbers, split, basis)
    return await together(_instance(trainer, operator, number, split, basis) for number in numbers)


async def _at_once(
    trainer: Trainer, operator: TrainingOperator, numbers: Sequence[int], split: str, basis: str
) -> list[Instance]:
    programs = [trainer.identity(operator, number) for number in numbers]
    name = f"{described(operator, operator.code)} {numbers[0] + 1} to {numbers[-1] + 1}"
    task = _task("group", programs, trainer, split, basis, name, (operator, tuple(numbers)))
    found: list[Instance] = await ask(task)
    trainer.counted[task.id] = sum(instance.trained for instance in found)
    return found


async def _instance(trainer: Trainer, operator: TrainingOperator, number: int, split: str, basis: str) -> Instance:
    identity, name = trainer.identity(operator, number), f"{described(operator, operator.code)} {number + 1}"
    given = (operator, number)
    if trainer.is_beginning(operator, number):
        way = _task("walk", trainer.way(number), trainer, split, basis, f"on the way of original {number + 1}", given)
        trainer.counted[way.id] = await ask(way)
    task = _task("training", identity, trainer, split, basis, name, given)
    found: Instance = await ask(task)
    trainer.counted[task.id] = int(found.trained)
    return found


def _task(
    kind: str, identity: object, trainer: Trainer, split: str, basis: str, name: str, given: tuple[object, ...]
) -> Job:  # fmt: skip
    """What is trained decides, not which operator asks for it."""
    asks = () if trainer.savings.shared else (split,)
    return Job(kind, (identity, *asks), basis, name=name, given=given)
