"""What attacking costs: against the passes that it cannot do without, against ART, and against torchattacks.

python -m benchmarks.attack [--quick] [--json FILE] [--data DIR]

With --data the inputs are MNIST's, otherwise digits drawn from scikit-learn's. Both sides have one thread and the same
images, iterations and steps; seconds are those of the processor. ART and torchattacks are compared with if they are
installed: pip install "mutiny-nn[bench]".
"""

from __future__ import annotations

import copy
import importlib.util
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.against_dnn_tip import Results
from benchmarks.command import run
from benchmarks.subjects import bench
from benchmarks.timing import entry, ratio, seconds
from mutiny.faults import OPERATORS
from mutiny.models import ModelView, Patch
from mutiny.verbs.attack.base import Batch
from mutiny.verbs.attack.carlini import Carlini
from mutiny.verbs.attack.ensemble import Ensemble
from mutiny.verbs.attack.ensemble_member import with_weights
from mutiny.verbs.attack.pgd import Pgd

MISSING = '{} is not installed, so it is not compared with: pip install "mutiny-nn[bench]"'
CODES = ("GF", "WS", "NS", "NAI", "GF")
EPS = 0.3
FLOOR_GOAL, ART_GOAL, CARLINI_GOAL = 1.1, 2.5, 15.0


@dataclass(frozen=True)
class Sizes:
    """Images and iterations of both attacks, and how often they are timed."""

    images: int
    iterations: int
    nearest: int
    rounds: int


FULL = Sizes(256, 40, 32, 5)
QUICK = Sizes(128, 10, 16, 3)


def measure(quick: bool, data: Path | None) -> Results:
    torch.set_num_threads(1)
    sizes = QUICK if quick else FULL
    subject = bench("lenet5", 1, 4_000, 4, data)
    model = subject.models[0]
    images = subject.train.read(np.arange(max(sizes.images, sizes.nearest)))
    labels = torch.from_numpy(subject.train.targets[: len(images)]).long()
    results = descended(model, images[: sizes.images], labels[: sizes.images], sizes)
    return results | nearest(model, images[: sizes.nearest], labels[: sizes.nearest])


def mutated(model: nn.Module, images: Tensor) -> list[Patch]:
    """Five mutants that differ from the model in weights."""
    view = ModelView.of(model, images[:4])
    return [OPERATORS[code](ratio=0.02).patch(view, np.random.default_rng(at)) for at, code in enumerate(CODES)]


# PGD on an ensemble


def descended(model: nn.Module, images: Tensor, labels: Tensor, sizes: Sizes) -> Results:
    """PGD on the model and five mutants of it."""
    patches = mutated(model, images)
    ensemble, members = Ensemble(model, patches), [model, *(with_weights(model, patch) for patch in patches)]
    attack = Pgd(iterations=sizes.iterations, step=2.5 * EPS / sizes.iterations)
    batch = Batch(images, labels, 0, 0.0, 1.0, 0)

    def ours() -> Tensor:
        return attack.attacked(ensemble, batch, EPS).inputs

    def floor() -> Tensor:
        return plain(members, images, labels, sizes.iterations)

    name = f"pgd: {len(members)} models, {len(images)} images, {sizes.iterations} iterations"
    passes = len(members) * len(images) * sizes.iterations
    faster = ratio(floor, ours, sizes.rounds, time.process_time)
    speed = passes / seconds(ours, time.process_time)
    results = {f"{name}, as a multiple of plain passes ({speed:,.0f} a second)": entry(1 / faster, FLOOR_GOAL, "lower")}
    theirs = art_pgd(members, images, labels, sizes.iterations)
    if theirs is not None:
        results[f"{name}, against ART"] = entry(ratio(theirs, ours, 1, time.process_time), ART_GOAL)
    return results


def plain(members: list[nn.Module], images: Tensor, labels: Tensor, iterations: int) -> Tensor:
    """The obvious loop: a forward and a backward pass of every model in every iteration, and nothing else."""
    now, step = images, 2.5 * EPS / iterations
    for _ in range(iterations):
        moving = now.clone().requires_grad_()
        total = torch.zeros_like(moving)
        for member in members:
            loss = functional.cross_entropy(member(moving), labels, reduction="sum")
            total += torch.autograd.grad(loss, moving)[0]
        now = torch.minimum(torch.maximum(now + step * total.sign(), images - EPS), images + EPS).clamp(0, 1)
    return now


