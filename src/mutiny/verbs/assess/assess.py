"""`assess`: would the test set notice if the network went wrong?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch import nn

from mutiny.campaigns.run import Engine, Runtime, Store, run
from mutiny.core.progress import Progress, Silent
from mutiny.faults.evaluation import Screening
from mutiny.faults.parsing import Fault
from mutiny.models import Forward
from mutiny.subjects import Subject
from mutiny.subjects.given import as_given, as_subject
from mutiny.subjects.tasks import Task
from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.assess.options import AssessOptions, Savings, WeakSet, checked_operators
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.search import Search
from mutiny.verbs.assess.verb import Assess


def assess(
    subject: Subject | nn.Module,
    operators: str | Iterable[str | Fault] | None = None,
    *,
    data: Any = None,
    train: Any = None,
    task: Task | None = None,
    forward: Forward | None = None,
    originals: int | None = None,
    rule: KillRule | None = None,
    search: Search | None = None,
    weak: WeakSet | None = None,
    exact: bool = False,
    screening: Screening | None = None,
    savings: Savings | None = None,
    seed: int = 0,
    device: str | None = None,
    batch_size: int | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Mutation testing of trained models: MUFF's Algorithm 1 for each operator, guided by train, test and weak set.

    Args:
        subject: Subject to test, or a model in evaluation mode with ``data`` and ``train``.
        operators: Codes, text such as ``"WI,NI(ratio=0.1)"``, or instances. By default all operators on trained models;
            ``"all"`` adds the operators before training, which need a recipe.
        data: Test set ``(inputs, targets)``, if ``subject`` is a model.
        train: Training set ``(inputs, targets)``, if ``subject`` is a model.
        task: Task, if ``subject`` is a model; classification by the largest output by default.
        forward: Function that calls the model, if ``subject`` is a model.
        originals: Number of originals to use or train.
        rule: Rule that decides when a mutant is killed.
        search: Limits and precision of the search for mutants.
        weak: Definition of the weak test set, unless the subject has one.
        exact: Evaluate every mutant on every input, and train every instance of a fault before training, instead of
            only as many as the verdict needs.
        screening: Confidence required to stop before all inputs are evaluated, unless ``exact``.
        savings: Trainings that may be shared or left out.
        seed: Seed of everything random.
        device: Torch device; the device of the models by default.
        batch_size: Inputs per forward pass; measured once per model and device by default.
        engine: Engine that evaluates and trains mutants: ``"serial"``, ``"processes"``, ``"ray"``, or an instance.
        workers: Number of worker processes.
        store: File, or open store, that keeps finished jobs and results, so that the same call resumes.
        folder: Folder for trained originals.
        progress: Receiver of progress messages.

    Returns:
        An `Assessment`. Apart from times, it is the same on every engine and after any interruption.

    >>> import torch
    >>> x = torch.randn(200, 4, generator=torch.Generator().manual_seed(0)); y = (x.sum(1) > 0).long()
    >>> net = nn.Linear(4, 2).eval()
    >>> with torch.no_grad():
    ...     _ = net.weight.copy_(torch.tensor([[-1.0] * 4, [1.0] * 4])), net.bias.zero_()
    >>> result = assess(net, "WI(ratio=0.3)", data=(x[150:], y[150:]), train=(x[:150], y[:150]))
    >>> result.operators[0].status
    <Status.SCORED: 'scored'>
    """
    runtime = Runtime(seed, device, batch_size, engine, workers, store, folder, progress or Silent())
    subject = as_subject(subject, data, train, task, forward)
    count = subject.count(originals)
    options = AssessOptions.checked(
        count, exact, rule=rule, search=search, weak=weak, screening=screening, savings=savings
    )
    wanted = checked_operators(operators, options.search, subject, count)
    subject.check()
    verb = Assess(wanted, options, count, weak=subject.weak, recipe=subject.recipe)
    return run(verb, as_given(subject, None, None, None, None, "data", pool=False), runtime)
