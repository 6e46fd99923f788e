"""The work of strengthening: ranks the pool, chooses from it, judges choices. Each task stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from mutiny.campaigns.jobs import Job
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.verbs.select.base import Selector
from mutiny.verbs.select.ranking import Refused, ranked
from mutiny.verbs.strengthen.context import Stage
from mutiny.verbs.strengthen.kill_table import Row
from mutiny.verbs.strengthen.measuring import judged
from mutiny.verbs.strengthen.mutant_pool import Range, row_of
from mutiny.verbs.strengthen.proposing import propose
from mutiny.verbs.strengthen.synthesis import synthesise


class Bench:
    """Does tasks by their kind; what they work on is in ``task.given``.

    Args:
        stage: originals, test set and pool.
        ranges: operators with the strengths that the training set kills.
        methods: that rank the pool, by name.
    """

    def __init__(self, stage: Stage, ranges: Sequence[Range], methods: Mapping[str, Selector]) -> None:
        self.stage, self.ranges, self.methods = stage, tuple(ranges), dict(methods)

    @torch.inference_mode(False)  # some methods need gradients
    def __call__(self, task: Job) -> Any:
        """The result of a task."""
        match task.kind:
            case "rank":
                name, seed = task.given
                return ranked(self.methods[name], self.stage.evidence.reseeded(seed))
            case "choose":
                return propose(self.stage, self.ranges, *task.given)
            case "judge":
                number, *more = task.given
                return judged(self.stage, self.ranges[number], *more)
            case "table":
                return self._rows(*task.given)
            case "synthesise":
                try:
                    return synthesise(self.stage, self.ranges, *task.given)
                except (NotApplicable, BadInput) as reason:
                    return Refused.of(reason)
        raise ValueError(f"no such kind of task: {task.kind}")

    def _rows(self, seed: int, number: int, strengths: Sequence[float | None]) -> list[Row]:
        """An operator's mutants on every input of the test set."""
        troupe, one, stage = self.stage.troupe(seed, pool=False), self.ranges[number], self.stage
        said = [(strength, troupe.said(one.operator, strength).test) for strength in strengths]
        return [row_of(stage.task, one.label, strength, answers, stage.targets) for strength, answers in said]