def art_pgd(members: list[nn.Module], images: Tensor, labels: Tensor, iterations: int) -> Callable[[], object] | None:
    """The same by ART, if it is there."""
    if not installed("art"):
        return None
    from art.attacks.evasion import ProjectedGradientDescentNumpy
    from art.estimators.classification import EnsembleClassifier

    ensemble: Any = EnsembleClassifier(
        [art_model(member, images) for member in members], channels_first=True, clip_values=(0, 1)
    )
    attack = ProjectedGradientDescentNumpy(
        ensemble, eps=EPS, eps_step=2.5 * EPS / iterations, max_iter=iterations, batch_size=len(images), verbose=False
    )
    return lambda: attack.generate(images.numpy(), labels.numpy())


# The nearest input


def nearest(model: nn.Module, images: Tensor, labels: Tensor) -> Results:
    """Carlini and Wagner's attack: time, success, and how near."""
    attack, ensemble = Carlini(), Ensemble(model, [])

    def ours() -> Tensor:
        return attack.nearest(ensemble, images, labels, 0.0, 1.0).inputs

    name = f"carlini: {len(images)} images, {attack.iterations} iterations"
    results: Results = {}
    for peer, theirs in (
        ("ART", art_carlini(model, images, attack)),
        ("torchattacks", attacks_carlini(model, images, labels)),
    ):
        if theirs is None:
            continue
        slow, found = timed(theirs)
        won, lost = fooled(model, images, labels, ours()), fooled(model, images, labels, found)
        both = won.isfinite() & lost.isfinite()
        nearer = float((won[both].median() / lost[both].median()) if both.any() else torch.inf)
        told = f"{name}; success {won.isfinite().double().mean():.0%} and {lost.isfinite().double().mean():.0%}"
        faster = slow / seconds(ours, time.process_time)
        results[f"{told}, against {peer}"] = entry(faster, CARLINI_GOAL if peer == "ART" else 0.0)
        results[f"{name}: median L2 where both succeed, as a multiple of that of {peer}"] = entry(nearer, 1.0, "lower")
    return results


def timed(call: Callable[[], Tensor]) -> tuple[float, Tensor]:
    """Seconds and result of one call: ART's attack takes minutes, and once is enough."""
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def fooled(model: nn.Module, images: Tensor, labels: Tensor, new: Tensor) -> Tensor:
    """How far images that are fooled are from what they were, ``(n,)``; infinite for the others."""
    with torch.inference_mode():
        lost = model(new).argmax(dim=1) != labels
    return (new - images).flatten(1).norm(dim=1).where(lost, torch.inf)


def art_carlini(model: nn.Module, images: Tensor, ours: Carlini) -> Callable[[], Tensor] | None:
    if not installed("art"):
        return None
    from art.attacks.evasion import CarliniL2Method

    attack = CarliniL2Method(
        art_model(model, images), learning_rate=ours.rate, max_iter=ours.iterations, binary_search_steps=ours.searches,
        initial_const=ours.constant, batch_size=len(images), verbose=False,
    )  # fmt: skip
    return lambda: torch.from_numpy(attack.generate(images.numpy()))


def attacks_carlini(model: nn.Module, images: Tensor, labels: Tensor) -> Callable[[], Tensor] | None:
    """torchattacks has one weight for all images and no search for it."""
    if not installed("torchattacks"):
        return None
    import torchattacks

    attack = torchattacks.CW(copy.deepcopy(model), c=1, steps=Carlini().iterations, lr=Carlini().rate)
    return lambda: attack(images, labels).detach()


def art_model(model: nn.Module, images: Tensor) -> Any:
    from art.estimators.classification import PyTorchClassifier

    return PyTorchClassifier(
        copy.deepcopy(model),
        loss=nn.CrossEntropyLoss(),
        input_shape=tuple(images.shape[1:]),
        nb_classes=10,
        clip_values=(0, 1),
    )


def installed(name: str) -> bool:
    if importlib.util.find_spec(name) is None:
        print(MISSING.format({"art": "ART"}.get(name, name)))
        return False
    warnings.filterwarnings("ignore")
    return True


if __name__ == "__main__":
    run("attack", measure)
