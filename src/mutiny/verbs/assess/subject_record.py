"""Records of an assessed subject and of its reference set."""

from __future__ import annotations

import math

import numpy as np

from mutiny.core.results import AssessedSubject, SplitRecord
from mutiny.subjects import Subject
from mutiny.subjects.tasks import task_record
from mutiny.verbs.assess.cost_unit import CostUnit
from mutiny.verbs.assess.fault_search import TEST, FaultSearch
from mutiny.verbs.assess.notice import ReferenceRecord

MEMORIZED = {False: 2.0, True: 20.0}
"""Training inputs on which originals are better than on test inputs by more than this, in accuracy points or percent of
the loss, measure another kind of cost."""


def subject_record(subject: Subject, search: FaultSearch) -> AssessedSubject:
    """Record of the subject in the result."""
    runner, reference = search.runner, search.reference
    numbers = range(len(runner.models))
    splits = {TEST: [runner.clean(number, TEST).outcome.metric for number in numbers]}
    if reference.kind != "none":
        splits[reference.kind] = [runner.clean(n, reference.split(n)).outcome.metric for n in numbers]
    return AssessedSubject(
        name=subject.name,
        model=type(runner.models[0]).__name__,
        originals=len(runner.models),
        task=task_record(runner.task),
        splits={
            name: SplitRecord(
                inputs=len(runner.splits[TEST]) if name == TEST else reference.inputs,
                metric_mean=float(np.mean(metrics)),
                metric_sd=float(np.std(metrics, ddof=1)) if len(metrics) > 1 else None,
                metrics=tuple(metrics),
            )
            for name, metrics in splits.items()
        },
        layers=tuple(layer.name for layer in runner.views[0].layers),
        pool=None if subject.pool is None else len(subject.pool),
        more_originals=subject.recipe is not None and not subject.models,
    )


def reference_record(search: FaultSearch, scale: float | None) -> ReferenceRecord:
    """Record of the inputs on which costs are measured.

    Args:
        search: Search with its reference set.
        scale: Factor from costs on training inputs to costs on the reference set, if costs were measured on both.
    """
    runner, reference = search.runner, search.reference
    if reference.kind == "none":
        return ReferenceRecord("none", 0, math.nan)
    numbers = range(len(runner.models))
    metrics = [runner.clean(number, reference.split(number)).outcome.metric for number in numbers]
    on_test = [runner.clean(number, TEST).outcome.metric for number in numbers]
    memorized = memorized_points(float(np.mean(metrics)), float(np.mean(on_test)), search.unit)
    memorized = memorized if reference.kind == "train" and memorized > MEMORIZED[search.unit.relative] else 0.0
    trained = min(map(len, reference.trained.values()), default=0)
    return ReferenceRecord(reference.kind, reference.inputs, float(np.mean(metrics)), memorized, scale, trained)


def memorized_points(on_train: float, on_test: float, unit: CostUnit) -> float:
    """How much better a network is on training inputs than on test inputs, in the unit of the cost."""
    if not unit.relative:
        return 100 * (on_train - on_test)
    return 100 * (on_test / on_train - 1) if on_train > 0 else 0.0
