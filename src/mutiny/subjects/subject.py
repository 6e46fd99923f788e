"""What is tested: trained originals of one program, the task, and data."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
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
from mutiny.models import Forward, check_model, default_forward
from mutiny.models.state import check_parameters, digest
from mutiny.subjects.data import Data, as_data, as_pool
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.tasks import Classification, Task
from mutiny.subjects.training import Recipe, fingerprint, train_originals
from mutiny.subjects.training.describe import describe
from mutiny.subjects.training.loop import built

DEFAULT_ORIGINALS = 10
"""Trained where a recipe is given and the user names no number; MUFF uses 20."""


class Subject:
    """A network under test.

    Args:
        models: the originals: trained instances of one program in evaluation mode. One is the common case; several,
            trained independently, let verdicts account for the randomness of training.
        task: `Classification` or `Regression`.
        train: what the originals were trained on; anything that `mutiny.subjects.data.as_data` reads.
        test: the test set under assessment.
        weak: a weaker test set for sensitivity; made from ``test`` if not given.
        pool: unlabeled inputs to choose from, where a verb needs them.
        recipe: how to train originals, in place of ``models``.
        forward: ``forward(model, inputs) -> outputs`` where calling the model is not enough.
        name: shown in reports.

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
        train: Any,
        test: Any,
        weak: Any = None,
        pool: Any = None,
        recipe: Recipe | None = None,
        forward: Forward | None = None,
        name: str = "subject",
    ) -> None:
        given = [models] if isinstance(models, nn.Module) else list(models or [])
        if not given and recipe is None:
            raise BadInput("models", models, "at least one trained model, or a recipe that trains them")
        if not isinstance(task, Task):
            raise BadInput("task", repr(task), "mutiny.Classification(...) or mutiny.Regression(...)")
        self.models, self.task, self.recipe, self.name = given, task, recipe, name
        self.forward: Forward = forward or default_forward
        self.train, self.test = as_data(train, "train"), as_data(test, "test")
        self.weak = None if weak is None else as_data(weak, "weak")
        self.pool = None if pool is None else as_pool(pool)

    def __repr__(self) -> str:
        count = len(self.models)
        trained = f"{count} original{'s' * (count != 1)}" if count else "originals from a recipe"
        return f"Subject({self.name!r}, {trained}, {self.task}, train={len(self.train)}, test={len(self.test)})"

    def splits(self) -> dict[str, Data]:
        """The labeled splits by name."""
        found = {"train": self.train, "test": self.test, "weak": self.weak}
        return {name: data for name, data in found.items() if data is not None}

    def check(self) -> None:
        """Raises `BadInput` for anything about the data that would make verdicts meaningless."""
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
            models = [check_model(m, f"models[{i}]") for i, m in enumerate(self.models[:number])]
            _check_distinct(models)
        elif self.recipe is not None:
            with seeded(seed):
                check_parameters(_new(self.recipe), "the recipe's network")  # before hours of training, not after
            models = train_originals(
                self.recipe,
                self.train,
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
        """Where the originals are, or will be."""
        if wanted is not None or not self.models:
            return str(torch.device("cpu") if wanted is None else as_device(wanted))
        return str(next((p.device for p in self.models[0].parameters()), torch.device("cpu")))

    def fingerprints(self, count: int | None = None, *, seed: int = 0, device: str | None = None) -> list[str]:
        """What identifies each original: its code and weights, or everything that decides what training makes of it."""
        number, target = self.count(count), torch.device("cpu") if device is None else as_device(device)
        if self.models or self.recipe is None:
            return [hash_of(describe(model)) for model in self.models[:number]]
        recipe, own = self.recipe, (seed_for(seed, "original", each) for each in range(number))
        return [fingerprint(recipe, self.train, self.task, s, forward=self.forward, device=target) for s in own]

    def ready(
        self, count: int | None, *, seed: int, device: str | None, folder: Path | None, progress: Progress
    ) -> list[nn.Module]:
        """`originals`, with a stage of ``progress`` for training if there is any."""
        told = 0

        def trained(done: int, total: int) -> None:
            nonlocal told
            if not told:
                progress.stage("training originals", total)
            progress.step(done=done - told)
            told = done

        return self.originals(count, seed=seed, device=device, folder=folder, progress=trained)

    def count(self, wanted: int | None = None) -> int:
        """How many originals there are for a verb that wants so many; by default all, or the usual number to train."""
        if wanted is None:
            return len(self.models) or DEFAULT_ORIGINALS
        check_whole("originals", wanted)
        if self.models and wanted > len(self.models):
            raise BadInput(
                "originals",
                wanted,
                f"at most {len(self.models)}, the number of models in the subject",
                "Train more, or give the subject a recipe.",
            )
        return wanted


def as_device(name: str) -> torch.device:
    """A device of this machine by its name."""
    try:
        device = torch.device(name)
        torch.empty(0, device=device).cpu()
    except (RuntimeError, AssertionError) as error:
        raise BadInput("device", repr(name), "a device of this machine", str(error).splitlines()[0]) from None
    return device


def on_device(model: nn.Module, device: torch.device) -> nn.Module:
    """The model if it is there, otherwise a copy; the user's own model is never moved."""
    here = all(p.device == device for p in model.parameters())
    return model if here else copy.deepcopy(model).to(device)


def _new(recipe: Recipe) -> nn.Module:
    """A network from the recipe; an error if the next one would be the same, trained a second time."""
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


def _check_distinct(models: Sequence[nn.Module]) -> None:
    """Originals are trained instances of one program: the same parameters by name and shape, with other values."""
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
