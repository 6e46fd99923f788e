"""What is attacked, and how strongly: the paper's settings, and how many images of each data set are affordable."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mutiny
from studies.command import Make
from studies.deepfault.subjects import SUBJECTS as DEEPFAULT
from studies.nss.subjects import SUBJECTS as NSS

MNIST, CNN, RESNET = "mnist-lenet5", "cifar10-cnn", "cifar10-resnet20"


@dataclass(frozen=True)
class Target:
    """A network under attack.

    Attributes:
        title: for people.
        make: the subject from the folder of data.
        iterations: of PGD.
        levels: the paper's distances for PGD.
        constants: the paper's first constants for Carlini and Wagner.
        level: of Fig. 3 and Table III.
        constant: of these; here alone the best constant is searched, all others are tried as they are.
        images: attacked by PGD in each round.
        few: of them, attacked by Carlini and Wagner.
        rounds: at most so many.
        whole: whether it is in all parts; the paper has ResNet-20 in Fig. 2 only.
    """

    title: str
    make: Make
    iterations: int
    levels: tuple[str, ...]
    constants: tuple[str, ...]
    level: str
    constant: str
    images: int
    few: int
    rounds: int
    whole: bool = True


def lenet(data: Path | None) -> mutiny.Subject:
    """mutiny's own LeNet-5 for MNIST."""
    return named(mutiny.load_subject("mnist/lenet5", data), MNIST)


def cnn(data: Path | None) -> mutiny.Subject:
    """A network of the DeepFault study: four convolutions, two poolings, a dense layer."""
    return named(DEEPFAULT["cifar-1x512"](data), CNN)


def named(subject: mutiny.Subject, name: str) -> mutiny.Subject:
    """The subject under this study's name for it."""
    subject.name = name
    return subject


SMALL = ("0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4")
PIXELS = tuple(f"{number}/255" for number in range(2, 15, 2))
TARGETS = {
    MNIST: Target(
        "MNIST, LeNet-5",
        lenet,
        iterations=40,
        levels=SMALL,
        constants=tuple(map(str, range(7, 14))),
        level="0.1",
        constant="10",
        images=100,
        few=20,
        rounds=100,
    ),
    CNN: Target(
        "CIFAR-10, CNN",
        cnn,
        iterations=20,
        levels=PIXELS,
        constants=SMALL,
        level="8/255",
        constant="0.3",
        images=50,
        few=10,
        rounds=2,
    ),
    RESNET: Target(
        "CIFAR-10, ResNet-20",
        NSS["cifar10-resnet20"],
        iterations=20,
        levels=PIXELS,
        constants=SMALL,
        level="8/255",
        constant="0.3",
        images=50,
        few=10,
        rounds=2,
        whole=False,
    ),
}
ORDER = tuple(TARGETS)
