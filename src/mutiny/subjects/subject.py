"""The subject of a test: trained originals of one program, the task, and data."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput
from mutiny.core.json_values import hash_of
from mutiny.core.progress import Progress
from mutiny.core.random import seed_for
from mutiny.models import Forward, check_model
from mutiny.models.forward import as_forward
from mutiny.models.in_use import in_use
from mutiny.models.state import check_parameters, digest
from mutiny.subjects.data import Data, as_data, as_pool
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.tasks import Classification, Task
from mutiny.subjects.training import Recipe, fingerprint, train_originals
from mutiny.subjects.training.describe import describe
from mutiny.subjects.training.folds import TrainingSet
from mutiny.subjects.training.loop import built

DEFAULT_ORIGINALS = 10
"""Default number of originals that a recipe trains; MUFF uses 20."""
MOST_ORIGINALS = 10_000
"""Largest number of originals; a larger one is a typing error, which would plan jobs until memory ends."""


class Subject:
    """A network under test.

    Args:
        models: Originals: trained instances of one program in evaluation mode. One is the common case; several,
            trained independently, let verdicts account for the randomness of training.
        task: `Classification` or `Regression`.
        train: Training set of the originals, in any form that `mutiny.subjects.data.as_data` reads. A recipe needs it.
        test: Test set under assessment.
        validation: Labeled inputs that are neither in the training set nor in the test set. `assess` measures on them
            what a fault costs.
        weak: Weaker test set for sensitivity; made from ``test`` by default.
        pool: Inputs to choose from, which may be unlabeled, for the verbs that need them. `assess` measures costs on
            them if nothing better can.
        recipe: Recipe that trains the originals, instead of ``models``.
        forward: Function that calls the model, ``forward(model, inputs) -> outputs``; ``model(inputs)`` by default.
        name: Name in reports.

    >>> net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2)).eval()
    >>> x, y = torch.randn(20, 2), torch.arange(20) % 2
    >>> Subject(net, task=Classification(2), train=(x, y), test=(x, y), name="toy")
    Subject('toy', 1 original, Classification(classes=2, outputs='auto'), train=20, test=20)
    """

    def __init__(
        self,
        models: nn.Module | Sequence[nn.Module] | None = None,
        *,
        task: Task,
        train: Any = None,
        test: Any,
        validation: Any = None,
        weak: Any = None,
        pool: Any = None,
        recipe: Recipe | None = None,
        forward: Forward | None = None,
        name: str = "subject",
    ) -> None:
        given = modules_of(models)
        if not given and recipe is None:
            raise BadInput("models", models, "at least one trained model, or a recipe that trains them")
        if not isinstance(task, Task):
            raise BadInput("task", repr(task), "mutiny.Classification(...) or mutiny.Regression(...)")
        if not isinstance(name, str):
            raise BadInput("name", repr(name)[:60], "text")
        if train is None and not given:
            raise BadInput("train", None, "the training set, which the recipe needs")
        self.models, self.task, self.recipe, self.name = given, task, recipe, name
        self.forward: Forward = as_forward(forward)
        self.train = None if train is None else as_data(train, "train")
        self.test = as_data(test, "test")
        self.validation = None if validation is None else as_data(validation, "validation")
        self.folds: int | None = None
        self.weak = None if weak is None else as_data(weak, "weak")
        self.pool = None if pool is None else as_pool(pool)

    def __repr__(self) -> str:
        count = len(self.models)
        trained = f"{count} original{'s' * (count != 1)}" if count else "originals from a recipe"
        sizes = ", ".join(f"{name}={len(data)}" for name, data in self.splits().items() if name != "weak")
        return f"Subject({self.name!r}, {trained}, {self.task}, {sizes})"

    def splits(self) -> dict[str, Data]:
        """The labeled splits by name."""
        splits = {"train": self.train, "test": self.test, "validation": self.validation, "weak": self.weak}
        return {name: data for name, data in splits.items() if data is not None}

    @property
    def training(self) -> TrainingSet:
        """The training set of each original; an error if the subject has none."""
        if self.train is None:
            raise BadInput("train", None, "the training set of the subject", "Give Subject(train=(inputs, targets)).")
        return TrainingSet(self.train, self.folds)

    def holding_out(self, folds: int | None) -> Subject:
        """A copy of this subject whose recipe trains original ``i`` without fold ``i`` modulo ``folds``, if any."""
        other = copy.copy(self)
        other.folds = folds
        return other

    def check(self) -> None:
        """Raises `BadInput` if the data would make verdicts meaningless."""
        for name, data in self.splits().items():
            targets = self.task.check_targets(data.targets, name)
            if isinstance(self.task, Classification) and len(np.unique(targets)) == 1 and name != "weak":
                raise BadInput(
                    f"{name} labels",
                    f"only class {int(targets[0])}",
                    "at least two classes",
                    "A network that always gives this answer would pass every test.",
                )
        if self.recipe is not None and not self.models:
            with seeded(0):
                _new(self.recipe)
        if self.weak is not None and len(self.weak) > len(self.test):
            raise BadInput("weak", f"{len(self.weak)} inputs", f"at most as many as test ({len(self.test)})")

    def originals(
        self,
        count: int | None = None,
        *,
        seed: int = 0,
        device: str | None = None,
        folder: Path | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[nn.Module]:
        """The originals to test: the first ``count`` of those given, or trained by the recipe (and kept on disk).

        With ``device``, copies on that device; the user's own models are never moved.
        """
        number, target = self.count(count), None if device is None else as_device(device)
        if self.models:
            with in_use(self.models):
                models = [check_model(m, f"models[{i}]") for i, m in enumerate(self.models[:number])]
                _check_distinct(models)
                return [model if target is None else on_device(model, target) for model in models]
        if self.recipe is not None:
            with seeded(seed):
                check_parameters(_new(self.recipe), "the recipe's network")  # before hours of training, not after
            models = train_originals(
                self.recipe,
                self.training.of,
                self.task,
                number,
                seed,
                folder=folder,
                forward=self.forward,
                device=target or "cpu",
                progress=progress,
            )
        return [model if target is None else on_device(model, target) for model in models]

    def device(self, wanted: str | None) -> str:
        """Name of the device on which the originals run."""
        if wanted is not None or not self.models:
            return str(torch.device("cpu") if wanted is None else as_device(wanted))
        return str(next((p.device for p in self.models[0].parameters()), torch.device("cpu")))

    def fingerprints(self, count: int | None = None, *, seed: int = 0, device: str | None = None) -> list[str]:
        """Hash of each original: of its code and weights, or of everything that determines its training."""
        number, target = self.count(count), torch.device("cpu") if device is None else as_device(device)
        if self.models or self.recipe is None:
            with in_use(self.models):
                return [hash_of(describe(model)) for model in self.models[:number]]
        recipe, training = self.recipe, self.training
        return [
            fingerprint(
                recipe,
                training.of(index),
                self.task,
                seed_for(seed, "original", index),
                forward=self.forward,
                device=target,
            )
            for index in range(number)
        ]

    def ready(
        self, count: int | None, *, seed: int, device: str | None, folder: Path | None, progress: Progress
    ) -> list[nn.Module]:
        """The originals; training, if needed, is reported as a stage of ``progress``."""
        reported = 0

        def trained(done: int, total: int) -> None:
            nonlocal reported
            if not reported:
                progress.stage("training originals", total)
            progress.step(done=done - reported)
            reported = done

        return self.originals(count, seed=seed, device=device, folder=folder, progress=trained)

    def count(self, wanted: int | None = None) -> int:
        """Number of originals; by default all models, or `DEFAULT_ORIGINALS` if a recipe trains them."""
        if wanted is None:
            return len(self.models) or DEFAULT_ORIGINALS
        check_whole("originals", wanted, most=MOST_ORIGINALS)
        if self.models and wanted > len(self.models):
            raise BadInput(
                "originals",
                wanted,
                f"at most {len(self.models)}, the number of models in the subject",
                "Train more, or give the subject a recipe.",
            )
        return wanted


def as_device(name: str) -> torch.device:
    """The device of this name; an error if this machine does not have it."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device).cpu()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        fix = f"It has {', '.join(_devices())}; PyTorch says: {reason}."
        raise BadInput("device", repr(name), "a device of this machine", fix) from None
    return device


