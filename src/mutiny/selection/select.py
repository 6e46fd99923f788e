"""`select`: which inputs of an unlabelled pool should be labelled first?"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from mutiny.checks import check_whole
from mutiny.data import MutatedData, Mutation
from mutiny.data.labels import unknown
from mutiny.errors import BadInput, NotApplicable
from mutiny.evaluation import steadiness
from mutiny.evaluation.exact import placement
from mutiny.evaluation.settling import settle
from mutiny.models import Forward, ModelState
from mutiny.models.state import check_untouched
from mutiny.progress import Progress, Silent
from mutiny.random import seed_for
from mutiny.records import versions
from mutiny.selection import metrics
from mutiny.selection.base import Selector
from mutiny.selection.budget import as_count
from mutiny.selection.diverse import diversified
from mutiny.selection.evidence import Evidence
from mutiny.selection.parsing import as_methods, describe
from mutiny.selection.quality import Quality, Truth, quality
from mutiny.selection.selection import Ranking, Selection
from mutiny.subjects import Subject
from mutiny.subjects.given import Given, as_given
from mutiny.task import Classification, Regression, Task


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
        folder: where trained originals are kept.
        progress: told what is being done.

    Returns:
        A `Selection`; ``chosen`` are the indices to label. Targets of the pool, if there are any, only serve to say
        how good the choice is.

    >>> x = torch.linspace(-2, 2, 41)[:, None]
    >>> net = nn.Linear(1, 2).eval()
    >>> with torch.no_grad():
    ...     _ = net.weight.copy_(torch.tensor([[-1.0], [1.0]])), net.bias.zero_()
    >>> select(net, "deepgini", budget=1, pool=x).chosen  # the input on the border between the classes
    array([20])
    """
    start, created = time.monotonic(), time.strftime("%Y-%m-%dT%H:%M:%S%z")
    progress = progress or Silent()
    _check_settings(repeats, batch_size, seed, layers, mutate)
    given = as_given(subject, pool, train, task, forward, "pool", pool=True)
    count = as_count(budget, len(given.data))
    wanted = _methods(method, given)
    models = given.originals(originals, seed, device, folder, progress)
    states = [ModelState.of(model) for model in models]
    repeatable = steadiness.repeats(models[0], given.data, given.forward)
    steadiness.check_constant(models[0], states[0])
    task = settle(given.task, models, given.data if given.train is None else given.train, given.forward, batch_size)
    evidence = Evidence(
        models, task, given.data, given.train,
        forward=given.forward, seed=seed, layers=layers, mutate=mutate, batch_size=batch_size,
    )  # fmt: skip
    if layers is not None:
        evidence.all_places.choose(layers)  # a wrong name is an error, also where no method reads features
    truth = _truth(evidence)
    progress.stage("ranking the pool", len(wanted) * repeats)
    rankings, skipped = [], {}
    for one in wanted:
        name = describe(one)
        try:
            rankings.append(_ranking(one, evidence, count, truth, diverse, repeats, progress))
        except (NotApplicable, BadInput) as reason:
            if len(wanted) == 1 and isinstance(reason, BadInput):
                raise
            if len(wanted) == 1:
                raise BadInput("method", name, "a method that applies here", f"{_sentence(str(reason))}") from None
            skipped[name] = str(reason).rstrip(".")
            progress.step(name, repeats)
    if not rankings:
        raise BadInput("method", ", ".join(skipped), "at least one that applies here", _reasons(skipped))
    check_untouched(models, states)
    return Selection(
        subject={
            "name": given.name,
            "model": type(evidence.model).__name__,
            "originals": len(models),
            "task": {"kind": type(task).__name__.lower(), "metric": task.metric, **vars(task)},
            "pool": {
                "inputs": len(given.data),
                "from": given.source,
                "labelled": truth is not None,
                "wrong": None if truth is None else int(truth.wrong.sum()),
            },
        },
        settings={
            "seed": seed,
            "methods": [describe(one) for one in wanted],
            "budget": str(budget),
            "layers": layers if layers is None or isinstance(layers, str) else list(layers),
            "diverse": diverse,
            "repeats": repeats,
            "batch_size": evidence.pace.batch_size,
            "layout": evidence.pace.layout,
            "device": str(placement(evidence.model)[0]),
            "threads": torch.get_num_threads(),
        },
        versions=versions(),
        budget=count,
        rankings=tuple(rankings),
        skipped=skipped,
        references=_references(truth, count),
        notes=tuple(_notes(given, truth, evidence, repeatable)),
        seconds=time.monotonic() - start,
        created=created,
        names=given.data.names,
    )


def _methods(wanted: Any, given: Given) -> tuple[Selector, ...]:
    if wanted is not None:
        return as_methods(wanted)
    if isinstance(given.task, Classification):
        return as_methods("deepgini")
    several = given.subject is not None and len(given.subject.models) > 1
    return as_methods("disagreement" if several else "kill-rate")


