"""Starting point of `strengthen`: an assessment, and the faults for which inputs are chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mutiny.campaigns.runtime import Runtime
from mutiny.campaigns.stores.base import Store
from mutiny.core.errors import BadInput
from mutiny.core.records import FaultRecord
from mutiny.faults import Operator
from mutiny.faults.parsing import as_operators, describe
from mutiny.subjects import Subject
from mutiny.subjects.inference.passes import Pace
from mutiny.verbs.assess.assess_notice import assess_notice
from mutiny.verbs.assess.distinct_tests import DistinctTests
from mutiny.verbs.assess.reference import reference_of
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.strengthen.stored_assessment import finished


@dataclass(frozen=True)
class StartingPoint:
    """An assessment and what `strengthen` needs from it.

    Attributes:
        assessment: Assessment; it is not sent to workers.
        operators: Operators by label.
    """

    assessment: Assessment
    operators: Mapping[str, Operator]

    @classmethod
    def of(cls, assessment: Assessment, operators: Sequence[Operator] | None) -> StartingPoint:
        """Starting point for some operators, or for all operators of the assessment by default."""
        wanted = as_operators(assessment.settings["operators"] if operators is None else operators)
        known = {describe(operator): operator for operator in wanted}
        assessed = assessment.settings["operators"]
        for label in known:
            if label not in assessed:
                raise BadInput("operators", label, f"operators of the assessment: {', '.join(assessed)}")
        return cls(assessment, {label: known[label] for label in assessed if label in known})

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out the assessment, which may be large and which no job needs."""
        return {**vars(self), "assessment": None}

    @property
    def faults(self) -> tuple[FaultRecord, ...]:
        """Faults of the operators."""
        return tuple(fault for fault in self.assessment.faults if fault.operator in self.operators)

    @property
    def alpha(self) -> float:
        """Significance level at which a fault is noticed."""
        return self.assessment.notice.alpha

    @property
    def seeds(self) -> int:
        """Random choices per operator and original."""
        return int(self.assessment.settings["seeds"])

    @property
    def scale(self) -> float | None:
        """Factor from costs on training inputs to those of the faults, if the assessment scaled them."""
        return self.assessment.notice.reference.scale

    @property
    def pace(self) -> Pace:
        """Batch size and memory layout of the assessment."""
        return Pace(int(self.assessment.settings["batch_size"]), self.assessment.settings["layout"])

    @property
    def seed(self) -> int:
        """Seed of the originals and of the assessment's faults."""
        return int(self.assessment.settings["seed"])

    @property
    def originals(self) -> int:
        """Number of originals."""
        return self.assessment.subject.originals


def starting_point(
    assessment: Assessment | None,
    subject: Subject,
    operators: Sequence[Operator] | None,
    originals: int | None,
    runtime: Runtime,
) -> StartingPoint:
    """Starting point from the given assessment, a finished one in the store, or a new one.

    Args:
        assessment: Assessment given by the user.
        subject: Subject that must have been assessed, with the folds that it holds out.
        operators: Operators asked for; ``None`` for any.
        originals: Number of originals; ``None`` for any.
        runtime: Engine and store, open.
    """
    assert runtime.store is None or isinstance(runtime.store, Store)
    labels = None if operators is None else [*map(describe, operators)]
    result = assessment or finished(runtime.store, subject, labels, originals, runtime.seed, runtime.device)
    if result is None:
        result = assess_notice(subject, operators, subject.count(originals), exact=False, runtime=runtime)
    check_fits(result, subject)
    return StartingPoint.of(result, operators)


def check_fits(result: Assessment, subject: Subject) -> None:
    """Raises an error if an assessment is of another subject."""
    sizes = {name: split.inputs for name, split in result.subject.splits.items()}
    tests = DistinctTests.of(subject.test)
    reference = reference_of(subject, result.subject.originals, subject.test)
    wanted = {"test": len(tests.positions), **({} if reference is None else {reference.kind: reference.inputs})}
    if sizes != wanted or result.subject.name != subject.name:
        raise BadInput(
            "assessment",
            f"one of {result.subject.name} with {sizes}",
            f"one of {subject.name} with {wanted}",
            "Assess this subject, or leave out assessment=.",
        )
