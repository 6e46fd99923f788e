"""`attack`: how robust is the model really?"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.attacks.base import Attack, Batch, answers
from mutiny.attacks.ensemble import Combine, Ensemble
from mutiny.attacks.methods import as_attack
from mutiny.attacks.mutants import Choice, Mutant, chosen, described
from mutiny.attacks.pgd import Pgd
from mutiny.attacks.result import BUDGET, MUTANTS, ORIGINAL, SANE, Assault, Level, Robustness
from mutiny.attacks.similarity import Representation
from mutiny.checks import check_whole
from mutiny.data import Data
from mutiny.data.balls import NORMS, distances
from mutiny.data.labels import unknown
from mutiny.data.nested import to_device
from mutiny.errors import BadInput
from mutiny.evaluation import steadiness
from mutiny.evaluation.exact import cast, check_rows, placement
from mutiny.evaluation.settling import settle
from mutiny.models import Forward, ModelState, ModelView, Patch
from mutiny.models.forward import steady
from mutiny.models.heard import Heard
from mutiny.models.state import check_untouched
from mutiny.progress import Progress, Silent
from mutiny.random import generator_for
from mutiny.records import versions
from mutiny.subjects import Subject
from mutiny.subjects.given import as_given
from mutiny.task import Classification, Task

Ints = npt.NDArray[np.int64]
PROBE_INPUTS, LOOKED_AT = 4, 500
"""Inputs that show a model's layers, and by which mutants are compared."""


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
    beside: Sequence[str | Attack] = (),
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
    with as many passes as the ensemble took; and, where a step was given, the same with a step that fits the distance.
    Whether mutants help is read from the second.

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
    way, choice = as_attack(attack), mutants if isinstance(mutants, Choice) else Choice(count=mutants)
    others = [as_attack(other) for other in beside]
    for other in others:
        if other.bounded != way.bounded:
            raise BadInput("beside", str(other), f"attacks that {'' if way.bounded else 'do not '}take a distance")
    steps = _distances(eps) if way.bounded else (None,)
    for name, value, least in (("count", count, 1), ("seed", seed, 0), ("batch_size", batch_size, 1)):
        check_whole(name, value, least)
    given = as_given(subject, data, None, task, forward, "data", pool=False)
    if not isinstance(given.task, Classification):
        raise BadInput("task", type(given.task).__name__, "Classification: regression has no answer to change")
    if unknown(given.data.targets, given.task):
        raise BadInput("data", "unknown labels", "labelled inputs")
    model = given.originals(1, seed, device, folder, progress)[0]
    state = ModelState.of(model)
    repeatable = steadiness.repeats(model, given.data, given.forward)
    steadiness.check_constant(model, state)
    settled = settle(given.task, [model], given.data, given.forward, batch_size)
    assert isinstance(settled, Classification)
    call = _logits(given.forward, settled)
    rng = generator_for(seed, "attack", "inputs")
    indices = np.sort(rng.permutation(len(given.data))[:count])
    field = _Field(model, given.data, settled, call, low, high, seed, batch_size)
    field.check(indices)
    progress.stage("making mutants", 1)
    made = chosen(field.view, choice, field.look(indices[:LOOKED_AT]), seed)
    progress.step()
    ensemble = Ensemble(model, [mutant.patch for mutant in made], call, combine)
    alone = Ensemble(model, [], call, combine)
    ways = _ways(way, ensemble, alone, baselines) | {str(other): (other, alone) for other in others}
    correct = field.right(indices)
    progress.stage("attacking", len(steps) * len(ways))
    levels = [
        Level(far, {name: field.assault(*one, indices, far, progress) for name, one in ways.items()}, correct)
        for far in steps
    ]
    check_untouched([model], [state])
    return Robustness(
        subject={
            "name": given.name,
            "model": type(model).__name__,
            "task": {"kind": "classification", "metric": settled.metric, **vars(settled)},
            "inputs": len(given.data),
            "from": given.source,
        },
        settings={
            "seed": seed,
            "count": len(indices),
            "range": [low, high],
            "combine": combine,
            "mutants": vars(choice),
            "batch_size": batch_size,
            "device": str(placement(model)[0]),
            "threads": torch.get_num_threads(),
        },
        versions=versions(),
        attack=str(way),
        mutants=tuple(described(made)),
        similarity=_similarity([field.original(indices[:LOOKED_AT]), *(mutant.features for mutant in made)]),
        levels=tuple(levels),
        indices=indices,
        inputs=torch.cat([inputs.cpu() for inputs, _, _ in field.batches(indices)]),
        labels=field.labels.numpy()[indices],
        notes=tuple(_notes(levels, made, repeatable)),
        seconds=time.monotonic() - start,
        created=created,
    )


