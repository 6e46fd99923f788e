"""How probable it is that a fault changes an answer, predicted from its outputs for a few inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import stdtr
from torch import Tensor

from mutiny.faults.evaluation.prediction import leverages, linear_map, residual_scale
from mutiny.faults.evaluation.strata import Floats, Strata
from mutiny.models.layers import Indices
from mutiny.subjects.inference.condensed_outputs import margins
from mutiny.subjects.inference.passes import CleanPass
from mutiny.subjects.tasks import Classification

FREEDOM = 5.0
"""Degrees of freedom of Student's t distribution, which errors of predicted margins are taken to have."""
SCALE = 4 / 3
"""Scale of that distribution by the mean absolute error; 1.05 would be exact if the errors of all inputs were known."""
PSEUDO_INPUTS = 5.0
"""Inputs of the average class that are added to those of each class."""
LARGEST_ERROR = 50.0
"""Limit of errors, in multiples of their expected size; also the error for outputs that are not finite."""
MOST_LEVERAGE = 0.95


@dataclass(frozen=True, eq=False)
class KnownInputs:
    """What is known of the inputs of a split before a fault is evaluated.

    Attributes:
        task: Task.
        clean: Condensed outputs of the original, ``(n, q)``.
        targets: Classes, ``(n,)``.
        right: Whether each answer of the original is right, ``(n,)``.
        margin: Margin of the true class over the best other one, ``(n,)``.
        priority: Random number of each input, ``(n,)``; inputs with small ones are drawn first. Originals share it, so
            that their samples have inputs in common.
        strata: The inputs by how sure the original is.
    """

    task: Classification
    clean: Tensor
    targets: Tensor
    right: npt.NDArray[np.bool_]
    margin: npt.NDArray[np.float32]
    priority: Floats
    strata: Strata

    @classmethod
    def of(cls, clean: CleanPass, task: Classification, targets: Tensor, priority: Floats) -> KnownInputs:
        """The inputs of a clean pass of an original.

        Args:
            clean: Clean pass.
            task: Task.
            targets: Classes of the inputs.
            priority: See the attribute.
        """
        margin = margins(task, clean.condensed, targets).numpy()
        right = np.asarray(clean.outcome.correct, bool)
        strata = Strata.by_sureness(np.abs(margin), right, priority)
        return cls(task, clean.condensed, targets, right, margin, priority, strata)

    def rest(self, seen: Indices, answers: Tensor) -> Strata:
        """The inputs of which a fault's answers are not known, by how probable it is that they change.

        Args:
            seen: Positions of inputs, ``(k,)``.
            answers: Condensed outputs of the fault for these inputs, ``(k, q)``.
        """
        unseen = np.ones(len(self.right), bool)
        unseen[seen] = False
        return Strata.by_chance(np.flatnonzero(unseen), self.chances(seen, answers), self.right, self.priority)

    def chances(self, seen: Indices, answers: Tensor) -> Floats:
        """Probability of each input that a fault changes its answer, ``(n,)``.

        Outputs of the fault are predicted by a linear map of the original's outputs. The size of its errors is
        estimated on the inputs seen, as if each of them had not been used for the map (its error divided by one minus
        its leverage), and depends on the original's margin and on the class: a fault often hits one class only.

        Args:
            seen: Positions of inputs, ``(k,)``.
            answers: Condensed outputs of the fault for these inputs, ``(k, q)``.
        """
        predicted = margins(self.task, linear_map(self.clean, [(seen, answers)]), self.targets).numpy()
        true = margins(self.task, answers, self.targets[torch.from_numpy(seen)]).numpy()
        free = 1 - np.minimum(leverages(self.clean[seen], answers), MOST_LEVERAGE)
        error = (true - predicted[seen]) / free
        finite = np.isfinite(error)
        start, slope = residual_scale(self.margin[seen][finite], error[finite])
        size = start + slope * np.abs(np.nan_to_num(self.margin, posinf=0, neginf=0))
        relative = np.where(finite, np.minimum(np.abs(error) / size[seen], LARGEST_ERROR), LARGEST_ERROR)
        size *= SCALE * self._by_class(relative, seen)[self.targets.numpy()]
        wrong = stdtr(FREEDOM, -predicted / size)
        return np.asarray(np.nan_to_num(np.where(self.right, wrong, 1 - wrong), nan=0.5), float)

    def _by_class(self, relative: Floats, seen: Indices) -> Floats:
        """Mean size of errors in each class, drawn towards the mean of all, ``(classes,)``."""
        labels = self.targets.numpy()[seen]
        count = np.bincount(labels, minlength=self.task.classes)
        total = np.bincount(labels, weights=relative, minlength=self.task.classes)
        return np.asarray((total + PSEUDO_INPUTS * relative.mean()) / (count + PSEUDO_INPUTS), float)
