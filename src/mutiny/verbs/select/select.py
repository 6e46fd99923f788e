"""`select`: which inputs of an unlabeled pool should be labeled first?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mutiny.campaigns.run import Engine, Progress, Runtime, Silent, Store, run
from mutiny.core.checks import check_whole
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


@torch.inference_mode(False)  # some methods need gradients, also where the caller wants none
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
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Selection:
    """Ranks a pool of unlabeled inputs by how likely the model is to get them wrong.

    Args:
        subject: what is tested; or simply a model in evaluation mode, with ``pool`` and what the method needs.
        method: a name such as ``"deepgini"``, with parameters if you like: ``"dsa(by=coverage)"``; several joined by
            ``+`` are combined by rank; several in a list or separated by commas are compared, and ``"all"`` compares
            all. By default ``deepgini``; for regression ``disagreement`` if there are several originals, else
            ``kill-rate``.
        budget: how many inputs to label: ``500``, ``0.05`` or ``"5%"``.
        pool: the inputs to choose from, with or without targets; the subject's pool, or else its test set, if not
            given.
        train: what the model was trained on, if ``subject`` is a model; some methods compare with it.
        task: if ``subject`` is a model; by default classification by the largest output.
        forward: how the model is called, if ``subject`` is a model.
        layers: where to read features, by name, pattern, ``encoder``, ``hidden`` or ``all``; each method's own choice
            if not given.
        diverse: whether the budget avoids inputs that look alike to the model.
        mutate: how inputs are changed where a method changes them.
        originals: how many of the subject's originals take part. The first is the model under test; only methods that
            ask for disagreement need more. One is trained if there is a recipe and no number.
        repeats: the whole is repeated with other seeds, for intervals of the quality.
        seed: one seed, one answer.
        device: where to run; where the models are if not given.
        batch_size: inputs per forward pass; measured if not given.
        engine: where methods run, each of them and each repeat by itself: ``"serial"`` (here), ``"processes"``,
            ``"ray"``, or an engine.
        workers: how many processes.
        store: a file that remembers what is done: the same call, interrupted or not, never does it again.
        folder: where trained originals are kept.
        progress: told what is being done.

    Returns:
        A `Selection`; ``chosen`` are the indices to label. Targets of the pool, if there are any, only serve to say
        how good the choice is. It is the same on every engine and after any interruption, but for the times.

    >>> x = torch.linspace(-2, 2, 41)[:, None]
    >>> net = nn.Linear(1, 2).eval()
    >>> with torch.no_grad():
    ...     _ = net.weight.copy_(torch.tensor([[-1.0], [1.0]])), net.bias.zero_()
    >>> select(net, "deepgini", budget=1, pool=x).chosen  # the input on the border between the classes
    array([20])
    """
    _check_settings(repeats, layers, mutate)
    runtime = Runtime(seed, device, batch_size, engine, workers, store, folder, progress or Silent())
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
        raise BadInput("mutate", repr(mutate), "a mutiny.subjects.data.Mutation, such as Benign() or Noise()")
