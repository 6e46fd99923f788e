"""`repair`: can the guilty be mended?"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from mutiny.campaigns.campaign import Running
from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.engines.parsing import as_engine
from mutiny.campaigns.jobs import Job
from mutiny.campaigns.memo import Call, code_of, device_of, pace_of, threads_of
from mutiny.campaigns.schedule import ask
from mutiny.campaigns.stores.base import Store
from mutiny.campaigns.stores.opening import opened
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput
from mutiny.core.hashing import hash_of
from mutiny.core.progress import Progress, Silent
from mutiny.core.random import generator_for
from mutiny.core.records import to_plain, versions
from mutiny.core.subject_records import ModelAndInputs
from mutiny.models import Forward, ModelState, ModelView, Patch
from mutiny.models.layers import Layer
from mutiny.models.state import check_untouched
from mutiny.subjects import Subject
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.given import Given, as_given
from mutiny.subjects.inference import determinism as steadiness
from mutiny.subjects.inference.output_kind import settle
from mutiny.subjects.tasks import Classification, Task, task_record
from mutiny.verbs.repair.base import Method
from mutiny.verbs.repair.damage import Damage
from mutiny.verbs.repair.methods import as_repair
from mutiny.verbs.repair.notes import notes
from mutiny.verbs.repair.result import Repair
from mutiny.verbs.repair.split import ROLES, check_shares, equals, split
from mutiny.verbs.repair.target import Target, check_target, targeted
from mutiny.verbs.repair.verdict import Change
from mutiny.verbs.repair.worker import Bench, Judge

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
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
        data: labelled inputs, passing ones as well as failures; the test set if not given.
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
    start, progress = time.monotonic(), progress or Silent()
    chosen = as_repair(method)
    check_shares(shares)
    check_whole("seed", seed, 0)
    check_whole("batch_size", 1 if batch_size is None else batch_size)
    given = as_given(subject, data, None, task, forward, "data", pool=False)
    _check_labels(given)
    with as_engine(engine, workers) as where, opened(store) as remembered:
        settings = to_plain({
            "seed": seed,
            "layers": layers,
            "shares": list(shares),
            "batch_size": batch_size,
            "device": device_of(given, device),
            "threads": threads_of(where),
        })  # fmt: skip
        asked = {"method": chosen, "target": target}
        call = Call.of("repair", given, settings, asked, remembered, device=device)
        model = given.originals(1, seed, device, folder, progress)[0]
        state, kept = ModelState.of(model), _copied(model)
        if call.outcome is not None:
            return replace(cast(Repair, call.outcome), original=kept)
        repeatable = steadiness.repeats(model, given.data, given.forward)
        steadiness.check_constant(model, state)
        task = settle(given.task, [model], given.data, given.forward, batch_size)
        wanted = check_target(target, task)
        judge = Judge(model, task, given.data, given.forward, batch_size)
        judge.pace = pace_of(call.campaign) or judge.pace
        before, said, sound = judge.answers(Patch(()), np.arange(len(given.data)))
        labels = judge.targets.numpy() if isinstance(task, Classification) else np.zeros(len(before), np.int64)
        which, about = targeted(wanted, ~before, labels, said)
        parts = split(
            _strata(which, before, labels), shares, generator_for(seed, "repair", "split"), equals(given.data)
        )  # fmt: skip
        view = judge.view()
        found = _layers(view, layers)
        settings |= {"batch_size": int(judge.pace.batch_size), "layout": judge.pace.layout}
        running = Running(call.campaign, where, remembered)
        running.settle(settings)
        patch = Patch(())
        if which[parts[0]].any():
            own = parts[0][which[parts[0]] | before[parts[0]]]
            damage = Damage(
                view, task, given.data.subset(own), judge.targets[torch.from_numpy(own)], which[own], sound[own],
                found, given.forward, seed, judge.pace.batch_size,
            )  # fmt: skip
            running.expect(1)
            basis = hash_of([call.basis, settings, code_of(chosen), to_plain(about)])
            work = Bench(chosen, damage, judge, which, before, parts[1], progress)
            (patch,) = running.run(work, [_found(Job("repair", [], basis, str(chosen)))])
        progress.stage("judging", 1)
        after = judge.answers(patch, np.arange(len(before))).right if patch.edits else before
        progress.step()
        changes = {role: Change.of(which[at], before[at], after[at]) for role, at in zip(ROLES, parts, strict=True)}
        check_untouched([model], [state])
        originals = len(given.subject.models) if given.subject else 1
        unseen = _unseen(task, labels[parts[2]])
        result = Repair(
            subject=ModelAndInputs(given.name, type(model).__name__, task_record(task), len(given.data), given.source),
            settings={**settings, "layers": [layer.name for layer in found]},
            versions=versions(),
            method=str(chosen),
            target=about,
            patch=patch,
            changes=changes,
            notes=tuple(notes(changes, patch, repeatable, originals, int((~sound).sum()), unseen)),
            seconds=time.monotonic() - start,
            created=call.campaign.created,
            original=kept,
        )
        running.finish(replace(result, original=None))  # the model is the user's, who has it
        return result


async def _found(task: Job) -> Patch:
    patch: Patch = await ask(task)
    return patch


def _check_labels(given: Given) -> None:
    missing = unknown(given.data.targets, given.task)
    if missing:
        raise BadInput("data", f"{missing} of {len(given.data)} labels unknown", "labelled inputs")
    labels = given.task.check_targets(given.data.targets, "data")
    if isinstance(given.task, Classification) and len(np.unique(labels)) == 1:
        raise BadInput(
            "data labels", f"only class {int(labels[0])}", "at least two classes",
            "A network that always gives this answer would look repaired.",
        )  # fmt: skip


def _copied(model: nn.Module) -> nn.Module:
    """As it is now, whatever its owner does to it later."""
    try:
        return copy.deepcopy(model)
    except (RuntimeError, TypeError) as error:
        raise BadInput("model", type(model).__name__, "a model that copy.deepcopy copies", str(error)) from error


def _unseen(task: Task, labels: Ints) -> Sequence[int]:
    """Classes without any of these labels."""
    return np.setdiff1d(np.arange(task.classes), labels).tolist() if isinstance(task, Classification) else ()


def _strata(which: Bools, before: Bools, labels: Ints) -> Ints:
    """Failures to be mended, other failures, and passes, each by class."""
    kind = np.where(which, 0, np.where(before, 2, 1))
    found: Ints = kind * (labels.max(initial=0) + 1) + labels
    return found


def _layers(view: ModelView, wanted: str | Sequence[str] | None) -> tuple[Layer, ...]:
    able = tuple(layer for layer in view.layers if layer.neurons)
    if wanted is None:
        return able
    patterns = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(patterns, Sequence) or not patterns or not all(isinstance(one, str) for one in patterns):
        raise BadInput("layers", repr(wanted), "names or patterns of layers")
    for pattern in patterns:
        if not any(fnmatchcase(layer.name, pattern) for layer in able):
            names = ", ".join(layer.name for layer in able)
            raise BadInput("layers", repr(pattern), "a layer with weights, or a pattern", f"It has: {names}.")
    return tuple(layer for layer in able if any(fnmatchcase(layer.name, pattern) for pattern in patterns))
