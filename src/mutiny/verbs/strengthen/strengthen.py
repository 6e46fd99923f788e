"""`strengthen`: which inputs would make the test set notice the faults that it misses?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from mutiny.campaigns.run import Engine, Runtime, Store, run
from mutiny.core.progress import Progress, Silent
from mutiny.faults import Operator
from mutiny.faults.parsing import as_operators
from mutiny.models import Forward
from mutiny.subjects import Subject
from mutiny.subjects.given import as_given, as_subject
from mutiny.subjects.tasks import Task
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.select.base import Selector
from mutiny.verbs.strengthen.options import StrengthenOptions, check_assessment
from mutiny.verbs.strengthen.result import Strengthening
from mutiny.verbs.strengthen.starting_point import starting_point
from mutiny.verbs.strengthen.verb import Strengthen

MUTANTS = 5
"""Mutants per operator by default."""
CANDIDATES = 20
"""Largest number of inputs to synthesize by default."""


def strengthen(
    subject: Subject | nn.Module,
    pool: Any = None,
    budget: str | float | Sequence[str | float] = 0.05,
    *,
    data: Any = None,
    train: Any = None,
    task: Task | None = None,
    forward: Forward | None = None,
    operators: str | Iterable[str | Operator] | None = None,
    originals: int | None = None,
    assessment: Assessment | None = None,
    methods: str | Selector | Iterable[str | Selector] | None = None,
    tie_break: str | Selector | None = None,
    mutants: int = MUTANTS,
    repeats: int = 5,
    minimize: bool = False,
    synthesize: int = CANDIDATES,
    exact: bool = False,
    seed: int = 0,
    device: str | None = None,
    batch_size: int | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Strengthening:
    """Proposes inputs of a pool that kill the most surviving mutants per label, and measures what they are worth.

    Survivors come from an assessment of the subject: ``assessment``, or a finished one with the same seed in ``store``,
    or a new one. Inputs are chosen greedily. Each step takes the input that brings the mutants nearest to being killed
    by the rule of the assessment, as predicted from the originals' outputs. Choosing never reads labels of the pool.
    If all labels are known, the choice is measured on mutants of other seeds, before and after labeling, and compared
    with the choices of other methods for the same number of labels.

    Args:
        subject: Subject to test, or a model in evaluation mode with ``data`` and ``train``.
        pool: Inputs to choose from, with or without targets; the subject's pool by default.
        budget: Number of inputs to label: ``50``, ``0.01`` or ``"1%"`` of the pool, or several: ``("1%", "5%")``.
        data: Test set ``(inputs, targets)``, if ``subject`` is a model.
        train: Training set ``(inputs, targets)``, if ``subject`` is a model.
        task: Task, if ``subject`` is a model; classification by the largest output by default.
        forward: Function that calls the model, if ``subject`` is a model.
        operators: Operators on trained models, as in `assess`; those of the assessment in the store by default.
        originals: Number of originals; that of the assessment by default.
        assessment: Assessment to start from.
        methods: Methods of `select` to compare with; ``random`` and the default method of `select` by default.
        tie_break: Method of `select` that decides among equals and fills the rest of the budget.
        mutants: Mutants per operator used to choose inputs, spread over the strengths that the training set kills; the
            same number is held out for scoring.
        repeats: Repeats of the measurement, each with its own mutants and its own part of the pool.
        minimize: Search for a small part of the test set that kills as much as the whole.
        synthesize: Largest number of inputs to synthesize for survivors that the pool cannot kill; 0 for none. They
            have no label and count in no score.
        exact: Evaluate every input in the assessment, if a new one is made.
        seed: Seed of everything random.
        device: Torch device; the device of the models by default.
        batch_size: Inputs per forward pass of the assessment, if a new one is made.
        engine: Engine that chooses and judges: ``"serial"``, ``"processes"``, ``"ray"``, or an instance.
        workers: Number of worker processes.
        store: File, or open store, that keeps finished jobs and results, and in which an assessment is looked up.
        folder: Folder for trained originals.
        progress: Receiver of progress messages.

    >>> import torch
    >>> from mutiny import Classification
    >>> x = torch.randn(400, 4, generator=torch.Generator().manual_seed(0)); y = (x.sum(1) > 0).long()
    >>> net = nn.Linear(4, 2).eval()
    >>> with torch.no_grad():
    ...     _ = net.weight.copy_(torch.tensor([[-1.0] * 4, [1.0] * 4])), net.bias.zero_()
    >>> easy = x[150:250].sum(1).abs() > 2
    >>> subject = Subject(net, task=Classification(2), train=(x[:150], y[:150]),
    ...     test=(x[150:250][easy], y[150:250][easy]), pool=(x[250:], y[250:]))
    >>> result = strengthen(subject, budget=10, operators="WI(ratio=0.3)", repeats=2)
    >>> len(result.chosen), result.gain("strengthen", 10).gain.mean > 0
    (10, True)
    """
    check_assessment(assessment)
    runtime = Runtime(seed, device, batch_size, engine, workers, store, folder, progress or Silent())
    subject = as_subject(subject, data, train, task, forward)
    wanted = None if operators is None else as_operators(operators)
    given = as_given(subject, pool, None, None, None, "pool", pool=True)
    options = StrengthenOptions.checked(
        subject,
        given,
        budget=budget,
        methods=methods,
        tie_break=tie_break,
        mutants=mutants,
        repeats=repeats,
        minimize=minimize,
        synthesize=synthesize,
        seed=runtime.seed,
    )
    with runtime.opened() as opened:
        start = starting_point(assessment, subject, wanted, originals, exact, opened)
        options = options.with_methods(subject.task, start.originals)
        verb = Strengthen(start, options, subject.test, start.originals)
        return run(verb, given, replace(opened, seed=start.seed))  # the originals are those of the assessment
