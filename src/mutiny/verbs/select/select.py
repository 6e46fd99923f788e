"""`select`: which inputs of an unlabeled pool should be labeled first?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from mutiny.campaigns.run import Engine, Progress, Runtime, Store, run
from mutiny.core.checks import check_flag, check_whole
from mutiny.core.errors import BadInput
from mutiny.models import Forward
from mutiny.subjects import Subject
from mutiny.subjects.data import Mutation
from mutiny.subjects.given import as_given
from mutiny.subjects.tasks import Task
from mutiny.verbs.select.base import Selector
from mutiny.verbs.select.budget import as_count
from mutiny.verbs.select.parsing import as_methods, describe, usual_method
from mutiny.verbs.select.result import Selection
from mutiny.verbs.select.verb import Select


def select(
    subject: Subject | nn.Module,
    method: str | Selector | Iterable[str | Selector] | None = None,
    budget: str | float = 0.05,
    *,
    pool: Any = None,
    train: Any = None,
    task: Task | None = None,
    forward: Forward | None = None,
    layers: str | Sequence[str] | None = None,
    diverse: bool = False,
    mutate: Mutation | None = None,
    originals: int | None = None,
    repeats: int = 1,
    seed: int = 0,
    device: str | None = None,
    batch_size: int | None = None,
    threads: int = 1,
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Selection:
    """Ranks a pool of unlabeled inputs by how likely the model is to answer them wrongly.

    Args:
        subject: Subject to test, or a model in evaluation mode with ``pool`` and, for some methods, ``train``.
        method: Name of a method, optionally with parameters: ``"deepgini"``, ``"dsa(by=coverage)"``. Methods joined by
            ``+`` are combined by rank. Several methods, in a list or separated by commas, are compared; ``"all"``
            compares all. By default ``deepgini``; for regression ``disagreement`` if there are several originals,
            otherwise ``kill-rate``.
        budget: Number of inputs to label: ``500``, ``0.05`` or ``"5%"``.
        pool: Inputs to choose from, with or without targets; the subject's pool, or its test set if it has no pool, by
            default.
        train: Training set, if ``subject`` is a model; some methods compare with it.
        task: Task, if ``subject`` is a model; classification by the largest output by default.
        forward: Function that calls the model, if ``subject`` is a model.
        layers: Layers to read features from: names, patterns, ``encoder``, ``hidden`` or ``all``; each method has its
            own default.
        diverse: Avoid inputs within the budget whose features are similar.
        mutate: Mutation of inputs, for methods that mutate inputs.
        originals: Number of originals to use or train. The first is the model under test; only ``disagreement`` needs
            more. By default all that the subject has, or one that is trained.
        repeats: Number of seeds to repeat everything with, for intervals of the quality.
        seed: Seed of everything random.
        device: Torch device; the device of the models by default.
        batch_size: Inputs per forward pass; measured once per model and device by default.
        threads: Torch threads of each job. Small networks are fastest with one; results may differ by rounding.
        engine: Engine that runs methods and repeats: ``"serial"``, ``"processes"``, ``"ray"``, or an instance.
        workers: Number of worker processes.
        store: File, or open store, that keeps finished jobs and results, so that the same call resumes.
        folder: Folder for trained originals.
        progress: Receiver of progress messages.

    Returns:
        A `Selection`; ``chosen`` are the indices to label. Targets of the pool, if there are any, are used only to
        measure how good the ranking is. Apart from times, the result is the same on every engine and after any
        interruption.

    >>> import torch
    >>> x = torch.linspace(-2, 2, 41)[:, None]
    >>> net = nn.Linear(1, 2).eval()
    >>> with torch.no_grad():
    ...     _ = net.weight.copy_(torch.tensor([[-1.0], [1.0]])), net.bias.zero_()
    >>> select(net, "deepgini", budget=1, pool=x).chosen  # the input on the border between the classes
    array([20])
    """
    check_flag("diverse", diverse)
    _check_settings(repeats, layers, mutate)
    runtime = Runtime(seed, device, batch_size, threads, engine, workers, store, folder, progress)
    given = as_given(subject, pool, train, task, forward, "pool", pool=True)
    if method is None:
        method = usual_method(given.task, given.count(originals))
    verb = Select(
        methods={describe(selector): selector for selector in as_methods(method)},
        budget=budget,
        count=as_count(budget, len(given.data)),
        layers=layers if layers is None or isinstance(layers, str) else tuple(layers),
        diverse=diverse,
        mutate=mutate,
        repeats=int(repeats),
        originals=originals,
    )
    return run(verb, given, runtime)


def _check_settings(repeats: Any, layers: Any, mutate: Any) -> None:
    check_whole("repeats", repeats)
    names = [layers] if isinstance(layers, str) else [] if layers is None else layers
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise BadInput("layers", repr(layers), "a name or pattern, or a list of them")
    if mutate is not None and not all(callable(getattr(mutate, name, None)) for name in ("fitted", "apply")):
        raise BadInput("mutate", repr(mutate), "a mutiny.Mutation, such as mutiny.Benign() or mutiny.Noise()")
