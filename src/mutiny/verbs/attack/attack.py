"""`attack`: how robust is the model?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from mutiny.campaigns.run import Engine, Progress, Runtime, Silent, Store, run
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput
from mutiny.models import Forward, ModelState
from mutiny.subjects import Subject
from mutiny.subjects.tasks import Task
from mutiny.verbs.attack.base import Attack
from mutiny.verbs.attack.ensemble import Combine
from mutiny.verbs.attack.methods import as_attack, as_attacks
from mutiny.verbs.attack.mutants import Choice, Mutant
from mutiny.verbs.attack.pgd import Pgd
from mutiny.verbs.attack.result import BUDGET, MUTANTS, ORIGINAL, SANE, Robustness
from mutiny.verbs.attack.setup import attacked_model, labeled
from mutiny.verbs.attack.verb import AttackModel
from mutiny.verbs.attack.worker import Variant, made_by

FARTHEST = 1e30
"""Distances beyond this are a mistake, and overflow in single precision."""


def attack(
    subject: Subject | nn.Module,
    attack: str | Attack = "pgd",
    eps: float | Iterable[float] = 0.1,
    *,
    mutants: int | Choice = 5,
    combine: Combine = "gradients",
    count: int = 500,
    low: float = 0.0,
    high: float = 1.0,
    baselines: bool = True,
    beside: str | Attack | Iterable[str | Attack] = (),
    data: Any = None,
    task: Task | None = None,
    forward: Forward | None = None,
    seed: int = 0,
    device: str | None = None,
    batch_size: int = 128,
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Robustness:
    """Attacks a model together with mutants of it (MUTEN), and beside that the model alone, fairly.

    Success is judged on the model alone. Beside the mutants always stand: the same attack on the model alone; the same
    with as many passes allowed as the ensemble has, where the attack can make use of them (`Attack.times`); and, where
    a step was given, the same with a step that fits the distance. Whether mutants help is read from the second: PGD and
    FGSM spend it on more attempts, in turn with the cross-entropy and with the margin of logits, so that mutants do not
    win against an attack that is weak on purpose; Carlini and Wagner's on more iterations.

    Args:
        subject: what is tested; or simply a model in evaluation mode, with ``data``. It is never changed.
        attack: ``"pgd"``, ``"fgsm"``, ``"carlini"`` or ``"autoattack"``, with parameters if you like:
            ``"pgd(norm=l2, iterations=20)"``.
        eps: how far inputs may go; several at once.
        mutants: how many, or a `Choice` that says how they are made; 0 attacks the model alone.
        combine: what of the members is averaged: ``"gradients"`` (MUTEN), ``"logits"`` or ``"probabilities"``.
        count: inputs that are attacked, drawn at random; all if there are fewer.
        low: least value of an input's numbers; normalization belongs inside the model.
        high: largest value.
        baselines: whether the model is attacked alone, too.
        beside: other attacks on the model alone, for comparison: ``"fgsm, autoattack"``, or one by one.
        data: labeled inputs; the test set if not given.
        task: if ``subject`` is a model; by default classification by the largest output.
        forward: how the model is called, if ``subject`` is a model.
        seed: one seed, one answer.
        device: where to run; where the model is if not given.
        batch_size: inputs per pass.
        engine: where attacks run, each of them at each distance by itself: ``"serial"`` (here), ``"processes"``,
            ``"ray"``, or an engine.
        workers: how many processes.
        store: a file that remembers what is done: the same call, interrupted or not, never does it again.
        folder: where trained originals are kept.
        progress: told what is being done.

    Returns:
        A `Robustness`, the same on every engine and after any interruption, but for the times.

    >>> import torch
    >>> x = torch.rand(60, 2, generator=torch.Generator().manual_seed(0))
    >>> net = nn.Linear(2, 2, bias=False).eval()
    >>> with torch.no_grad():
    ...     _ = net.weight.copy_(torch.eye(2))
    >>> attack(net, "pgd(iterations=10)", eps=(0.1, 1.0), mutants=0, data=(x, x.argmax(1)))
    Robustness('pgd(iterations=10)', 0 mutants, fooled 0.1: 55%, 1: 100%)
    """
    chosen, others = as_attack(attack), as_attacks(beside)
    for other in others:
        if other.bounded != chosen.bounded:
            raise BadInput("beside", str(other), f"attacks that {'' if chosen.bounded else 'do not '}take a distance")
    choice = _choice(mutants)
    variants = _variants(chosen, 1 + choice.count, baselines) | {str(other): Variant(other) for other in others}
    check_whole("count", count)
    low, high = _range(low, high)
    verb = AttackModel(
        attack=chosen,
        eps=_distances(eps) if chosen.bounded else (None,),
        choice=choice,
        combine=combine,
        variants=variants,
        count=int(count),
        low=low,
        high=high,
    )
    runtime = Runtime(seed, device, batch_size, engine, workers, store, folder, progress or Silent())
    return run(verb, labeled(subject, data, task, forward), runtime)


def mutants_of(
    subject: Subject | nn.Module,
    mutants: int | Choice = 5,
    *,
    count: int = 500,
    data: Any = None,
    task: Task | None = None,
    forward: Forward | None = None,
    seed: int = 0,
    device: str | None = None,
    batch_size: int = 128,
    folder: Path | None = None,
) -> tuple[Mutant, ...]:
    """The mutants with which `attack` attacks, for an `Ensemble` of your own; the arguments are those of `attack`.

    >>> import torch
    >>> from mutiny.verbs.attack.adapters import EnsembleModule
    >>> from mutiny.verbs.attack.ensemble import Ensemble
    >>> x, net = torch.rand(60, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    >>> mutants = mutants_of(net, Choice(count=2, iterations=4, ratios=(0.2,)), data=(x, net(x).argmax(1)))
    >>> module = EnsembleModule(Ensemble(net, [mutant.patch for mutant in mutants]))
    >>> module(x).shape
    torch.Size([60, 3])
    """
    check_whole("count", count)
    runtime = Runtime(seed, device, batch_size, folder=folder)
    given = labeled(subject, data, task, forward)
    model = given.originals(1, runtime.seed, device, folder, runtime.progress)[0]
    attacked, _ = attacked_model(given, model, ModelState.of(model), count, runtime.seed, batch_size)
    return made_by(attacked, _choice(mutants))


def _variants(attack: Attack, members: int, baselines: bool) -> dict[str, Variant]:
    """Attacks by name; the model is a member itself."""
    found = {MUTANTS: Variant(attack, mutants=True)}
    if not baselines or members == 1:
        return found
    found[ORIGINAL] = Variant(attack)
    longer = attack.times(members)
    if longer is not None:
        found[BUDGET] = Variant(longer)
    if isinstance(attack, Pgd) and attack.step is not None:
        found[SANE] = Variant(replace(attack, step=None).times(members))
    return found


def _choice(mutants: int | Choice) -> Choice:
    return mutants if isinstance(mutants, Choice) else Choice(count=mutants)


def _distances(eps: float | Iterable[float]) -> tuple[float, ...]:
    several = isinstance(eps, Iterable) and not isinstance(eps, str) and getattr(eps, "ndim", 1) > 0
    found = [_number(one) for one in eps] if several else [_number(eps)]  # type: ignore[union-attr]
    if not found or not all(0 < one <= FARTHEST for one in found):
        raise BadInput("eps", repr(eps), f"distances above 0, at most {FARTHEST:g}: at 0 nothing changes")
    return tuple(found)


def _range(low: float, high: float) -> tuple[float, float]:
    ends = _number(low), _number(high)
    if not ends[0] < ends[1] or not all(map(isfinite, ends)):
        raise BadInput("low, high", (low, high), "the range of an input's numbers, two finite numbers, the least first")
    return ends


def _number(value: Any) -> float:
    """NaN for what is none; text and truth values are none."""
    try:
        return nan if isinstance(value, (str, bool, np.bool_)) else float(value)
    except (TypeError, ValueError, OverflowError):
        return nan
