"""`strengthen`: which inputs would make the test set notice the faults that it misses?"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from mutiny.campaigns.run import Engine, Progress, Runtime, Store, run
from mutiny.core.errors import BadInput
from mutiny.faults import Operator
from mutiny.faults.parsing import as_operators
from mutiny.models import Forward
from mutiny.models.in_use import in_use
from mutiny.subjects import Subject
from mutiny.subjects.given import Given, as_given, as_subject
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.assess.reference import FEWEST_HELD_OUT, reference_of, with_folds
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.select.base import Selector
from mutiny.verbs.strengthen.options import StrengthenOptions, check_assessment
from mutiny.verbs.strengthen.result import Strengthening
from mutiny.verbs.strengthen.starting_point import starting_point
from mutiny.verbs.strengthen.verb import Strengthen

CANDIDATES = 20
"""Largest number of inputs to synthesize by default."""
TOLERANCE = 0.02
"""Largest loss of the notice rate that a smaller test set may have by default."""


def strengthen(
    subject: Subject | nn.Module,
    pool: Any = None,
    budget: str | float | Sequence[str | float] = 0.05,
    *,
    data: Any = None,
    train: Any = None,
    validation: Any = None,
    task: Task | None = None,
    forward: Forward | None = None,
    operators: str | Iterable[str | Operator] | None = None,
    originals: int | None = None,
    assessment: Assessment | None = None,
    methods: str | Selector | Iterable[str | Selector] | None = None,
    tie_break: str | Selector | None = None,
    seeds: int | None = None,
    minimize: bool = False,
    tolerance: float = TOLERANCE,
    synthesize: int = CANDIDATES,
    seed: int = 0,
    device: str | None = None,
    batch_size: int | None = None,
    threads: int = 1,
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Strengthening:
    """Proposes inputs of a pool that raise the notice rate most per label, and measures what they are worth.

    Faults come from an assessment of the subject: ``assessment``, or a finished one with the same seed in ``store``, or
    a new one. Inputs are chosen greedily. Each step takes the input that raises the expected share of noticed faults
    most, as predicted from the answers of faults and originals. Choosing never reads labels of the pool. If all labels
    are known, the notice rate is measured on faults of other seeds, before and after labeling, and compared with the
    choices of other methods for the same number of labels.

    Args:
        subject: Subject to test, or a model in evaluation mode with ``data``.
        pool: Inputs to choose from, with or without targets; the subject's pool by default.
        budget: Number of inputs to label: ``50``, ``0.01`` or ``"1%"`` of the pool, or several: ``("1%", "5%")``.
        data: Test set ``(inputs, targets)``, if ``subject`` is a model.
        train: Training set ``(inputs, targets)``, if ``subject`` is a model.
        validation: Validation set ``(inputs, targets)``, if ``subject`` is a model.
        task: Task, if ``subject`` is a model; classification by the largest output by default.
        forward: Function that calls the model, if ``subject`` is a model.
        operators: Operators on trained models, as in `assess`; those of the assessment in the store by default.
        originals: Number of originals; that of the assessment by default.
        assessment: Assessment to start from.
        methods: Methods of `select` to compare with; ``random`` and the default method of `select` by default.
        tie_break: Method of `select` that decides among equals and fills the rest of the budget.
        seeds: Random choices per operator and original that make held-out faults; as many as the assessment has by
            default.
        minimize: Search for a small part of the test set that notices about as many faults as the whole.
        tolerance: Largest loss of the notice rate that the smaller test set may have.
        synthesize: Largest number of inputs to synthesize for faults that no pool input reveals; 0 for none.
            They have no label and are not included in any rate.
        seed: Seed of everything random.
        device: Torch device; the device of the models by default.
        batch_size: Inputs per forward pass of the assessment, if a new one is made.
        threads: Torch threads of each job. Small networks are fastest with one; results may differ by rounding.
        engine: Engine that finds and tries faults: ``"serial"``, ``"processes"``, ``"ray"``, or an instance.
        workers: Number of worker processes.
        store: File, or open store, that keeps finished jobs and results, and in which an assessment is looked up.
        folder: Folder for trained originals.
        progress: Receiver of progress messages.

    >>> import torch
    >>> from mutiny import Classification
    >>> x = torch.randn(900, 4, generator=torch.Generator().manual_seed(0)); y = (x.sum(1) > 0).long()
    >>> net = nn.Linear(4, 2).eval()
    >>> with torch.no_grad():
    ...     _ = net.weight.copy_(torch.tensor([[-1.0] * 4, [1.0] * 4])), net.bias.zero_()
    >>> easy = x[300:500].sum(1).abs() > 1
    >>> subject = Subject(net, task=Classification(2), validation=(x[:300], y[:300]),
    ...     test=(x[300:500][easy], y[300:500][easy]), pool=(x[500:], y[500:]))
    >>> result = strengthen(subject, budget=20, operators="GF")
    >>> len(result.chosen), result.gain("strengthen", 20).gain.value > 0
    (20, True)
    """
    check_assessment(assessment)
    runtime = Runtime(seed, device, batch_size, threads, engine, workers, store, folder, progress)
    subject = as_subject(subject, data, train, task, forward, validation)
    wanted = None if operators is None else as_operators(operators)
    given = _given(subject, pool)
    assert given.subject is not None
    options = StrengthenOptions.checked(
        subject,
        given,
        budget=budget,
        methods=methods,
        tie_break=tie_break,
        seeds=seeds,
        minimize=minimize,
        tolerance=tolerance,
        synthesize=synthesize,
        seed=runtime.seed,
    )
    with in_use(given.models, given.forward), runtime.opened() as opened:
        start = starting_point(assessment, given.subject, wanted, originals, opened)
        options = options.with_methods(subject.task, start.originals)
        verb = Strengthen(start, options, given.subject.test, start.originals, given.subject.validation)
        return run(verb, given, replace(opened, seed=start.seed))  # the originals are those of the assessment


def _given(subject: Subject, pool: Any) -> Given:
    """The subject, which must be able to measure the cost of faults, and the pool.

    The pool measures costs if the subject has no other inputs for that.
    """
    given = as_given(with_folds(subject), pool, None, None, None, "pool", pool=True)
    assert given.subject is not None
    if reference_of(given.subject, 1) is not None:
        return given
    other = copy.copy(given.subject)
    other.pool = given.data if given.source == "given" else None
    if reference_of(other, 1) is None:
        raise BadInput(
            "validation",
            None,
            "inputs besides the test set, on which to measure what faults cost",
            "Give validation=(inputs, targets), the training set, or a pool with targets"
            + (f", or of at least {FEWEST_HELD_OUT} inputs." if isinstance(subject.task, Classification) else "."),
        )
    return replace(given, subject=other)
