"""`select`: which inputs of an unlabelled pool should be labelled first?"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from mutiny.campaigns.campaign import Running
from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.engines.parsing import as_engine
from mutiny.campaigns.memo import Call, code_of, device_of, pace_of, threads_of
from mutiny.campaigns.originals import train_at_once
from mutiny.campaigns.stores.base import Store
from mutiny.campaigns.stores.opening import opened
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput, TaskFailed
from mutiny.core.hashing import hash_of
from mutiny.core.progress import Progress, Silent
from mutiny.core.records import versions
from mutiny.models import Forward, ModelState
from mutiny.models.state import check_untouched
from mutiny.subjects import Subject
from mutiny.subjects.data import Mutation
from mutiny.subjects.given import as_given
from mutiny.subjects.inference import determinism as steadiness
from mutiny.subjects.inference.output_kind import settle
from mutiny.subjects.tasks import Task, task_facts
from mutiny.verbs.select import metrics
from mutiny.verbs.select.base import Selector
from mutiny.verbs.select.budget import as_count
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.parsing import as_methods, describe, usual_method
from mutiny.verbs.select.plan import Outcome, Plan
from mutiny.verbs.select.quality import Quality, Truth, quality
from mutiny.verbs.select.result import Ranking, Selection
from mutiny.verbs.select.truth import notes, references, truth_of
from mutiny.verbs.select.worker import Bench, Ranked, Refused, none_applies


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
    """Ranks a pool of unlabelled inputs by how likely the model is to get them wrong.

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
    start, progress = time.monotonic(), progress or Silent()
    _check_settings(repeats, batch_size, seed, layers, mutate)
    given = as_given(subject, pool, train, task, forward, "pool", pool=True)
    count = as_count(budget, len(given.data))
    named = usual_method(given.task, given.count(originals)) if method is None else method
    wanted = {describe(one): one for one in as_methods(named)}
    with as_engine(engine, workers) as where, opened(store) as kept:
        settings = {
            "seed": int(seed),
            "layers": layers if layers is None or isinstance(layers, str) else list(layers),
            "diverse": diverse,
            "batch_size": batch_size if batch_size is None else int(batch_size),
            "device": device_of(given, device),
            "threads": threads_of(where),
        }
        asked = {
            "methods": [code_of(one) for one in wanted.values()],
            "budget": [budget, count],
            "repeats": int(repeats),
        }
        call = Call.of("select", given, settings, {**asked, "mutate": mutate}, kept, originals, device)
        if call.outcome is not None:
            return cast(Selection, call.outcome)
        running = Running(call.campaign, where, kept)
        if given.subject is not None:
            train_at_once(running, given.subject, given.count(originals), seed, device, folder, progress)
        models = given.originals(originals, seed, device, folder, progress)
        states = [ModelState.of(model) for model in models]
        repeatable = steadiness.repeats(models[0], given.data, given.forward)
        steadiness.check_constant(models[0], states[0])
        task = settle(given.task, models, given.data if given.train is None else given.train, given.forward, batch_size)
        evidence = Evidence(
            models, task, given.data, given.train,
            forward=given.forward, seed=seed, layers=layers, mutate=mutate, batch_size=batch_size,
            pace=pace_of(call.campaign),
        )  # fmt: skip
        if layers is not None:
            evidence.all_places.choose(layers)  # a wrong name is an error, also where no method reads features
        truth = truth_of(evidence)
        settings |= {"batch_size": int(evidence.pace.batch_size), "layout": evidence.pace.layout}
        running.settle(settings)
        running.expect(len(wanted) * repeats)
        progress.stage("ranking the pool", len(wanted) * repeats)
        basis = hash_of([call.basis, settings, code_of(mutate)])
        plan = Plan(basis, int(seed), repeats, count if diverse else None, progress)
        plans = [plan.ranked(name, one) for name, one in wanted.items()]
        found = running.run(Bench(evidence, wanted, count if diverse else None), plans)
        rankings, skipped, failed = _told(wanted, found, truth, count)
        check_untouched(models, states)
        result = Selection(
            subject={
                "name": given.name,
                "model": type(evidence.model).__name__,
                "originals": len(models),
                "task": task_facts(task),
                "pool": {
                    "inputs": len(given.data),
                    "from": given.source,
                    "labelled": truth is not None,
                    "wrong": None if truth is None else int(truth.wrong.sum()),
                },
            },
            settings={**settings, "methods": list(wanted), "budget": str(budget), "repeats": int(repeats)},
            versions=versions(),
            budget=count,
            rankings=tuple(rankings),
            skipped=skipped,
            references=references(truth, count),
            notes=tuple(notes(given, truth, evidence, repeatable)),
            seconds=time.monotonic() - start,
            created=call.campaign.created,
            names=given.data.names,
        )
        if not failed:  # these are tried again
            running.finish(result)
        return result


def _told(
    methods: Mapping[str, Selector], found: Sequence[Outcome], truth: Truth | None, budget: int
) -> tuple[list[Ranking], dict[str, str], bool]:
    """Rankings, methods that gave none and why, and whether one of them crashed."""
    rankings, skipped = [], {}
    for (name, method), each in zip(methods.items(), found, strict=True):
        if isinstance(each, Refused) and len(methods) == 1:
            raise each.error(name)
        if isinstance(each, TaskFailed) and len(methods) == 1:
            raise each
        if isinstance(each, (Refused, TaskFailed)):
            skipped[name] = each.reason.rstrip(".")
        else:
            rankings.append(_ranking(name, method, each, truth, budget))
    if not rankings:
        raise none_applies(skipped)
    return rankings, skipped, any(isinstance(each, TaskFailed) for each in found)


def _check_settings(repeats: Any, batch_size: Any, seed: Any, layers: Any, mutate: Any) -> None:
    check_whole("repeats", repeats)
    check_whole("batch_size", 1 if batch_size is None else batch_size)
    check_whole("seed", seed, 0)
    names = [layers] if isinstance(layers, str) else [] if layers is None else layers
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise BadInput("layers", repr(layers), "a name or pattern, or a list of them")
    if mutate is not None and not all(callable(getattr(mutate, name, None)) for name in ("fitted", "apply")):
        raise BadInput("mutate", repr(mutate), "a mutiny.subjects.data.Mutation, such as Benign() or Noise()")


def _ranking(name: str, method: Selector, found: Sequence[Ranked], truth: Truth | None, budget: int) -> Ranking:
    """One method; the order is that of the given seed, the repeats only say how much it depends on it."""
    first, graded = found[0], [None if truth is None else quality(one.order, truth, budget) for one in found]
    known = [one for one in graded if one is not None]
    return Ranking(
        name, method.title, first.order, first.scores, first.seconds, first.notes, graded[0],
        _repeated(known) if len(known) > 1 else {},
    )  # fmt: skip


def _repeated(each: Sequence[Quality]) -> dict[str, metrics.Repeated]:
    values: dict[str, list[float | None]] = {
        "fdr": [one.fdr for one in each],
        **{f"fdr {share}": [one.fdr_at[share] for one in each] for share in each[0].fdr_at},
        "apfd": [one.apfd for one in each],
        "apfd_types": [one.apfd_types for one in each],
        "rauc": [one.rauc.value if one.rauc else None for one in each],
    }
    known = {name: [one for one in some if one is not None] for name, some in values.items()}
    return {name: metrics.over_repeats(some) for name, some in known.items() if len(some) == len(each)}
