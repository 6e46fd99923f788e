"""`accuracy_after_retraining`: what the labels that a method asks for are worth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from mutiny.campaigns.run import Engine, Progress, Runtime, Silent, Store, run
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput
from mutiny.subjects import Subject
from mutiny.subjects.data import Data, Mutation, as_pool
from mutiny.subjects.data.labels import matched, unknown
from mutiny.subjects.given import Given
from mutiny.subjects.tasks import Classification
from mutiny.verbs.select.base import Selector
from mutiny.verbs.select.budget import as_count
from mutiny.verbs.select.parsing import as_methods, describe
from mutiny.verbs.select.retraining.gains import RANDOM, Retraining
from mutiny.verbs.select.retraining.roles import Protocol
from mutiny.verbs.select.retraining.verb import Retrain


@torch.inference_mode(False)  # training needs gradients, also where the caller wants none
def accuracy_after_retraining(
    subject: Subject,
    method: str | Selector | Iterable[str | Selector] = "deepgini",
    budget: str | float = 0.05,
    *,
    protocol: Protocol = "split",
    pool: Any = None,
    epochs: int = 3,
    learning_rate: float | None = None,
    train_inputs: int | None = None,
    layers: str | Sequence[str] | None = None,
    mutate: Mutation | None = None,
    originals: int | None = None,
    repeats: int = 3,
    seed: int = 0,
    device: str | None = None,
    batch_size: int = 256,
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Retraining:
    """Adds the inputs that each method selects to the training data, trains a copy of the model further, and compares.

    NSS, section 4.3.4 and Table 10. Beside the methods always stand ``random`` and the control ``none``: a copy that is
    trained for as many epochs without any new input. How copies are trained: see `further`.

    Args:
        subject: what is tested; its models stay as they are, and retrained copies are not kept.
        method: one or several, as for `mutiny.select`.
        budget: how many candidates are labelled: ``500``, or a share of the candidates, ``0.05`` or ``"5%"``.
        protocol: ``"split"``, without leakage: a random half of the pool are candidates, the other half judges and is
            never trained on. The test set judges too, unless all of it is in the pool. An input does not judge if it,
            or the original that `mutiny.mutate` made it from, has the same content as a training input, a candidate or
            a candidate's original. Copies that were changed elsewhere cannot be recognized.
            ``"paper"``: all of the pool are candidates, and all of the pool and of the test set judge. This leaks:
            inputs that were trained on, or the originals of such mutants, are among those that judge.
        pool: inputs with labels; the subject's pool, or else its test set, if not given.
        epochs: of retraining; the paper's are 40.
        learning_rate: of retraining.
        train_inputs: how many training inputs, drawn at random, are used again; all if not given.
        layers: where to read features, as for `mutiny.select`.
        mutate: how inputs are changed where a method changes them.
        originals: how many of the subject's originals take part, each repeat with the next one as the model under test;
            all there are if not given, or one that is trained.
        repeats: each with another split, order of training and, if there are several, original.
        seed: one seed, one answer.
        device: where to run; where the models are if not given.
        batch_size: inputs per forward pass in ranking and judging.
        engine: where candidates are ranked and copies trained, each by itself: ``"serial"`` (here), ``"processes"``,
            ``"ray"``, or an engine.
        workers: how many processes.
        store: a file that remembers what is done: the same call, interrupted or not, never does it again.
        folder: where originals are kept that the subject's recipe trains.
        progress: told what is being done.

    >>> from torch import nn
    >>> from mutiny import Classification
    >>> def cut(x):  # one number per input; class 1 begins at -1
    ...     return x[:, None], (x > -1).long()
    >>> known = torch.cat([torch.linspace(-3.1, -1.9, 50), torch.linspace(1.9, 3.1, 50)])
    >>> new = torch.cat([torch.linspace(-3, -2, 180), torch.linspace(2, 3, 180), torch.linspace(0, 0.3, 40)])
    >>> net = nn.Linear(1, 2).eval()
    >>> with torch.no_grad():  # class 1 begins at 0.5
    ...     _ = net.weight.copy_(torch.tensor([[-2.0], [2.0]])), net.bias.copy_(torch.tensor([1.0, -1.0]))
    >>> subject = Subject(net, task=Classification(2), train=cut(known), test=cut(new))
    >>> print(accuracy_after_retraining(subject, "deepgini", "10%", epochs=100, learning_rate=0.01))
    20 of 200 candidates labelled, 100 more epochs
    200 inputs of the pool judge
                before   after           gain   beyond control
      none       89.3%   89.3%     +0.0 ± 0.0
      deepgini   89.3%  100.0%    +10.7 ± 2.6      +10.7 ± 2.6
      random     89.3%   89.3%     +0.0 ± 0.0       +0.0 ± 0.0
    All of the test set is in the pool, so it does not judge for itself.
    """
    _check_settings(subject, protocol, repeats=repeats, train_inputs=train_inputs)
    pooled, asked = _labeled(subject, pool), as_methods(method)
    verb = Retrain(
        asked=tuple(describe(selector) for selector in asked),
        methods={describe(selector): selector for selector in as_methods([*asked, RANDOM])},
        count=_count(budget, len(pooled), protocol),
        protocol=protocol,
        epochs=epochs,
        learning_rate=learning_rate,
        train_inputs=train_inputs,
        layers=layers,
        mutate=mutate,
        repeats=repeats,
        originals=originals,
        subject=subject,
    )
    given = Given(subject.name, pooled, "the pool", subject.train, subject.task, subject.forward, subject, None)
    runtime = Runtime(seed, device, batch_size, engine, workers, store, folder, progress or Silent())
    return run(verb, given, runtime)


def _check_settings(subject: object, protocol: str, **counts: int | None) -> None:
    if not isinstance(subject, Subject):
        raise BadInput(
            "subject", type(subject).__name__, "a mutiny.Subject", "Retraining needs the training data and the task."
        )
    if not isinstance(subject.task, Classification):
        raise BadInput("task", type(subject.task).__name__, "Classification: regression has no accuracy")
    if protocol not in ("split", "paper"):
        raise BadInput("protocol", repr(protocol), '"split" or "paper"')
    for name, value in counts.items():
        check_whole(name, 1 if value is None else value)


def _labeled(subject: Subject, pool: Any) -> Data:
    """The pool that was given, or the subject's own, with all its labels."""
    found = as_pool(pool) if pool is not None else subject.pool
    found = matched(subject.test if found is None else found, subject.train, subject.task)
    missing = unknown(found.targets, subject.task)
    if missing:
        raise BadInput(
            "pool", f"{missing} of {len(found)} inputs without a label", "labels, to train on and to judge by",
            "Give pool=(inputs, labels); mutiny.select does without.",
        )  # fmt: skip
    for name, data in (("pool", found), ("train", subject.train), ("test", subject.test)):
        subject.task.check_targets(data.targets, name)
    return found


def _count(budget: str | float, size: int, protocol: Protocol) -> int:
    """How many candidates are labelled."""
    as_count(budget, size)  # its errors speak of the pool
    candidates = size // 2 if protocol == "split" else size
    try:
        count = as_count(budget, candidates)
    except BadInput:
        count = candidates + 1
    if count > candidates:
        raise BadInput(
            "budget", budget, f"at most {candidates}, half of the pool, for the other half judges",
            "Label fewer, or give a larger pool.",
        )  # fmt: skip
    return count
