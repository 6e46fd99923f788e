"""State of `strengthen`, which jobs need: the search for faults, and what the originals answer to the pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.parsing import described
from mutiny.core.records import FaultRecord
from mutiny.faults import Operator
from mutiny.models import Patch
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.assess.fault_search import TEST, FaultSearch, scaled_record, searched
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.strengthen.answers import (
    Answers,
    Belief,
    ExpectedChange,
    Singles,
    answered,
    answers_of,
    changed,
    expected_change,
    known_change,
)

POOL = "inputs to choose from"
"""Name of the split to choose from; the name ``pool`` is taken if the pool is the reference set."""


@dataclass(frozen=True, eq=False)
class TriedFault:
    """A fault, and how it changes the answers to the test set and to the pool.

    Attributes:
        record: The fault.
        tests: Test inputs whose answer changes, ``(k,)``.
        on_tests: How much worse these answers are, ``(k,)``.
        positions: Inputs of the pool whose answer changes, ``(k,)``.
        expected: How much worse these answers are expected to be, without labels.
        change: How much worse they are, ``(k,)``; ``None`` if labels of the pool are unknown.
        metric: Metric of the original on the test set.
    """

    record: FaultRecord
    tests: npt.NDArray[np.int32]
    on_tests: Singles
    positions: npt.NDArray[np.int32]
    expected: ExpectedChange
    change: Singles | None
    metric: float


class StrengthenContext:
    """State of `strengthen`; it is sent to workers.

    Args:
        search: Originals, reference set, test set and, if there is one, the pool.
        operators: Operators by label.
        evidence: Originals with the pool, or with the test set if there is no pool.
        labels: Targets of the pool, checked by the task; ``None`` if some are unknown. Choosing never reads them.
        scale: Factor from costs on training inputs to those of faults, if the assessment scaled them.
    """

    def __init__(
        self,
        search: FaultSearch,
        operators: Mapping[str, Operator],
        evidence: Evidence,
        labels: npt.NDArray[Any] | None = None,
        scale: float | None = None,
    ) -> None:
        self.search, self.operators, self.evidence = search, dict(operators), evidence
        self.labels, self.scale = labels, scale

    @property
    def task(self) -> Task:
        """Task of the originals."""
        return self.search.runner.task

    def patch(self, record: FaultRecord) -> Patch:
        """The patch of a fault that was found earlier."""
        for tuned in searched(self.operators[record.operator]):
            operator = tuned.at(record.strength)
            if described(operator, operator.code) == record.configuration:
                return self.search.runner.patch(operator, record.original, record.seed)
        raise BadInput("assessment", f"a fault of {record.configuration}", f"faults of {record.operator}")

    def tried(self, record: FaultRecord) -> TriedFault:
        """A fault that was found earlier, on every test input and every input of the pool."""
        runner, patch = self.search.runner, self.patch(record)
        change = runner.change(patch, record.original, TEST)
        tests = np.flatnonzero(change)
        on_tests = tests.astype(np.int32), change[tests]
        metric = runner.clean(record.original, TEST).outcome.metric
        if POOL not in runner.splits:
            nothing = np.zeros(0, np.float32)
            return TriedFault(record, *on_tests, np.zeros(0, np.int32), ExpectedChange(nothing, nothing), None, metric)
        model, before = runner.models[record.original], self.answers(record.original)
        with patch.applied(model, runner.forward) as call:
            after = answered(call, model, runner.splits[POOL], self.task, runner.pace)
        where = changed(before, after)
        before, after = before[where], after[where]
        return TriedFault(
            record,
            *on_tests,
            where.astype(np.int32),
            expected_change(self.task, before, after, self.belief[where], metric),
            None if self.labels is None else known_change(self.task, before, after, self.labels[where]),
            metric,
        )

    def found(self, label: str, original: int, seed: int) -> list[TriedFault]:
        """Other faults of an operator that cost as much as those that count; none if the operator does not apply."""
        edges = self.search.unit.edges
        try:
            found = self.search.find(self.operators[label], label, original, seed)
        except NotApplicable:
            return []
        records = [scaled_record(fault, self.scale, self.search.unit) for fault in found.faults]
        return [self.tried(record) for record in records if edges[0] <= record.cost < edges[-1]]

    def renews(self, operator: Operator) -> bool:
        """Whether another seed makes other faults; it does not if there are only a few, such as layers to remove."""
        try:
            return any(operator.choices(view) is None for view in self.search.runner.views)
        except NotApplicable:
            return False

    def answers(self, original: int) -> Answers:
        """Answers of an original to the pool."""
        return answers_of(self.task, self.evidence.outputs("pool", original))

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
