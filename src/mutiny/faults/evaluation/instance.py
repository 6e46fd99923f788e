"""One mutant instance with some answers evaluated and the others predicted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.faults.evaluation.prediction import AnswerMemory, KnownAnswers, finite_rows, linear_map, residual_scale
from mutiny.models.layers import Indices
from mutiny.subjects.inference.condensed_outputs import close, losses, margins
from mutiny.subjects.inference.passes import CleanPass
from mutiny.subjects.tasks import Classification, Task

SURENESS = (1.0, 2.0, 3.0, 4.5, 6.5, 9.0, 13.0, 19.0, 28.0)
"""Boundaries of strata: predicted margins in units of the prediction error."""
SIZES = (1 / 128, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""Boundaries while that error is unknown, or if the metric is a loss: shares of the inputs, least sure first."""
STRATA = len(SURENESS) + 1
GROUPS = 2
"""Inputs predicted from other inputs, and inputs interpolated from other strengths; each group has its own strata."""

Floats = npt.NDArray[np.float64]
Answered = tuple[npt.NDArray[np.bool_], Floats, Tensor]
Answer = Callable[[int, int, Indices], Answered]
"""``answer(original, repetition, indices)``: correct, share of the metric, condensed outputs; ``(k,)``, ``(k, q)``."""


@dataclass(frozen=True)
class StratifiedSample:
    """A random sample of the inputs that were not evaluated, stratum by stratum.

    Attributes:
        size: Inputs of each stratum before drawing, ``(strata,)``.
        count: Inputs drawn from each stratum, ``(strata,)``.
        stratum: Stratum of each input drawn, ``(k,)``.
        change: Real minus predicted share of the metric of each input drawn, ``(k,)``.
        move: Distance between its real and predicted margin, in units of the prediction error, ``(k,)``.
    """

    size: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    stratum: npt.NDArray[np.int8]
    change: Floats
    move: Floats


