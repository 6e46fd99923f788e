"""Estimated work and time of an assessment by MUFF's procedure, before it starts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from mutiny.core.checks import check_whole
from mutiny.core.errors import MutinyError, NotApplicable
from mutiny.core.random import generator_for
from mutiny.faults.base import Operator
from mutiny.faults.parsing import Fault, as_faults, describe
from mutiny.faults.training.base import Program, TrainingOperator
from mutiny.models.view import ModelView
from mutiny.subjects import Subject
from mutiny.subjects.training.prefixes import is_beginning
from mutiny.verbs.assess.muff.search import Search, steps, within
from mutiny.verbs.assess.planned_work import TIMED, Planned, timed_view


def plan(
    subject: Subject,
    operators: str | Iterable[str | Fault] | None = None,
    *,
    originals: int | None = None,
    search: Search | None = None,
    seed: int = 0,
) -> tuple[Planned, ...]:
    """Estimates what `assess` would do with the same arguments.

    Times a few steps of training and a forward pass. All numbers are upper bounds: searches may end earlier, networks
    known from another search or on disk are not trained again, and large sets are screened.

    Args:
        subject: Subject to test.
        operators: Operators, as in `assess`.
        originals: Number of originals, which is also the number of instances of a fault before training.
        search: Limits and precision of the search for mutants.
        seed: Seed of everything random.
    """
    check_whole("seed", seed, 0)
    count, search = subject.count(originals), search or Search()
    program = None
    if subject.recipe is not None:
        program = Program(subject.recipe, subject.training.data, subject.task, subject.forward)
    epoch = _epoch(program, seed) if program is not None else 0.0
    view, per_input = timed_view(subject, seed)
    sizes = {name: len(data) for name, data in subject.splits().items()}
    sizes.setdefault("weak", -(-len(subject.test) // 2))
    planned = []
    for fault in as_faults(operators):
        if isinstance(fault, TrainingOperator):
            planned.append(_trained(fault, program, count, sum(sizes.values()), search, epoch, per_input))
        else:
            planned.append(_patched(fault, view, count, sizes, search, per_input, seed))
    return tuple(planned)


def _trained(
    fault: TrainingOperator,
    program: Program | None,
    count: int,
    inputs: int,
    search: Search,
    epoch: float,
    per_input: float,
) -> Planned:
    planned = Planned(describe(fault), fault.level)
    if program is None:
        return replace(planned, reason="there is no recipe")
    try:
        number = len(fault.configurations(program))
        if fault.strength is not None:  # three searches, which all begin with the severest value
            number = 3 * (steps(within(fault.span(program), search), search) - 1) + 1
    except NotApplicable as reason:
        return replace(planned, reason=str(reason))
    is_state_of_original = fault.strength is not None and is_beginning(
        fault.change(program, generator_for(0, "plan")).recipe, program.recipe
    )
    trainings = count if is_state_of_original else number * count
    seconds = trainings * (program.recipe.epochs * epoch + inputs * per_input)
    return replace(
        planned, configurations=number, trainings=trainings, evaluations=number * count * inputs, seconds=seconds
    )


def _patched(
    fault: Operator, view: ModelView, count: int, sizes: Mapping[str, int], search: Search, per_input: float, seed: int
) -> Planned:
    planned = Planned(describe(fault), fault.family)
    try:
        fault.patch(view, generator_for(seed, "plan"))
    except NotApplicable as reason:
        return replace(planned, reason=str(reason))
    probes = 1 if fault.strength is None else search.probes(fault.bounds)
    repetitions = 1 if fault.choices(view) == 1 else search.k_max
    # Test and weak set judge the probes of their own search and of train's; all searches begin with the same one.
    on_train, on_others = probes * sizes["train"], (2 * probes - 1) * (sum(sizes.values()) - sizes["train"])
    evaluations = count * repetitions * (on_train + on_others)
    return replace(planned, configurations=3 * probes, evaluations=evaluations, seconds=evaluations * per_input)


def _epoch(program: Program, seed: int) -> float:
    """Seconds of one epoch, extrapolated from a part of the data."""
    size = min(len(program.data), max(TIMED, program.recipe.batch_size))
    part = program.data.subset(np.arange(size))
    recipe = replace(program.recipe, epochs=1, patience=None)
    taken = []
    for _ in range(2):  # the first one also warms up
        start = time.perf_counter()
        try:
            recipe.train(part, program.task, seed, forward=program.forward)
        except MutinyError:
            return 0.0  # the assessment itself reports the error
        taken.append(time.perf_counter() - start)
    all_at_once = recipe.ignored(("epochs",))  # a user's training function may ignore the number of epochs
    return min(taken) * len(program.data) / size / (program.recipe.epochs if all_at_once else 1)
