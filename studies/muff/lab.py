"""One subject with its trained originals, clean passes and weak set; everything is made when first asked for."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

import mutiny
from mutiny.core.random import generator_for
from mutiny.faults.evaluation import Runner, Screening
from mutiny.verbs.assess.muff.preflight import preflight
from studies.store import Rows

SUBJECT_COLUMNS = (
    "subject network weights layers task metric train test weak epochs batch_size originals seed train_metric train_sd "
    "test_metric test_sd weak_metric train_right test_right training_seconds trained_epochs setup_seconds"
).split()


WEAK = mutiny.WeakSet(regression="high-loss")
"""For regression the purpose that MUFF states, not its wording; see the page."""


@dataclass(frozen=True)
class Settings:
    """What decides the numbers, apart from the subjects.

    Attributes:
        originals: trained networks per subject.
        seed: of training and of all mutants.
        quick: less data, fewer originals, a coarse search: to see whether everything runs.
        sample: RQ1 looks at no more training inputs than this.
    """

    originals: int = 20
    seed: int = 0
    quick: bool = False
    sample: int = 10_000

    @property
    def search(self) -> mutiny.Search:
        """How strengths are searched: as in the paper, unless quick."""
        return mutiny.Search(precision=0.25, k_max=2) if self.quick else mutiny.Search()

    @property
    def screening(self) -> Screening:
        """When a verdict is sure enough to leave out the remaining inputs."""
        return Screening()


QUICK = Settings(originals=3, quick=True, sample=500)


def smaller(subject: mutiny.Subject, train: int = 2500, test: int = 500) -> mutiny.Subject:
    """The first inputs only."""
    return mutiny.Subject(
        task=subject.task,
        train=subject.train.subset(np.arange(min(train, len(subject.train)))),
        test=subject.test.subset(np.arange(min(test, len(subject.test)))),
        recipe=None if subject.recipe is None else replace(subject.recipe, epochs=4),
        forward=subject.forward,
        name=subject.name,
    )


class Lab:
    """What all parts share about one subject.

    Args:
        subject: what is tested.
        settings: number of originals, seed, size of samples.
    """

    def __init__(self, subject: mutiny.Subject, settings: Settings) -> None:
        self.subject, self.settings, self.name = subject, settings, subject.name
        self.training_seconds = self.setup_seconds = 0.0
        self.trained_epochs = 0

    @cached_property
    def models(self) -> list[nn.Module]:
        """The originals, from the disk where they were trained before."""
        start, last = time.monotonic(), 0

        def trained(done: int, _total: int) -> None:
            nonlocal last
            self.trained_epochs += done - last == 1  # one from the disk counts all its epochs at once
            last = done

        models = self.subject.originals(self.settings.originals, seed=self.settings.seed, progress=trained)
        self.training_seconds = time.monotonic() - start
        return models

    @cached_property
    def rule(self) -> mutiny.KillRule:
        """MUFF's eq. 2."""
        return mutiny.KillRule().resolve(len(self.models))

    @cached_property
    def runner(self) -> Runner:
        """Runs mutants; its split ``sample`` is what RQ1 looks at."""
        subject, seed = self.subject, self.settings.seed
        runner = Runner(self.models, subject.task, subject.splits(), subject.forward, seed)
        chosen = np.arange(len(subject.train))
        if len(chosen) > self.settings.sample:
            drawn = generator_for(seed, "muff study", self.name).permutation(len(chosen))
            chosen = np.sort(drawn[: self.settings.sample])
        runner.add_split("sample", subject.train.subset(chosen))
        return runner

    @cached_property
    def prepared(self) -> Runner:
        """The runner with clean passes and weak set, after the pre-flight: what `mutiny.assess` does before a search.

        Done once here and not once per operator, which on 60,000 inputs would take longer than the searches.
        """
        runner, start = self.runner, time.monotonic()
        clean = [runner.clean(original, "test") for original in range(len(self.models))]
        if "weak" not in runner.splits:
            runner.add_split("weak", self.subject.test.subset(WEAK.choose(clean)))
        preflight(runner, self.rule, ("train", "test"))
        self.setup_seconds = time.monotonic() - start
        return runner

    def describe(self) -> dict[str, Any]:
        """The subject's row."""
        runner, recipe, task = self.prepared, self.subject.recipe, self.subject.task
        found = {split: runner.clean_outcomes(split) for split in ("train", "test", "weak")}
        metrics = {split: np.array([outcome.metric for outcome in outcomes]) for split, outcomes in found.items()}
        return {
            "subject": self.name,
            "network": type(self.models[0]).__name__,
            "weights": sum(parameter.numel() for parameter in self.models[0].parameters()),
            "layers": len(runner.views[0].layers),
            "task": type(task).__name__.lower(),
            "metric": runner.task.metric,
            **{split: len(runner.splits[split]) for split in found},
            "epochs": recipe.epochs if recipe else None,
            "batch_size": recipe.batch_size if recipe else None,
            "originals": len(self.models),
            "seed": self.settings.seed,
            **{f"{split}_metric": float(values.mean()) for split, values in metrics.items()},
            **{f"{split}_sd": float(metrics[split].std(ddof=1)) for split in ("train", "test")},
            **{f"{s}_right": float(np.mean([o.correct.mean() for o in found[s]])) for s in ("train", "test")},
            "training_seconds": self.training_seconds,
            "trained_epochs": self.trained_epochs,
            "setup_seconds": self.setup_seconds,
        }


def subject_rows(folder: Path) -> Rows:
    return Rows(folder / "subjects.csv", SUBJECT_COLUMNS, 1)
