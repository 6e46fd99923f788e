"""`repair`: search for a weight patch that fixes failures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from mutiny.campaigns.run import Engine, Progress, Runtime, Store, run
from mutiny.core.errors import BadInput
from mutiny.models import Forward
from mutiny.subjects import Subject
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.given import Given, as_given
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.repair.base import RepairMethod
from mutiny.verbs.repair.methods import as_repair
from mutiny.verbs.repair.result import Repair
from mutiny.verbs.repair.split import check_shares
from mutiny.verbs.repair.target import Target
from mutiny.verbs.repair.verb import FindPatch

SHARES = (0.5, 0.25, 0.25)
"""Default shares of the inputs for repair, validation and held-out evaluation."""


def repair(
    subject: Subject | nn.Module,
    method: str | RepairMethod = "search",
    *,
    target: Target = "all",
    data: Any = None,
    task: Task | None = None,
    forward: Forward | None = None,
    layers: str | Sequence[str] | None = None,
    shares: tuple[float, float, float] = SHARES,
    seed: int = 0,
    device: str | None = None,
    batch_size: int | None = None,
    threads: int = 1,
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Repair:
    """Searches for a weight patch that fixes failures, and evaluates it on inputs that were not used in the search.

    Inputs are split into three parts, stratified by failures and classes: a method proposes patches from the first, one
    of them (or none) is chosen on the second, and the third shows its effect. The verdict is *repaired* only if the
    interval of the gain on held-out inputs, fixed failures minus broken passes, lies above 0, and at least 20 of these
    inputs passed before.

    The search is one job, because each generation needs the one before; more workers do not make it faster.

    Args:
        subject: Subject to repair, or a model in evaluation mode with ``data``. It is never changed.
        method: ``"search"`` (new values for the weights to blame), ``"scale"`` (factors for neurons) or ``"tune"``
            (training of the suspects), with optional parameters: ``"search(generations=50)"``.
        target: Failures to fix: ``"all"``, the most frequent ``"confusion"``, or a pair: the true class and the
            predicted one.
        data: Labeled inputs, passing as well as failing; the test set by default.
        task: Task, if ``subject`` is a model; classification by the largest output by default.
        forward: Function that calls the model, if ``subject`` is a model.
        layers: Names or patterns of layers whose weights may change; all by default.
        shares: Shares of the inputs for repair, validation and held-out evaluation.
        seed: Seed of everything random.
        device: Torch device; the device of the models by default.
        batch_size: Inputs per forward pass; measured once per model and device by default.
        threads: Torch threads of each job. Small networks are fastest with one; results may differ by rounding.
        engine: Engine that runs the search: ``"serial"``, ``"processes"``, ``"ray"``, or an instance.
        workers: Number of worker processes.
        store: File, or open store, that keeps finished jobs and results, so that the same call resumes.
        folder: Folder for trained originals.
        progress: Receiver of progress messages.

    Returns:
        A `Repair`. Apart from times, it is the same on every engine and after any interruption.

    >>> import torch
    >>> x = torch.rand(400, 2, generator=torch.Generator().manual_seed(0))
    >>> net = nn.Sequential(nn.Linear(2, 2)).eval()
    >>> with torch.no_grad():  # it should compare both inputs, but has a wrong weight
    ...     _ = net[0].weight.copy_(torch.tensor([[1.0, 0.5], [0.0, 1.0]])), net[0].bias.zero_()
    >>> repair(net, data=(x, (x[:, 1] > x[:, 0]).long()))
    Repair('search', repaired, held-out: 28 of 28 repaired, 0 of 72 broken)
    """
    chosen = as_repair(method)
    check_shares(shares)
    runtime = Runtime(seed, device, batch_size, threads, engine, workers, store, folder, progress)
    given = as_given(subject, data, None, task, forward, "data", pool=False)
    _check_labels(given)
    return run(FindPatch(method=chosen, target=target, layers=layers, shares=tuple(shares)), given, runtime)


def _check_labels(given: Given) -> None:
    missing = unknown(given.data.targets, given.task)
    if missing:
        raise BadInput("data", f"{missing} of {len(given.data)} labels unknown", "labeled inputs")
    labels = given.task.check_targets(given.data.targets, "data")
    if isinstance(given.task, Classification) and len(np.unique(labels)) == 1:
        fix = "A network that always predicts this class would look repaired."
        raise BadInput("data labels", f"only class {int(labels[0])}", "at least two classes", fix)
