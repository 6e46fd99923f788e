"""Built-in subjects."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from torch import nn

from mutiny.core.checks import check_path
from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.subjects.architectures import VGG16, DigitsCnn, LeNet1, LeNet5, MnistCnn, ResNet20
from mutiny.subjects.data import Data, as_data
from mutiny.subjects.subject import Subject
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training import Recipe


def digits(_data: Path | None = None) -> Subject:
    """A small CNN on scikit-learn's 8x8 digits, a quarter of which is the test set; needs no files."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images = (bunch.images / 16.0).astype(np.float32)[:, None]
    labels = bunch.target.astype(np.int64)
    order = generator_for(0, "digits").permutation(len(labels))
    test, train = order[: len(order) // 4], order[len(order) // 4 :]
    return Subject(
        task=Classification(10, "logits"),
        train=(images[train], labels[train]),
        test=(images[test], labels[test]),
        recipe=Recipe(DigitsCnn, epochs=20, batch_size=64, learning_rate=8e-3, schedule="onecycle"),
        name="digits",
    )


def _folder(data: Path | None, name: str, files: str, source: str) -> Path:
    """The data folder; otherwise raises an error that names the missing files and where to get them."""
    given = data or (Path(os.environ["MUTINY_DATA"]) if os.environ.get("MUTINY_DATA") else None)
    where = f"{name} needs {files}; people usually get it from {source}."
    if given is None:
        raise BadInput("data", None, "a data folder: --data DIR or the environment variable MUTINY_DATA", where)
    check_path("data", given)
    if not given.is_dir():
        raise BadInput("data", given, "an existing folder", where)
    return given


def _idx(data: Path | None, name: str, source: str) -> tuple[Data, Data]:
    """Train and test split of an MNIST-like data set."""
    folder = _folder(data, name, f"the four IDX files of {name} in {name}/", source)
    splits = []
    for split, prefix in (("train", "train"), ("test", "t10k")):
        names = [f"{prefix}-images-idx3-ubyte.gz", f"{prefix}-images-idx3-ubyte"]
        paths = [path for sub in (folder / name, folder) for file in names if (path := sub / file).is_file()]
        if not paths:
            raise BadInput("data", folder, f"{name}/{names[0]} in it", f"People usually get it from {source}.")
        splits.append(as_data(paths[0], split))
    return splits[0], splits[1]


def _gray(name: str, source: str, build: Callable[[], nn.Module]) -> Callable[[Path | None], Subject]:
    def make(data: Path | None = None) -> Subject:
        train, test = _idx(data, name, source)
        recipe = Recipe(build, epochs=4, batch_size=128, learning_rate=4e-3, schedule="onecycle")
        return Subject(task=Classification(10, "logits"), train=train, test=test, recipe=recipe, name=name)

    return make


def _cifar(build: Callable[[], nn.Module]) -> Callable[[Path | None], Subject]:
    def make(data: Path | None = None) -> Subject:
        source = "the CIFAR-10 home page, unpacked into one folder per class"
        folder = _folder(data, "cifar10", "cifar10/{train,test}/CLASS/*.png or .jpg, or a .zip of that", source)
        roots = [folder / "cifar10", *(archive / "cifar10" for archive in sorted(folder.glob("cifar10*.zip")))]
        root = next((r for r in roots if r.is_dir() or r.parent.is_file()), None)
        if root is None:
            raise BadInput("data", folder, "cifar10/ or cifar10*.zip in it", f"People usually get it from {source}.")
        train, test = as_data(root / "train", "train"), as_data(root / "test", "test")
        recipe = Recipe(
            build,
            epochs=15,
            batch_size=128,
            optimizer="sgd",
            learning_rate=0.1,
            optimizer_settings={"momentum": 0.9, "nesterov": True},
            weight_decay=5e-4,
            schedule="onecycle",
        )
        return Subject(task=Classification(10, "logits"), train=train, test=test, recipe=recipe, name="cifar10")

    return make


MNIST = "yann.lecun.com or the mirror that torchvision uses"
FASHION = "github.com/zalandoresearch/fashion-mnist, or Debian's package dataset-fashion-mnist"
BUILTIN: dict[str, Callable[[Path | None], Subject]] = {"digits": digits}
for _name, _source in (("mnist", MNIST), ("fashion-mnist", FASHION)):
    BUILTIN[_name] = BUILTIN[f"{_name}/lenet5"] = _gray(_name, _source, LeNet5)
    BUILTIN[f"{_name}/lenet1"] = _gray(_name, _source, LeNet1)
    BUILTIN[f"{_name}/cnn"] = _gray(_name, _source, MnistCnn)
BUILTIN["cifar10"] = BUILTIN["cifar10/resnet20"] = _cifar(ResNet20)
BUILTIN["cifar10/vgg16"] = _cifar(VGG16)