class ScreenedInstance:
    """Known and predicted answers of one instance to each input.

    Args:
        original: Index of the original.
        repetition: Number of the instance among those of the original.
        clean: Clean pass of the original.
        task: Task that decides which answers are correct.
        targets: Targets in the task's form, on the CPU.
        start: Initial strata of all instances of the original, if they are known.
    """

    def __init__(
        self,
        original: int,
        repetition: int,
        clean: CleanPass,
        task: Task,
        targets: Tensor,
        start: npt.NDArray[np.int8] | None = None,
    ) -> None:
        self.original, self.repetition, self.task, self.targets = original, repetition, task, targets
        self.clean = clean.condensed
        self.known = np.zeros(len(self.clean), bool)
        self.right = clean.outcome.correct
        self.shares = self.right.astype(np.float64) if self.classifies else clean.shares.copy()
        self.seen: list[KnownAnswers] = []
        # Only answers that were drawn at random: predictions are fitted to them, and other answers would bias the fit.
        self.drawn: list[KnownAnswers] = []
        self.stratum = np.full(len(self.clean), -1, np.int8)
        self.sureness = np.zeros(len(self.clean), np.float32)
        self._lead = self._scale = np.zeros(0, np.float32)
        if start is None:
            unsure = (
                margins(task, self.clean, targets).abs()
                if isinstance(task, Classification)
                else -losses(task, self.clean, targets)
            )
            self._rank(unsure.numpy(), np.zeros(len(self.clean), bool))
        else:
            self.stratum[:] = start

    @property
    def classifies(self) -> bool:
        """Whether the task is classification."""
        return isinstance(self.task, Classification)

    def predict(self, memory: AnswerMemory, strength: float | None) -> None:
        """Predicts the answers to all inputs that were not evaluated, and assigns strata by their sureness."""
        mapped = linear_map(self.clean, self.drawn)
        predicted, remembered = mapped, np.zeros(len(mapped), bool)
        between = memory.between(self.original, self.repetition, strength, self.clean) if strength is not None else None
        if between is not None:
            predicted = mapped.clone()
            predicted[torch.from_numpy(between.indices)] = between.interpolated
            remembered[between.indices] = True
        unknown = ~self.known
        if not isinstance(self.task, Classification):
            loss = losses(self.task, predicted, self.targets).double().numpy()
            self.shares[unknown] = loss[unknown]
            self.right[unknown] = close(self.task, predicted, self.targets).numpy()[unknown]
            self._rank(-loss.astype(np.float32), remembered)
            return
        lead = margins(self.task, predicted, self.targets).numpy()
        indices, truth = finite_rows(self.drawn)
        at = margins(self.task, mapped[indices], self.targets[indices]).numpy()
        start, slope = residual_scale(at, margins(self.task, truth, self.targets[indices]).numpy() - at)
        scale = start + slope * np.abs(lead)
        if between is not None:
            there = torch.from_numpy(between.indices)
            ends = [margins(self.task, rows, self.targets[there]) for rows in (between.low, between.high)]
            move = (ends[1] - ends[0]).abs().nan_to_num(posinf=0.0).numpy()
            bend = (move + move.mean()) * between.curve + 0.005 * np.abs(lead[there])
            scale[between.indices] = np.minimum(scale[between.indices], 1e-6 + memory.looseness * bend)
        self.right[unknown] = lead[unknown] > 0
        self.shares[unknown] = self.right[unknown]
        self._lead, self._scale = lead, scale
        self.sureness = np.nan_to_num(np.abs(lead) / scale, nan=0.0, posinf=0.0).astype(np.float32)
        self.stratum[:] = np.searchsorted(SURENESS, self.sureness, side="right") + STRATA * remembered
        self.stratum[self.known] = -1

    def _rank(self, unsure: npt.NDArray[np.float32], remembered: npt.NDArray[np.bool_]) -> None:
        """Assigns strata by rank of ``unsure``, smallest first, to all inputs that were not evaluated."""
        self.stratum[:] = -1
        for group, members in enumerate((~remembered & ~self.known, remembered & ~self.known)):
            where = np.flatnonzero(members)
            borders = np.unique([round(size * len(where)) for size in SIZES])
            borders = borders[(borders > 0) & (borders < len(where))]
            order = np.argpartition(unsure[where], borders) if len(borders) else np.arange(len(where))
            for place, part in enumerate(np.split(order, borders)):
                self.stratum[where[part]] = group * STRATA + place

    def draw(self, wanted: npt.NDArray[np.int64], rng: np.random.Generator, answer: Answer) -> StratifiedSample:
        """Evaluates ``wanted`` random inputs of each stratum, or all of them if there are fewer."""
        strata = GROUPS * STRATA
        size = np.bincount(self.stratum[~self.known], minlength=strata)
        picked = [np.zeros(0, np.int64)]
        for number in np.flatnonzero(size):
            members = np.flatnonzero(self.stratum == number)
            few = len(members) <= wanted[number]
            picked.append(members if few else rng.choice(members, wanted[number], replace=False, shuffle=False))
        chosen = np.sort(np.concatenate(picked))
        stratum, expected, predicted = self.stratum[chosen], self.shares[chosen], self._lead
        rows = self.evaluate(chosen, answer)
        self.drawn.append((chosen, rows))
        move = np.zeros(len(chosen))
        if isinstance(self.task, Classification) and len(predicted) and len(chosen):
            lead, truth = predicted[chosen], self.targets[torch.from_numpy(chosen)]
            real = margins(self.task, rows, truth).numpy()
            move = np.nan_to_num(np.abs(lead - real) / self._scale[chosen], nan=np.inf, posinf=np.inf)
        count = np.bincount(stratum, minlength=strata)
        return StratifiedSample(size, count, stratum, self.shares[chosen] - expected, move.astype(np.float64))

    def evaluate(self, indices: Indices, answer: Answer) -> Tensor:
        """Evaluates some inputs; returns their condensed outputs."""
        if not len(indices):
            return self.clean[:0]
        right, shares, rows = answer(self.original, self.repetition, indices)
        self.known[indices], self.right[indices], self.shares[indices] = True, right, shares
        self.seen.append((indices, rows))
        self.stratum[indices] = -1
        return rows

    def finish(self, answer: Answer) -> None:
        """Evaluates all remaining inputs and drops what only predictions need."""
        self.evaluate(np.flatnonzero(~self.known), answer)
        self._lead = self._scale = np.zeros(0, np.float32)
        self.sureness, self.drawn = np.zeros(len(self.clean), np.float32), []
        if self.repetition:
            self.seen = []
