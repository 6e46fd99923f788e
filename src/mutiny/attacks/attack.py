"""`attack`: how robust is the model really?"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import isfinite, nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from mutiny.attacks.base import Attack
from mutiny.attacks.ensemble import Combine, Ensemble
from mutiny.attacks.field import Field, copying
from mutiny.attacks.methods import as_attack
from mutiny.attacks.mutants import Choice, Mutant, chosen, described
from mutiny.attacks.pgd import Pgd
from mutiny.attacks.result import BUDGET, MUTANTS, ORIGINAL, SANE, Level, Robustness
from mutiny.attacks.similarity import Representation
from mutiny.checks import check_whole
from mutiny.data.labels import unknown
from mutiny.errors import BadInput
from mutiny.evaluation import steadiness
from mutiny.evaluation.exact import placement
from mutiny.evaluation.settling import settle
from mutiny.models import Forward, ModelState, default_forward
from mutiny.models.state import check_untouched
from mutiny.progress import Progress, Silent
from mutiny.random import generator_for
from mutiny.records import versions
from mutiny.subjects import Subject
from mutiny.subjects.given import Given, as_given
from mutiny.task import Classification, Task

LOOKED_AT = 500
"""Inputs by which mutants are compared."""
FARTHEST = 1e30
"""Distances beyond this are a mistake, and overflow in single precision."""
NOTABLE = 0.01
"""Share of inputs without a gradient that is worth a note."""


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
    beside: str | Sequence[str | Attack] = (),
    data: Any = None,
    task: Task | None = None,
    forward: Forward | None = None,
    seed: int = 0,
    device: str | None = None,
    batch_size: int = 128,
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
        low: least value of an input's numbers; normalisation belongs inside the model.
        high: largest value.
        baselines: whether the model is attacked alone, too.
        beside: other attacks on the model alone, for comparison: ``("autoattack",)``.
        data: labelled inputs; the test set if not given.
        task: if ``subject`` is a model; by default classification by the largest output.
        forward: how the model is called, if ``subject`` is a model.
        seed: one seed, one answer.
        device: where to run; where the model is if not given.
        batch_size: inputs per pass.
        folder: where trained originals are kept.
        progress: told what is being done.

    >>> x = torch.rand(60, 2, generator=torch.Generator().manual_seed(0))
    >>> net = nn.Linear(2, 2, bias=False).eval()
    >>> with torch.no_grad():
    ...     _ = net.weight.copy_(torch.eye(2))
    >>> attack(net, "pgd(iterations=10)", eps=(0.1, 1.0), mutants=0, data=(x, x.argmax(1)))
    Robustness('pgd(iterations=10)', 0 mutants, fooled 0.1: 55%, 1: 100%)
    """
    start, created = time.monotonic(), time.strftime("%Y-%m-%dT%H:%M:%S%z")
    progress = progress or Silent()
    way, others = as_attack(attack), [as_attack(one) for one in ([beside] if isinstance(beside, str) else beside)]
    for other in others:
        if other.bounded != way.bounded:
            raise BadInput("beside", str(other), f"attacks that {'' if way.bounded else 'do not '}take a distance")
    steps, choice, ends = _distances(eps) if way.bounded else (None,), _choice(mutants), _range(low, high)
    scene = _scene(subject, data, task, forward, count, seed, device, batch_size, folder, progress)
    field, model = scene.field, scene.field.model
    field.low, field.high = ends
    field.check()
    progress.stage("making mutants", 1)
    made = scene.mutants(choice)
    progress.step()
    ensemble, alone = (Ensemble(model, [mutant.patch for mutant in some], field.logits, combine) for some in (made, ()))
    ways = _ways(way, ensemble, alone, baselines) | {str(other): (other, alone) for other in others}
    correct = field.right()
    masked = field.masked(way, alone, correct)
    progress.stage("attacking", len(steps) * len(ways))
    levels = []
    for far in steps:
        assaults = {}
        for name, one in ways.items():
            assaults[name] = field.assault(*one, far)
            progress.step()
        levels.append(Level(far, assaults, correct))
    check_untouched([model], [scene.state])
    return Robustness(
        subject={
            "name": scene.given.name,
            "model": type(model).__name__,
            "task": {"kind": "classification", "metric": scene.task.metric, **vars(scene.task)},
            "inputs": len(scene.given.data),
            "from": scene.given.source,
        },
        settings={
            "seed": seed,
            "count": len(field.indices),
            "range": list(ends),
            "combine": combine,
            "mutants": vars(choice),
            "batch_size": batch_size,
            "device": str(placement(model)[0]),
            "threads": torch.get_num_threads(),
        },
        versions=versions(),
        attack=str(way),
        mutants=tuple(described(made)),
        similarity=_similarity(field, made),
        levels=tuple(levels),
        indices=field.indices,
        inputs=field.inputs(),
        labels=field.labels.numpy()[field.indices],
        notes=(
            *_data_notes(scene, correct),
            *_mutant_notes(scene, made, correct),
            *_gradient_notes(way, masked, ensemble.undefined + alone.undefined),
        ),
        seconds=time.monotonic() - start,
        created=created,
    )


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

    >>> from mutiny.attacks.adapters import EnsembleModule
    >>> x, net = torch.rand(60, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    >>> mutants = mutants_of(net, Choice(count=2, iterations=4, ratios=(0.2,)), data=(x, net(x).argmax(1)))
    >>> module = EnsembleModule(Ensemble(net, [mutant.patch for mutant in mutants]))
    >>> module(x).shape
    torch.Size([60, 3])
    """
    scene = _scene(subject, data, task, forward, count, seed, device, batch_size, folder, Silent())
    return scene.mutants(_choice(mutants))


class _Scene(NamedTuple):
    """Who is attacked, before anything is known about how."""

    given: Given
    task: Classification
    field: Field
    state: ModelState
    repeatable: bool

    def mutants(self, choice: Choice) -> tuple[Mutant, ...]:
        if not choice.count:
            return ()  # some models can be attacked, but have no layers of which to make mutants
        return chosen(self.field.view, choice, self.field.look(self.field.indices[:LOOKED_AT]), self.field.seed)


def _scene(
    subject: Subject | nn.Module,
    data: Any,
    task: Task | None,
    forward: Forward | None,
    count: int,
    seed: int,
    device: str | None,
    batch_size: int,
    folder: Path | None,
    progress: Progress,
) -> _Scene:
    for name, value, least in (("count", count, 1), ("seed", seed, 0), ("batch_size", batch_size, 1)):
        check_whole(name, value, least)
    if not isinstance(subject, Subject):
        forward = copying(forward or default_forward)
    given = as_given(subject, data, None, task, forward, "data", pool=False)
    if not isinstance(given.task, Classification):
        raise BadInput("task", type(given.task).__name__, "Classification: regression has no answer to change")
    if unknown(given.data.targets, given.task):
        raise BadInput("data", "unknown labels", "labelled inputs")
    model = given.originals(1, seed, device, folder, progress)[0]
    state, call = ModelState.of(model), copying(given.forward)
    repeatable = steadiness.repeats(model, given.data, call)
    steadiness.check_constant(model, state)
    settled = settle(given.task, [model], given.data, call, batch_size)
    assert isinstance(settled, Classification)
    indices = np.sort(generator_for(seed, "attack", "inputs").permutation(len(given.data))[:count])
    field = Field(model, given.data, settled, given.forward, indices, seed, batch_size)
    return _Scene(given, settled, field, state, repeatable)


def _ways(way: Attack, ensemble: Ensemble, alone: Ensemble, baselines: bool) -> dict[str, tuple[Attack, Ensemble]]:
    found = {MUTANTS: (way, ensemble)}
    if not baselines or len(ensemble) == 1:
        return found
    found[ORIGINAL] = (way, alone)
    longer = way.times(len(ensemble))
    if longer is not None:
        found[BUDGET] = (longer, alone)
    if isinstance(way, Pgd) and way.step is not None:
        found[SANE] = (replace(way, step=None).times(len(ensemble)), alone)
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


def _similarity(field: Field, made: Sequence[Mutant]) -> npt.NDArray[np.float64]:
    if not made:
        return np.ones((1, 1))
    each: list[Representation] = [field.original(field.indices[:LOOKED_AT]), *(mutant.features for mutant in made)]
    return np.array([[one.cka(other) for other in each] for one in each])


def _data_notes(scene: _Scene, correct: npt.NDArray[np.bool_]) -> Iterator[str]:
    originals = len(scene.given.subject.models) if scene.given.subject else 1
    if originals > 1:
        yield f"The subject has {originals} originals; only the first is attacked."
    if not correct.any():
        yield "Every answer is wrong before the attack, so there is nothing to lose."
    if not scene.repeatable:
        yield "The model answers differently when it is asked twice (dropout or noise in its forward pass?)."


def _mutant_notes(scene: _Scene, made: Sequence[Mutant], correct: npt.NDArray[np.bool_]) -> Iterator[str]:
    bad = [mutant for mutant in made if mutant.accuracy < 0.5 * max(correct.mean(), 1e-9)]
    if bad:
        verb, them = ("has", "it") if len(bad) == 1 else ("have", "them")
        yield f"{len(bad)} of {len(made)} mutants {verb} less than half of the accuracy: a floor= would refuse {them}."
    if made and scene.field.listened is None:
        yield "The output layer does not read one row for each input, so mutants are compared by their answers."


def _gradient_notes(way: Attack, masked: float, undefined: int) -> Iterator[str]:
    if masked >= NOTABLE:
        margin = "loss=margin or " * (getattr(way, "loss", "") == "cross-entropy")
        advice = f"; try {margin}autoattack beside" if way.bounded else ""
        yield (
            f"{masked:.0%} of the correct inputs have no gradient in the original: success may be low because of "
            f"masked gradients, not robustness{advice}."
        )
    if undefined:
        yield f"Gradients were not finite {undefined:,} times (one input in one pass); such numbers count as 0."