def _devices() -> list[str]:
    """Usual devices of this machine."""
    found = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    return [*found, "mps"] if torch.backends.mps.is_available() else found


def on_device(model: nn.Module, device: torch.device) -> nn.Module:
    """The model if it is on the device already, otherwise a copy; the user's own model is never moved."""
    already = all(p.device == device for p in model.parameters())
    return model if already else copy.deepcopy(model).to(device)


def _new(recipe: Recipe) -> nn.Module:
    """A new network from the recipe; an error if ``build`` returns the same network again."""
    first, second = built(recipe), built(recipe)
    again = {id(parameter) for parameter in second.parameters()}
    if any(id(parameter) in again for parameter in first.parameters()):
        raise BadInput(
            "build",
            "a function that returns the same network twice",
            "a new nn.Module on each call",
            "Make the network inside the function, or pass its class.",
        )
    return first


def modules_of(models: Any) -> list[nn.Module]:
    """The models that a user gave, one or several."""
    if models is None:
        return []
    several = isinstance(models, Iterable) and not isinstance(models, str | nn.Module)
    given = list(models) if several else [models]
    for number, model in enumerate(given):
        if not isinstance(model, nn.Module):
            fix = "Load it first: Subject(models=net), where net is the network with its weights."
            name = f"models[{number}]" if several else "models"
            raise BadInput(
                name, repr(model)[:60], "a torch.nn.Module" if several else "one or several torch.nn.Module", fix
            )
    return given


def _check_distinct(models: Sequence[nn.Module]) -> None:
    """Raises `BadInput` unless all originals have the same parameters by name and shape, with different values."""
    shapes = [{name: tuple(t.shape) for name, t in model.named_parameters()} for model in models]
    for index, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise BadInput(
                f"models[{index}]",
                "other parameters than models[0]",
                "instances of one architecture",
                "Assess different architectures one by one.",
            )
    seen: dict[tuple[str, ...], int] = {}
    for index, model in enumerate(models):
        weights = tuple(digest(tensor) for tensor in model.state_dict().values() if isinstance(tensor, torch.Tensor))
        if weights in seen:
            raise BadInput(
                f"models[{index}]",
                f"the same weights as models[{seen[weights]}]",
                "independently trained originals",
                "Pass each trained network once.",
            )
        seen[weights] = index