class _Field:
    """The model and the inputs under attack."""

    def __init__(
        self,
        model: nn.Module,
        data: Data,
        task: Classification,
        call: Forward,
        low: float,
        high: float,
        seed: int,
        batch_size: int,
    ) -> None:
        if not low < high:
            raise BadInput("low, high", (low, high), "the range of an input's numbers, the least first")
        self.model, self.data, self.call, self.seed, self.size = model, data, call, seed, batch_size
        self.low, self.high = float(low), float(high)
        self.labels = torch.from_numpy(task.check_targets(data.targets, "data"))
        device, dtype = placement(model)
        probe = cast(next(iter(data.batches(PROBE_INPUTS, device))), dtype)
        if not isinstance(probe, Tensor) or not probe.is_floating_point():
            raise BadInput("inputs", type(probe).__name__, "one tensor of real numbers per input, which can be changed")
        self.view = ModelView.of(model, probe, call)

    def batches(self, indices: Ints) -> Iterator[tuple[Tensor, Tensor, int]]:
        """Inputs, labels, and the number of the first."""
        device, dtype = placement(self.model)
        for at in range(0, len(indices), self.size):
            some = indices[at : at + self.size]
            inputs = cast(to_device(self.data.read(some), device), dtype)
            yield inputs, self.labels[torch.from_numpy(some)].to(device), at

    def check(self, indices: Ints) -> None:
        """An error if inputs are not in the stated range."""
        ends = [(float(inputs.min()), float(inputs.max())) for inputs, _, _ in self.batches(indices)]
        least, most = min(low for low, _ in ends), max(high for _, high in ends)
        if least < self.low or most > self.high:
            raise BadInput(
                "inputs", f"numbers from {least:.4g} to {most:.4g}", f"numbers from {self.low:g} to {self.high:g}",
                "State their range with low= and high=; put normalisation into the model.",
            )  # fmt: skip

    def right(self, indices: Ints) -> npt.NDArray[np.bool_]:
        """Which answers are right before any attack."""
        with steady(), torch.inference_mode():
            found = [answers(self._said(inputs)) == labels for inputs, labels, _ in self.batches(indices)]
        return torch.cat(found).cpu().numpy()

    def _said(self, inputs: Tensor) -> Tensor:
        outputs = self.call(self.model, inputs)
        check_rows(outputs, len(inputs))
        return outputs

    def look(self, indices: Ints) -> Any:
        """What mutants are compared by: features before the output layer, and accuracy."""
        output = [layer for layer in self.view.layers if layer.output] or [*self.view.layers]

        def seen(patch: Patch) -> tuple[Tensor, float]:
            features, right = [], []
            with (
                patch.applied(self.model, self.call) as call,
                torch.inference_mode(),
                Heard(self.view, output[-1]) as heard,
            ):
                for inputs, labels, _ in self.batches(indices):
                    right.append(answers(call(inputs)) == labels)
                    features.append(heard.last(len(inputs)).float())
            return torch.cat(features), float(torch.cat(right).double().mean())

        return seen

    def original(self, indices: Ints) -> Representation:
        """Features of the model itself."""
        return Representation.of(self.look(indices)(Patch(()))[0])

    def assault(self, way: Attack, ensemble: Ensemble, indices: Ints, eps: float | None, progress: Progress) -> Assault:
        """One attack on all inputs."""
        start, passes = time.monotonic(), 0
        new, said, fooled, far = [], [], [], []
        for inputs, labels, at in self.batches(indices):
            found = way.attacked(ensemble, Batch(inputs, labels, at, self.low, self.high, self.seed), eps)
            with steady(), torch.inference_mode():
                said.append(answers(self._said(found.inputs)).cpu().numpy())
            fooled.append(said[-1] != labels.cpu().numpy())
            far.append(distances(inputs.cpu(), found.inputs.cpu()))
            new.append(found.inputs.detach().cpu())
            passes += found.passes
        progress.step()
        return Assault(
            str(way), torch.cat(new), np.concatenate(said), np.concatenate(fooled),
            {str(norm): np.concatenate([one[norm] for one in far]) for norm in NORMS}, passes, time.monotonic() - start,
        )  # fmt: skip


def _ways(way: Attack, ensemble: Ensemble, alone: Ensemble, baselines: bool) -> dict[str, tuple[Attack, Ensemble]]:
    found = {MUTANTS: (way, ensemble)}
    if not baselines or len(ensemble) == 1:
        return found
    found |= {ORIGINAL: (way, alone), BUDGET: (way.times(len(ensemble)), alone)}
    if isinstance(way, Pgd) and way.step is not None:
        found[SANE] = (replace(way, step=None).times(len(ensemble)), alone)
    return found


def _logits(forward: Forward, task: Classification) -> Forward:
    """Outputs as logits with a column for each class."""

    def call(model: nn.Module, inputs: Any) -> Tensor:
        outputs = forward(model, inputs)
        if task.outputs == "logits" and outputs.ndim == 2 and outputs.shape[1] > 1:
            return outputs
        return task.probabilities(outputs).clamp_min(1e-12).log()

    return call


def _distances(eps: float | Iterable[float]) -> tuple[float, ...]:
    try:
        found = tuple(float(one) for one in (eps if isinstance(eps, Iterable) else (eps,)))
    except (TypeError, ValueError):
        found = ()
    if not found or not all(np.isfinite(one) and one > 0 for one in found):
        raise BadInput("eps", repr(eps), "distances above 0: at 0 nothing changes")
    return found


def _similarity(each: Sequence[Representation]) -> npt.NDArray[np.float64]:
    return np.array([[one.cka(other) for other in each] for one in each])


def _notes(levels: Sequence[Level], made: Sequence[Mutant], repeatable: bool) -> Iterator[str]:
    correct = levels[0].correct
    if not correct.any():
        yield "Every answer is wrong before the attack, so there is nothing to lose."
    bad = [mutant for mutant in made if mutant.accuracy < 0.5 * max(correct.mean(), 1e-9)]
    if bad:
        verb, them = ("has", "it") if len(bad) == 1 else ("have", "them")
        yield f"{len(bad)} of {len(made)} mutants {verb} less than half of the accuracy: a floor= would refuse {them}."
    if not repeatable:
        yield "The model answers differently when it is asked twice (dropout or noise in its forward pass?)."
