"""Estimated work and time of an assessment, before it starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mutiny.core.errors import NotApplicable
from mutiny.core.random import generator_for
from mutiny.faults.base import Operator
from mutiny.faults.parsing import Fault, as_faults, describe
from mutiny.subjects import Subject
from mutiny.verbs.assess.fault_search import DRAWS
from mutiny.verbs.assess.planned_work import Planned, timed_view
from mutiny.verbs.assess.reference import reference_of, with_folds
from mutiny.verbs.assess.verb import default_seeds

PROBES, FAULTS = 10, 5
"""Strengths that a search usually tries, and faults that it usually finds."""


def plan(
    subject: Subject,
    operators: str | Iterable[str | Fault] | None = None,
    *,
    originals: int | None = None,
    seeds: int | None = None,
    seed: int = 0,
) -> tuple[Planned, ...]:
    """Estimates what `assess` would do with the same arguments; times a forward pass.

    Args:
        subject: Subject to test.
        operators: Operators, as in `assess`.
        originals: Number of originals.
        seeds: Random choices per operator and original.
        seed: Seed of everything random.
    """
    subject, count = with_folds(subject), subject.count(originals)
    view, per_input = timed_view(subject, seed)
    reference = reference_of(subject, count)
    on_reference = len(subject.test) if reference is None else reference.inputs_per_fault
    searches = count * (default_seeds(count) if seeds is None else seeds)
    planned = []
    for fault in as_faults(operators):
        if not isinstance(fault, Operator):
            planned.append(Planned(describe(fault), fault.level, reason="operators before training need --method muff"))
            continue
        step = Planned(describe(fault), fault.family)
        try:
            fault.patch(view, generator_for(seed, "plan"))
        except NotApplicable as reason:
            planned.append(replace(step, reason=str(reason)))
            continue
        tried, found = (PROBES, FAULTS) if fault.strength is not None else (DRAWS, DRAWS)
        pairs = searches * (tried * on_reference + found * len(subject.test))
        planned.append(replace(step, configurations=searches * tried, evaluations=pairs, seconds=pairs * per_input))
    return tuple(planned)
