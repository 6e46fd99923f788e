"""The work of locating faults: counting what neurons do, and silencing some. Each task stands alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mutiny.campaigns.jobs import Job
from mutiny.models.capture import NeuronValue
from mutiny.models.read_points import ReadPoint
from mutiny.verbs.locate.ablation import silenced
from mutiny.verbs.locate.activity import Activity
from mutiny.verbs.locate.case import Case


@dataclass(frozen=True, eq=False)
class Bench:
    """Does tasks by their kind.

    Attributes:
        case: the model, the inputs, and which of them fail.
        points: layers whose neurons are counted.
        activity: when a neuron counts as active.
        at: where it is read.
    """

    case: Case
    points: Sequence[ReadPoint]
    activity: Activity
    at: NeuronValue

    def __call__(self, task: Job) -> Any:
        """``count``: the spectrum. ``before`` and ``silence``: which inputs fail, of all or of one class."""
        match task.kind:
            case "count":
                return self.case.spectrum(self.points, self.activity, self.at)
            case "before":
                return self.case.failed(indices=self.case.of_class(task.arguments[0]))
            case "silence":
                label, neurons = task.given
                return self.case.failed(silenced(self.case.view, neurons), self.case.of_class(label))
        raise ValueError(f"no such kind of task: {task.kind}")
