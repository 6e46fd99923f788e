"""What the benchmarks evaluate: originals trained once, and their inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from torch import nn

import mutiny
from mutiny.core.random import generator_for
from mutiny.subjects import Subject
from mutiny.subjects.architectures import LeNet5, MnistCnn
from mutiny.subjects.data import Data, as_data
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training import Recipe

NETWORKS = {"lenet5": LeNet5, "cnn": MnistCnn}


@dataclass(frozen=True)
class Bench:
    """Originals of one architecture and the inputs to evaluate them on."""

    name: str
    models: list[nn.Module]
    train: Data
    loaded: int

    @property
    def bytes(self) -> int:
        """Memory of all inputs that were loaded, and of those among them that are evaluated if not all are."""
        return (self.loaded + len(self.train) * (len(self.train) < self.loaded)) * 28 * 28 * 4


def bench(network: str, originals: int, inputs: int, epochs: int | None, data: Path | None) -> Bench:
    """Real MNIST if there is a data folder, otherwise digits drawn from scikit-learn's.

    With ``epochs`` the originals are trained for so many on just these inputs; without, as the subject says.
    """
    if data is None:
        train = drawn_digits(inputs)
        recipe = Recipe(NETWORKS[network], batch_size=128, learning_rate=4e-3, schedule="onecycle", epochs=epochs or 4)
        subject = Subject(task=Classification(10, "logits"), train=train, test=train, recipe=recipe, name=network)
        loaded = inputs
    else:
        subject = mutiny.load_subject(f"mnist/{network}", data)
        loaded = len(subject.train) + len(subject.test)
        if epochs is not None:
            some = subject.train.subset(generator_for(0, "benchmark").permutation(len(subject.train))[:inputs])
            recipe = replace(subject.recipe, epochs=epochs)
            subject = Subject(task=subject.task, train=some, test=some, recipe=recipe, name=network)
    models = subject.originals(originals, seed=0)
    train = subject.train if inputs >= len(subject.train) else subject.train.subset(np.arange(inputs))
    return Bench(network, models, train, loaded)


def drawn_digits(count: int) -> Data:
    """scikit-learn's 8x8 digits, enlarged to 28x28, shifted, and with noise: ``count`` of them."""
    from sklearn.datasets import load_digits

    bunch, rng = load_digits(), generator_for(0, "drawn digits")
    chosen = rng.integers(len(bunch.target), size=count)
    large = np.kron(bunch.images[chosen] / 16.0, np.ones((1, 3, 3)))
    images = rng.normal(0, 0.25, (count, 28, 28))
    for image, digit, (down, right) in zip(images, large, rng.integers(0, 5, (count, 2)), strict=True):
        image[down : down + 24, right : right + 24] += digit
    return as_data((images.astype(np.float32)[:, None], bunch.target[chosen]), "train")
