"""The programs under test: small enough to be trained some thousand times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mutiny
from studies.subjects.eyes import eyes
from studies.subjects.spread import spread

MNIST, EYES = "mnist", "eyes"
ORDER = (MNIST, EYES)

Make = Callable[[Path | None], mutiny.Subject]


def mnist(data: Path | None) -> mutiny.Subject:
    """LeNet-5 on a twentieth of MNIST; right for about 95% of the test images."""
    usual = mutiny.load_subject("mnist", data)
    recipe = replace(_recipe(usual), epochs=6, batch_size=64, learning_rate=2e-3, schedule="none")
    train, test = spread(usual.train, 3000), spread(usual.test, 2000)
    return mutiny.Subject(task=usual.task, train=train, test=test, recipe=recipe, name=MNIST)


def gaze(_data: Path | None) -> mutiny.Subject:
    """A tenth of the rendered eyes; with a larger learning rate originals differ much more."""
    usual = eyes(train=800, test=400)
    recipe = replace(_recipe(usual), epochs=10, batch_size=32, learning_rate=2e-3, schedule="none")
    return mutiny.Subject(task=usual.task, train=usual.train, test=usual.test, recipe=recipe, name=EYES)


def smaller(subject: mutiny.Subject, train: int = 200, test: int = 60) -> mutiny.Subject:
    """A few inputs."""
    return mutiny.Subject(
        task=subject.task,
        train=spread(subject.train, train),
        test=spread(subject.test, test),
        recipe=replace(_recipe(subject), epochs=3, batch_size=32),
        forward=subject.forward,
        name=subject.name,
    )


def _recipe(subject: mutiny.Subject) -> mutiny.Recipe:
    if subject.recipe is None:
        raise mutiny.BadInput("subject", subject.name, "one with a recipe, because faults are made before training")
    return subject.recipe


SUBJECTS: dict[str, Make] = {MNIST: mnist, EYES: gaze}