def _check_settings(repeats: Any, batch_size: Any, seed: Any, layers: Any, mutate: Any) -> None:
    check_whole("repeats", repeats)
    check_whole("batch_size", 1 if batch_size is None else batch_size)
    check_whole("seed", seed, 0)
    names = [layers] if isinstance(layers, str) else [] if layers is None else layers
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise BadInput("layers", repr(layers), "a name or pattern, or a list of them")
    if mutate is not None and not all(callable(getattr(mutate, name, None)) for name in ("fitted", "apply")):
        raise BadInput("mutate", repr(mutate), "a mutiny.data.Mutation, such as Benign() or Noise()")


def _ranking(
    method: Selector,
    evidence: Evidence,
    budget: int,
    truth: Truth | None,
    diverse: bool,
    repeats: int,
    progress: Progress,
) -> Ranking:
    """One method; the order is that of the given seed, the repeats only say how much it depends on it."""
    found: list[Ranking] = []
    for repeat in range(repeats):
        one = evidence.reseeded(evidence.seed if not repeat else seed_for(evidence.seed, "repeat", repeat))
        started = time.monotonic()
        order, scores = method.rank(one)
        if diverse:
            order = diversified(order, budget, one)
        seconds = time.monotonic() - started
        graded = quality(order, truth, budget) if truth is not None else None
        found.append(
            Ranking(describe(method), method.title, order, scores, seconds, tuple(one.notes), graded)
        )  # fmt: skip
        progress.step(describe(method))
    first = found[0]
    if repeats == 1 or first.quality is None:
        return first
    each = [ranking.quality for ranking in found if ranking.quality is not None]
    return replace(first, repeated=_repeated(each))


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


def _truth(evidence: Evidence) -> Truth | None:
    """Which answers are wrong, if all labels are known; only here targets of the pool are read."""
    if unknown(evidence.pool.targets, evidence.task):
        return None
    task, outputs = evidence.task, evidence.outputs()
    targets = task.check_targets(evidence.pool.targets, "pool")
    wrong = ~task.judge(outputs, torch.from_numpy(targets))[0].numpy()
    if isinstance(task, Regression):
        return Truth(wrong)
    return Truth(wrong, metrics.fault_types(targets, evidence.predicted()), task.classes)


def _references(truth: Truth | None, budget: int) -> dict[str, dict[str, float | None]]:
    if truth is None:
        return {}
    ideal = quality(metrics.ideal_order(truth.wrong), truth, budget)
    random = {"fdr": metrics.expected_fdr(truth.wrong), "apfd": metrics.expected_apfd(truth.wrong), "rauc": None}
    best = None
    if truth.types is not None and ideal.rauc is not None:
        area = metrics.expected_rauc(truth.types, classes=truth.classes)
        random["rauc"] = None if area is None else area.value
        best = quality(metrics.ideal_type_order(truth.types), truth, budget).rauc
    return {
        "ideal": {"fdr": ideal.fdr, "apfd": ideal.apfd, "rauc": best.value if best else None},
        "random": random,
    }


def _notes(given: Given, truth: Truth | None, evidence: Evidence, repeatable: bool) -> Iterable[str]:
    if given.source == "the test set":
        yield "The pool is the test set, for the subject has no pool."
    if isinstance(given.data, MutatedData):
        yield "The pool is made of benign mutations; their clean originals are known."
    if given.task != evidence.task and evidence.task == Classification(2, "probabilities") and _single(evidence):
        yield (
            "All outputs lie between 0 and 1, so they are taken for probabilities of class 1. If they are logits, say "
            'so: Classification(2, outputs="logits").'
        )
    if not repeatable:
        yield (
            "The model answers differently when it is asked twice (dropout or noise in its forward pass?), so the same "
            "seed may choose other inputs."
        )
    missing = unknown(given.data.targets, evidence.task)
    if 0 < missing < len(given.data):
        yield f"Only {len(given.data) - missing} of {len(given.data)} labels are known, so they are not used."
    elif missing and given.data.classes is not None:
        folders = ", ".join(given.data.classes[:5])
        yield (
            f"The pool's class folders ({folders}) are not known as classes, so its labels are not used. Call folders "
            f"as those of the training data, or by the number of the class."
        )
    if truth is None:
        return
    if not truth.wrong.any():
        yield "The model gets every input of the pool right, so no order can find a fault."
    elif truth.wrong.all():
        yield "The model gets every input of the pool wrong, so every order is as good."
    if truth.types is not None and len(np.unique(evidence.pool.targets)) == 1:
        yield f"All inputs of the pool have the label {evidence.pool.targets.flat[0]}."


def _single(evidence: Evidence) -> bool:
    """Whether the model returns one number for two classes."""
    outputs = evidence.outputs()
    return outputs.ndim == 1 or outputs.shape[1] == 1


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _reasons(skipped: dict[str, str]) -> str:
    return " ".join(f"{name}: {_sentence(reason)}" for name, reason in skipped.items())
