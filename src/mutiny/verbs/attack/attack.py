"""`attack`: how robust is the model? Signature, checks of arguments, and the attacks to compare."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import isfinite, nan
from pathlib import Path
from typing import Any, get_args

import numpy as np
from torch import nn

from mutiny.campaigns.run import Engine, Progress, Runtime, Store, run
from mutiny.core.checks import check_flag, check_one_of, check_whole, is_number
from mutiny.core.errors import BadInput
from mutiny.models import Forward
from mutiny.subjects import Subject
from mutiny.subjects.tasks import Task
from mutiny.verbs.attack.base import Attack
from mutiny.verbs.attack.ensemble import Combine
from mutiny.verbs.attack.methods import as_attack, as_attacks
from mutiny.verbs.attack.mutants import Choice, Mutant
from mutiny.verbs.attack.mutants_verb import CreateMutants
from mutiny.verbs.attack.pgd import Pgd
from mutiny.verbs.attack.result import BUDGET, MUTANTS, ORIGINAL, SANE, Robustness
from mutiny.verbs.attack.setup import labeled
from mutiny.verbs.attack.verb import AttackModel
from mutiny.verbs.attack.worker import Variant

BATCH = 128
"""Inputs per forward pass, unless the user says otherwise."""
FARTHEST = 1e30
"""Largest distance accepted; squares of larger ones overflow in single precision."""


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
    batch_size: int | None = None,
    threads: int = 1,
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Robustness:
    """Attacks a model together with mutants of it (MUTEN), and the model alone for a fair comparison.

    Success is judged on the model alone. The attack with mutants is compared with the same attack on the model alone;
    with that attack with as many passes as the ensemble uses, if the attack can use them (`Attack.times`); and, if a
    step was given, with a step that fits the distance. The second comparison decides whether mutants help: PGD and FGSM
    use the passes for more attempts, alternately with the cross-entropy and the margin of logits, so that mutants do
    not win only because one loss is weak; Carlini and Wagner's attack uses them for more iterations.

    Args:
        subject: Subject to test, or a model in evaluation mode with ``data``. It is never changed.
        attack: Attack: ``"pgd"``, ``"fgsm"``, ``"carlini"`` or ``"autoattack"``, with optional parameters such as
            ``"pgd(norm=l2, iterations=20)"``, or an instance.
        eps: Largest distance of an adversarial input from its original; one or several.
        mutants: Number of mutants, or a `Choice` of how to create them; 0 for the model alone.
        combine: What is averaged over the members: ``"gradients"`` (MUTEN), ``"logits"`` or ``"probabilities"``.
        count: Number of inputs to attack, drawn at random; all if there are fewer.
        low: Smallest value of an input; normalization belongs inside the model.
        high: Largest value of an input.
        baselines: Whether to attack the model alone, too.
        beside: Further attacks on the model alone, for comparison: ``"fgsm, autoattack"``, or several instances.
        data: Labeled inputs; the test set by default.
        task: Task, if ``subject`` is a model; classification by the largest output by default.
        forward: Function that calls the model, if ``subject`` is a model.
        seed: Seed of everything random.
        device: Torch device; the device of the models by default.
        batch_size: Inputs per forward pass; 128 by default.
        threads: Torch threads of each job. Small networks are fastest with one; results may differ by rounding.
        engine: Engine that runs the attacks, one job per attack and distance: ``"serial"``, ``"processes"``, ``"ray"``,
            or an instance.
        workers: Number of worker processes.
        store: File, or open store, that keeps finished jobs and results, so that the same call resumes.
        folder: Folder for trained originals.
        progress: Receiver of progress messages.

    Returns:
        A `Robustness`. Apart from times, it is the same on every engine and after any interruption.

    >>> import torch
    >>> x = torch.rand(60, 2, generator=torch.Generator().manual_seed(0))
    >>> net = nn.Linear(2, 2, bias=False).eval()
    >>> with torch.no_grad():
    ...     _ = net.weight.copy_(torch.eye(2))
    >>> attack(net, "pgd(iterations=10)", eps=(0.1, 1.0), mutants=0, data=(x, x.argmax(1)))
    Robustness('pgd(iterations=10)', 0 mutants, fooled 0.1: 55%, 1: 100%)
    """
    chosen, others = as_attack(attack), as_attacks(beside, "beside")
    for other in others:
        if other.bounded != chosen.bounded:
            raise BadInput("beside", str(other), f"attacks that {'' if chosen.bounded else 'do not '}take a distance")
    check_flag("baselines", baselines)
    check_one_of("combine", combine, get_args(Combine))
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
    size = BATCH if batch_size is None else batch_size
    runtime = Runtime(seed, device, size, threads, engine, workers, store, folder, progress)
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
    batch_size: int | None = None,
    threads: int = 1,
    folder: str | Path | None = None,
) -> tuple[Mutant, ...]:
    """Returns the mutants that `attack` uses, for an `Ensemble` of your own; the arguments are those of `attack`.

    >>> import torch
    >>> from mutiny import Ensemble, EnsembleModule
    >>> x, net = torch.rand(60, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    >>> mutants = mutants_of(net, Choice(count=2, iterations=4, ratios=(0.2,)), data=(x, net(x).argmax(1)))
    >>> module = EnsembleModule(Ensemble(net, [mutant.patch for mutant in mutants]))
    >>> module(x).shape
    torch.Size([60, 3])
    """
    check_whole("count", count)
    verb = CreateMutants(_choice(mutants), int(count))
    runtime = Runtime(seed, device, BATCH if batch_size is None else batch_size, threads, folder=folder)
    return run(verb, labeled(subject, data, task, forward), runtime)


def _variants(attack: Attack, members: int, baselines: bool) -> dict[str, Variant]:
    """The attack with mutants and its baselines, by name; the model counts as a member."""
    variants = {MUTANTS: Variant(attack, mutants=True)}
    if not baselines or members == 1:
        return variants
    variants[ORIGINAL] = Variant(attack)
    longer = attack.times(members)
    if longer is not None:
        variants[BUDGET] = Variant(longer)
    if isinstance(attack, Pgd) and attack.step is not None:
        variants[SANE] = Variant(replace(attack, step=None).times(members))
    return variants


def _choice(mutants: int | Choice) -> Choice:
    return mutants if isinstance(mutants, Choice) else Choice(count=mutants)


def _distances(eps: float | Iterable[float]) -> tuple[float, ...]:
    # An array without dimensions is one number, although it counts as iterable.
    dimensions = getattr(eps, "ndim", 1)
    values = list(eps) if isinstance(eps, Iterable) and not isinstance(eps, str) and dimensions > 0 else [eps]
    distances = [_number(value) for value in values]
    wrong = [number for number, distance in enumerate(distances) if not 0 < distance <= FARTHEST]
    if wrong or not distances:
        value = values[wrong[0]] if wrong else eps
        expected = f"distances above 0, at most {FARTHEST:g}: at 0 nothing changes"
        raise BadInput("eps", f"{value:g}" if is_number(value) else repr(value), expected)
    return tuple(distances)


def _range(low: float, high: float) -> tuple[float, float]:
    ends = _number(low), _number(high)
    for name, given, end in (("low", low, ends[0]), ("high", high, ends[1])):
        if not isfinite(end):
            raise BadInput(name, repr(given), "a finite number")
    if not ends[0] < ends[1]:
        raise BadInput("low", ends[0], f"less than high={ends[1]}")
    return ends


def _number(value: Any) -> float:
    """The value as a float; NaN if it is not a number. Text and booleans are not numbers."""
    try:
        return nan if isinstance(value, (str, bool, np.bool_)) else float(value)
    except (TypeError, ValueError, OverflowError):
        return nan
