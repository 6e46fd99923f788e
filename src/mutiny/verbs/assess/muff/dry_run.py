"""Estimated work and time of an assessment, before it starts."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from mutiny.core.checks import check_whole
from mutiny.core.errors import MutinyError, NotApplicable
from mutiny.core.random import generator_for
from mutiny.faults.base import Operator
from mutiny.faults.parsing import Fault, as_faults, describe
from mutiny.faults.training.base import Program, TrainingOperator
from mutiny.models.forward import steady
from mutiny.models.placement import placement
from mutiny.models.view import PROBE_INPUTS, ModelView
from mutiny.subjects import Subject
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.training.loop import built
from mutiny.subjects.training.prefixes import is_beginning
from mutiny.verbs.assess.muff.search import Search, steps, within

TIMED = 512
"""Number of items on which an epoch of training and a forward pass are timed."""


@dataclass(frozen=True)
class Planned:
    """Upper bounds of the work for one operator.

    Attributes:
        label: Label of the operator.
        level: Part that the operator changes.
        configurations: Largest number of mutants, over the searches on all sets of inputs.
        trainings: Largest number of trained networks.
        evaluations: Largest number of (instance, input) pairs; screening of large sets needs far fewer.
        seconds: Estimated time; ``None`` if nothing was timed.
        reason: Reason why the operator does not apply; empty if it does.
    """

    label: str
    level: str
    configurations: int = 0
    trainings: int = 0
    evaluations: int = 0
    seconds: float | None = None
    reason: str = ""


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


def timed_view(subject: Subject, seed: int) -> tuple[ModelView, float]:
    """View of the network for operators, and seconds of a forward pass per input."""
    if subject.recipe is not None and not subject.models:
        with seeded(seed):
            model = built(subject.recipe).eval()
    else:
        model = subject.models[0]
    put = placement(model).put
    size = min(TIMED, len(subject.test))
    inputs = put(subject.test.first(size))
    view = ModelView.of(model, put(subject.test.first(PROBE_INPUTS)), subject.forward)
    taken = []
    with steady(), torch.inference_mode():
        for _ in range(2):
            start = time.perf_counter()
            subject.forward(model, inputs)
            taken.append(time.perf_counter() - start)
    return view, min(taken) / size


def rounded(seconds: float) -> str:
    """A duration as text in seconds, minutes or hours, rounded up.

    >>> rounded(0.4), rounded(75), rounded(5400), rounded(200_000)
    ('1 s', '75 s', '90 min', '56 h')
    """
    for limit, unit, size in ((90, "s", 1), (5400, "min", 60)):
        if seconds < limit or (unit == "min" and seconds <= limit):
            return f"{max(1, math.ceil(seconds / size))} {unit}"
    return f"{math.ceil(seconds / 3600)} h"
