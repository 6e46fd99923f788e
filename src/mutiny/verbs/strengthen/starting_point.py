"""Starting point of `strengthen`: an assessment, its survivors, and the strengths that the training set kills."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mutiny.campaigns.runtime import Runtime
from mutiny.campaigns.stores.base import Store
from mutiny.core.errors import BadInput
from mutiny.core.records import Status
from mutiny.faults import Operator
from mutiny.faults.parsing import as_faults, describe
from mutiny.subjects import Subject
from mutiny.subjects.inference.passes import Pace
from mutiny.verbs.assess.assess import assess
from mutiny.verbs.assess.options import AssessOptions
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.strengthen.kill_table import Key, is_exact
from mutiny.verbs.strengthen.mutant_pool import TEST, KillableRange
from mutiny.verbs.strengthen.stored_assessment import finished


@dataclass(frozen=True)
class StartingPoint:
    """An assessment and what `strengthen` needs from it.

    Attributes:
        assessment: Assessment; it is not sent to workers.
        ranges: Operators with the strengths that the training set kills.
        survivors: Mutants that the training set kills and the test set does not, strong ones first.
    """

    assessment: Assessment
    ranges: tuple[KillableRange, ...]
    survivors: tuple[Key, ...]

    @classmethod
    def of(cls, assessment: Assessment, operators: Sequence[Operator] | None) -> StartingPoint:
        """Starting point for some operators, or for all operators of the assessment by default."""
        faults = as_faults(assessment.settings["operators"] if operators is None else operators)
        known = ranges(assessment, [fault for fault in faults if isinstance(fault, Operator)])
        labels = {killable.label for killable in known}
        return cls(assessment, tuple(known), tuple(key for key in survivors(assessment) if key[0] in labels))

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out the assessment, which may be large and which no job needs."""
        return {**vars(self), "assessment": None}

    @property
    def options(self) -> AssessOptions:
        """Options of the assessment."""
        return AssessOptions.of_settings(self.assessment.settings)

    @property
    def is_exact(self) -> bool:
        """Whether every verdict on the test set rests on all of its inputs."""
        return is_exact(self.assessment)

    @property
    def pace(self) -> Pace:
        """Batch size and memory layout of the assessment."""
        return Pace(int(self.assessment.settings["batch_size"]), self.assessment.settings["layout"])

    @property
    def seed(self) -> int:
        """Seed of the originals and of the assessment's mutants."""
        return int(self.assessment.settings["seed"])

    @property
    def originals(self) -> int:
        """Number of originals."""
        return self.assessment.subject.originals

    def tested(self) -> dict[int, list[float | None]]:
        """Strengths of the distinct mutants judged on the test set, by the number of the operator."""
        records = {record.label: record for record in self.assessment.operators}
        return {
            number: [m.strength for m in records[label].mutants if m.guiding_set == TEST and m.same_as is None]
            for number, label in enumerate(killable.label for killable in self.ranges)
        }


def starting_point(
    assessment: Assessment | None,
    subject: Subject,
    operators: Sequence[Operator] | None,
    originals: int | None,
    exact: bool,
    runtime: Runtime,
) -> StartingPoint:
    """Starting point from the given assessment, a finished one in the store, or a new one.

    Args:
        assessment: Assessment given by the user.
        subject: Subject that must have been assessed.
        operators: Operators asked for; ``None`` for any.
        originals: Number of originals; ``None`` for any.
        exact: Evaluate every input in a new assessment.
        runtime: Engine and store, open.
    """
    assert runtime.store is None or isinstance(runtime.store, Store)
    seed, device = runtime.seed, runtime.device
    labels = None if operators is None else [*map(describe, operators)]
    result = assessment or finished(runtime.store, subject, labels, originals, seed, device)
    if result is None:
        result = assess(
            subject,
            operators,
            originals=originals,
            exact=exact,
            seed=seed,
            device=device,
            batch_size=runtime.batch_size,
            engine=runtime.engine,
            store=runtime.store,
            folder=runtime.folder,
            progress=runtime.progress,
        )
    check_fits(result, subject)
    return StartingPoint.of(result, operators)


def check_fits(result: Assessment, subject: Subject) -> None:
    """Raises an error if an assessment is of another subject."""
    sizes = {name: split.inputs for name, split in result.subject.splits.items() if name != "weak"}
    wanted = {"train": len(subject.train), "test": len(subject.test)}
    if sizes != wanted or result.subject.name != subject.name:
        raise BadInput(
            "assessment",
            f"one of {result.subject.name} with {sizes}",
            f"one of {subject.name} with {wanted}",
            "Assess this subject, or leave out assessment=.",
        )


def ranges(result: Assessment, operators: Sequence[Operator]) -> list[KillableRange]:
    """Strengths that the training set kills, for every operator with a score."""
    known = {describe(operator): operator for operator in operators}
    return [
        KillableRange(
            known[record.label],
            record.label,
            record.sets["train"].weakest_killed,
            record.bounds[1] if record.bounds else None,
        )
        for record in result.operators
        if record.status is Status.SCORED and record.label in known
    ]


def survivors(result: Assessment) -> tuple[Key, ...]:
    """Mutants that the training set kills and the test set does not, strong ones first."""
    return tuple(
        (record.label, survivor.strength)
        for record in result.operators
        for survivor in sorted(record.survivors(), key=lambda mutant: -(mutant.strength or 0.0))
    )


def spread(keys: Sequence[Key], most: int) -> Iterator[Key]:
    """Evenly spaced mutants, at most ``most`` per operator.

    >>> [*spread([("WI", 0.9), ("WI", 0.7), ("WI", 0.6), ("NI", 0.5)], 2)]
    [('WI', 0.9), ('WI', 0.6), ('NI', 0.5)]
    """
    for label in dict.fromkeys(label for label, _ in keys):
        same = [key for key in keys if key[0] == label]
        picked = np.unique(np.linspace(0, len(same) - 1, min(most, len(same))).round().astype(int))
        yield from (same[number] for number in picked)
