"""`accuracy_after_retraining`: how much accuracy is gained by training with the selected inputs?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mutiny.campaigns.run import Engine, Progress, Runtime, Store, run
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
from mutiny.verbs.select.retraining.result import RANDOM, Retraining
from mutiny.verbs.select.retraining.roles import Protocol
from mutiny.verbs.select.retraining.verb import Retrain

BATCH = 256
"""Inputs per forward pass, unless the user says otherwise."""


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
    batch_size: int | None = None,
    threads: int = 1,
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Retraining:
    """Adds the inputs that each method selects to the training data, trains a copy of the model further, and compares.

    NSS, section 4.3.4 and Table 10. The result always includes ``random`` and the control ``none``: a copy that is
    trained for the same number of epochs without new inputs. Copies are trained by the subject's recipe at a tenth of
    its learning rate. Without a recipe, they are trained as in the paper: SGD with Nesterov momentum 0.99, learning
    rate 0.001 and batches of 128, but with a cosine schedule instead of steps.

    Args:
        subject: Subject to test. Its models are not changed, and retrained copies are not kept.
        method: One or several methods, as for `mutiny.select`.
        budget: Number of candidates to label: ``500``, or a share of the candidates, ``0.05`` or ``"5%"``.
        protocol: ``"split"``, without leakage: a random half of the pool are candidates; the other half is used for
            evaluation and never trained on. The test set is also used for evaluation, unless all of it is in the pool.
            An input is not used for evaluation if it, or the original that `mutiny.mutate` made it from, has the same
            content as a training input, a candidate or a candidate's original. Copies that were changed by other means
            are not recognized.
            ``"paper"``: all inputs of the pool are candidates, and all inputs of pool and test set are used for
            evaluation. This leaks: inputs that were trained on, or their originals, are used for evaluation.
        pool: Inputs with labels; the subject's pool, or its test set if it has no pool, by default.
        epochs: Number of epochs of retraining; 40 in the paper.
        learning_rate: Learning rate of retraining; a tenth of the recipe's by default.
        train_inputs: Number of random training inputs to use again; all by default.
        layers: Layers to read features from, as for `mutiny.select`.
        mutate: Mutation of inputs, for methods that mutate inputs.
        originals: Number of originals to use or train, which take turns as the model under test; by default all that
            the subject has, or one that is trained.
        repeats: Number of repeats, each with another split, order of training and, if there are several, original.
        seed: Seed of everything random.
        device: Torch device; the device of the models by default.
        batch_size: Inputs per forward pass in ranking and evaluation; 256 by default.
        threads: Torch threads of each job. Small networks are fastest with one; results may differ by rounding.
        engine: Engine that ranks candidates and trains copies: ``"serial"``, ``"processes"``, ``"ray"``, or an
            instance.
        workers: Number of worker processes.
        store: File, or open store, that keeps finished jobs and results, so that the same call resumes.
        folder: Folder for trained originals.
        progress: Receiver of progress messages.

    Returns:
        A `Retraining`. Apart from times, it is the same on every engine and after any interruption.

    >>> import torch
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
    20 of 200 candidates labeled, 100 more epochs
    accuracy on 200 inputs of the pool
                before   after           gain   beyond control
      none       89.3%   89.3%     +0.0 ± 0.0
      deepgini   89.3%  100.0%    +10.7 ± 2.6      +10.7 ± 2.6
      random     89.3%   89.3%     +0.0 ± 0.0       +0.0 ± 0.0
    All of the test set is in the pool, so there is no separate evaluation on it.
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
    size = BATCH if batch_size is None else batch_size
    runtime = Runtime(seed, device, size, threads, engine, workers, store, folder, progress)
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
    """The given pool, the subject's pool, or its test set; an error unless all labels are known."""
    labeled = as_pool(pool) if pool is not None else subject.pool
    labeled = matched(subject.test if labeled is None else labeled, subject.train, subject.task)
    missing = unknown(labeled.targets, subject.task)
    if missing:
        raise BadInput(
            "pool",
            f"{missing} of {len(labeled)} inputs without a label",
            "labels for training and evaluation",
            "Give pool=(inputs, labels); mutiny.select needs no labels.",
        )
    for name, data in (("pool", labeled), ("train", subject.training.data), ("test", subject.test)):
        subject.task.check_targets(data.targets, name)
    return labeled


def _count(budget: str | float, size: int, protocol: Protocol) -> int:
    """The number of candidates to label."""
    as_count(budget, size)  # raises errors in terms of the pool, before those about its half
    candidates = size // 2 if protocol == "split" else size
    try:
        count = as_count(budget, candidates)
    except BadInput:
        count = candidates + 1
    if count > candidates:
        raise BadInput(
            "budget",
            budget,
            f"at most {candidates}, half of the pool, because the other half is used for evaluation",
            "Label fewer, or give a larger pool.",
        )
    return count
