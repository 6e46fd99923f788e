"""The work of an assessment: clean passes, mutants, trainings. Each task gives the same wherever it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mutiny.campaigns.jobs import Job, WithScratch
from mutiny.faults.evaluation import Runner
from mutiny.verbs.assess.judge import Judge
from mutiny.verbs.assess.trainer import Trainer


@dataclass(frozen=True)
class Bench:
    """Does tasks by their kind.

    Attributes:
        runner: the originals and their data.
        judges: of operators on trained models, by label.
        trainer: of faulty programs, if there is a recipe.
    """

    runner: Runner
    judges: Mapping[str, Judge] = field(default_factory=dict)
    trainer: Trainer | None = None

    def __call__(self, task: Job) -> Any:
        """The result of a task."""
        match task.kind:
            case "clean":
                return self.runner.clean(*task.arguments)
            case "probe":
                label, strength, split, _ = task.arguments
                judged, piece = self.judges[label].examine(strength, split, task.given)
                return judged if piece is None else WithScratch(judged, piece)
            case "training" if self.trainer is not None:
                return self.trainer.instance(*task.given)
            case "group" if self.trainer is not None:
                return self.trainer.group(*task.given)
            case "walk" if self.trainer is not None:
                return self.trainer.walk(*task.given)
        raise ValueError(f"no such kind of task: {task.kind}")
