"""`repair`: is there a weight patch that fixes failures?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from mutiny.campaigns.run import Engine, Progress, Runtime, Silent, Store, run
from mutiny.core.errors import BadInput
from mutiny.models import Forward
from mutiny.subjects import Subject
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.given import Given, as_given
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.repair.base import Method
from mutiny.verbs.repair.methods import as_repair
from mutiny.verbs.repair.result import Repair
from mutiny.verbs.repair.split import check_shares
from mutiny.verbs.repair.target import Target
from mutiny.verbs.repair.verb import FindPatch

SHARES = (0.5, 0.25, 0.25)


@torch.inference_mode(False)  # blame and training need gradients, also where the caller wants none
def repair(
    subject: Subject | nn.Module,
    method: str | Method = "search",
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
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Repair:
    """Looks for a patch of weights that mends failures, and judges it on inputs that took no part.

    Inputs are split into three roles, failures and classes alike: a method proposes patches from the first, the second
    chooses among them (or none), and the third alone says what the choice is worth. It is called a repair only if the
    interval of its gain on held-out inputs, mended failures less broken passes, lies above 0, and at least 20 of them
    passed before.

    The search is one task, for each generation needs the one before: a store keeps what it found, and an engine with
    several workers does not make it faster.

    Args:
        subject: what is tested; or simply a model in evaluation mode, with ``data``. It is never changed.
        method: ``"search"`` (new values for the weights to blame), ``"scale"`` (factors for neurons), ``"tune"``
            (training of the suspects), each with parameters if you like: ``"search(generations=50)"``.
        target: ``"all"`` failures; the most frequent ``"confusion"``; or a pair, the true class and the one that is
            said instead.
        data: labeled inputs, passing ones as well as failures; the test set if not given.
        task: if ``subject`` is a model; by default classification by the largest output.
        forward: how the model is called, if ``subject`` is a model.
        layers: names or patterns of layers whose weights may change; all if not given.
        shares: of the inputs, for repair, validation and held-out.
        seed: one seed, one answer.
        device: where to run; where the model is if not given.
        batch_size: inputs per forward pass; measured if not given.
        engine: where the patch is looked for: ``"serial"`` (here), ``"processes"``, ``"ray"``, or an engine.
        workers: how many processes.
        store: a file that remembers what is done: the same call, interrupted or not, never does it again.
        folder: where trained originals are kept.
        progress: told what is being done.

    >>> x = torch.rand(400, 2, generator=torch.Generator().manual_seed(0))
    >>> net = nn.Sequential(nn.Linear(2, 2)).eval()
    >>> with torch.no_grad():  # it should compare both numbers, but has a wrong weight
    ...     _ = net[0].weight.copy_(torch.tensor([[1.0, 0.5], [0.0, 1.0]])), net[0].bias.zero_()
    >>> repair(net, data=(x, (x[:, 1] > x[:, 0]).long()))
    Repair('search', repaired, held-out: 28 of 28 mended, 0 of 72 broken)
    """
    chosen = as_repair(method)
    check_shares(shares)
    runtime = Runtime(seed, device, batch_size, engine, workers, store, folder, progress or Silent())
    given = as_given(subject, data, None, task, forward, "data", pool=False)
    _check_labels(given)
    return run(FindPatch(method=chosen, target=target, layers=layers, shares=tuple(shares)), given, runtime)


def _check_labels(given: Given) -> None:
    missing = unknown(given.data.targets, given.task)
    if missing:
        raise BadInput("data", f"{missing} of {len(given.data)} labels unknown", "labeled inputs")
    labels = given.task.check_targets(given.data.targets, "data")
    if isinstance(given.task, Classification) and len(np.unique(labels)) == 1:
        raise BadInput(
            "data labels", f"only class {int(labels[0])}", "at least two classes",
            "A network that always gives this answer would look repaired.",
        )  # fmt: skip
