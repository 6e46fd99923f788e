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
from mutiny.verbs.assess.search import Search, steps, within

LOOKED_AT = 512
"""Items on which a step of training and a forward pass are timed."""


@dataclass(frozen=True)
class Planned:
    """What one operator will take at most.

    Attributes:
        label: the operator.
        level: what it changes.
        configurations: mutants that are tried at most, for each set of inputs by itself where that differs.
        trainings: networks that are trained at most.
        evaluations: (instance, input) pairs at most; large sets are screened and need far fewer.
        seconds: about how long that takes; ``None`` if nothing was timed.
        reason: why the operator does not apply; empty if it does.
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
    """What `assess` would do with the same arguments, without doing it.

    A few steps of training and a forward pass are timed. Everything is counted at its most: searches end earlier, what
    is known from another search or on disk is not trained again, and large sets are screened.

    Args:
        subject: what would be tested.
        operators: as in `assess`.
        originals: how many; each is one instance of a fault before training.
        search: how mutants of trained models are searched.
        seed: of the campaign.
    """
    check_whole("seed", seed, 0)
    count, search = subject.count(originals), search or Search()
    program = None
    if subject.recipe is not None:
        program = Program(subject.recipe, subject.train, subject.task, subject.forward)
    epoch = _epoch(program, seed) if program is not None else 0.0
    view, each = _view(subject, seed)
    sizes = {name: len(data) for name, data in subject.splits().items()}
    sizes.setdefault("weak", -(-len(subject.test) // 2))
    planned = []
    for fault in as_faults(operators):
        if isinstance(fault, TrainingOperator):
            planned.append(_trained(fault, program, count, sum(sizes.values()), search, epoch, each))
        else:
            planned.append(_patched(fault, view, count, sizes, search, each, seed))
    return tuple(planned)


def _trained(
    fault: TrainingOperator, program: Program | None, count: int, inputs: int, search: Search, epoch: float, each: float
) -> Planned:
    found = Planned(describe(fault), fault.level)
    if program is None:
        return replace(found, reason="there is no recipe")
    try:
        tried = fault.configurations(program)
        number = len(tried)
        if fault.strength is not None:  # of three searches, which all begin with the severest value
            number = 3 * (steps(within(fault.span(program), search), search) - 1) + 1
    except NotApplicable as reason:
        return replace(found, reason=str(reason))
    on_the_way = fault.strength is not None and is_beginning(
        fault.change(program, generator_for(0, "plan")).recipe, program.recipe
    )
    trainings = count if on_the_way else number * count
    seconds = trainings * (program.recipe.epochs * epoch + inputs * each)
    return replace(
        found, configurations=number, trainings=trainings, evaluations=number * count * inputs, seconds=seconds
    )


def _patched(
    fault: Operator, view: ModelView, count: int, sizes: Mapping[str, int], search: Search, each: float, seed: int
) -> Planned:
    found = Planned(describe(fault), fault.family)
    try:
        fault.patch(view, generator_for(seed, "plan"))
    except NotApplicable as reason:
        return replace(found, reason=str(reason))
    probes = 1 if fault.strength is None else search.probes(fault.bounds)
    repetitions = 1 if fault.choices(view) == 1 else search.k_max
    own, others = probes * sizes["train"], (2 * probes - 1) * (sum(sizes.values()) - sizes["train"])
    evaluations = count * repetitions * (own + others)  # the others are also asked about all that train kills
    return replace(found, configurations=3 * probes, evaluations=evaluations, seconds=evaluations * each)


def _epoch(program: Program, seed: int) -> float:
    """Seconds of one epoch, from one over a part of the data."""
    size = min(len(program.data), max(LOOKED_AT, program.recipe.batch_size))
    some = program.data.subset(np.arange(size))
    recipe = replace(program.recipe, epochs=1, patience=None)
    taken = []
    for _ in range(2):  # the first one also warms up
        start = time.perf_counter()
        try:
            recipe.train(some, program.task, seed, forward=program.forward)
        except MutinyError:
            return 0.0  # it will be said when it is really trained
        taken.append(time.perf_counter() - start)
    all_at_once = recipe.ignored(("epochs",))  # a training function of one's own may not know epochs
    return min(taken) * len(program.data) / size / (program.recipe.epochs if all_at_once else 1)


def _view(subject: Subject, seed: int) -> tuple[ModelView, float]:
    """The network as operators see it, and seconds per input of a forward pass."""
    if subject.recipe is not None and not subject.models:
        with seeded(seed):
            model = built(subject.recipe).eval()
    else:
        model = subject.models[0]
    put = placement(model).put
    size = min(LOOKED_AT, len(subject.test))
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
    """A time for people.

    >>> rounded(0.4), rounded(75), rounded(5400), rounded(200_000)
    ('1 s', '75 s', '90 min', '56 h')
    """
    for limit, unit, size in ((90, "s", 1), (5400, "min", 60)):
        if seconds < limit or (unit == "min" and seconds <= limit):
            return f"{max(1, math.ceil(seconds / size))} {unit}"
    return f"{math.ceil(seconds / 3600)} h"
