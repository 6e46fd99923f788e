"""Changed answers of a fault: of all inputs, or of a random sample that grows until a question is settled.

A fault changes few answers, mostly those of which its original is least sure. So inputs are divided into strata by how
sure the original is, right and wrong answers apart, and every stratum is sampled. What the other inputs would answer is
predicted: the rate of changes in a stratum has a Beta distribution, whose prior expects half the rate of the stratum
that is one step less sure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from mutiny.models.layers import Indices
from mutiny.subjects.inference.condensed_outputs import margins
from mutiny.subjects.inference.passes import CleanPass
from mutiny.subjects.tasks import Classification

SHARES = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""Boundaries between the strata of right answers: shares of them, the least sure first."""
FIRST = 48
"""Inputs drawn from each stratum at first, by default."""
GROWTH = 1.4
"""Factor by which a sample grows."""
DRAWS = 1000
"""Number of predictions of all answers."""
PRIOR_SHAPE = 0.5
EXPECTED_FALL = 0.5
"""Expected ratio of the rate of changes in a stratum to that in the stratum which is one step less sure."""
NEARLY_ALL = 0.7
"""A stratum of which this share would be drawn is evaluated whole."""

Change = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Settled = Callable[[Ints, Ints], bool]
"""``settled(broken, repaired)``: whether a question has the same answer for all predictions, ``(draws,)`` each."""


class WeightedChanges(NamedTuple):
    """Answers of a fault that differ from those of its original.

    Attributes:
        positions: Positions of the inputs, ascending, ``(k,)``.
        change: How much worse the answers are, ``(k,)``: 1 for a broken answer and -1 for a repaired one, or the growth
            of the loss for regression.
        weight: Number of inputs that each of them stands for, ``(k,)``: 1 unless inputs were sampled.
    """

    positions: Indices
    change: Change
    weight: Change


class AllAnswers:
    """Answers of one fault to all inputs.

    Args:
        change: How much worse each answer is, ``(n,)``.

    >>> answers = AllAnswers(np.array([0, 1, 1, -1], np.float32))
    >>> answers.mean, answers.evaluated, answers.changed().positions.tolist()
    (0.25, 4, [1, 2, 3])
    """

    complete = True

    def __init__(self, change: Change) -> None:
        self.change, self.evaluated, self.inputs = change, len(change), len(change)

    @property
    def mean(self) -> float:
        """Mean change of all answers."""
        return float(self.change.mean(dtype=np.float64))

    @property
    def error(self) -> float:
        """Standard error of the mean, for inputs drawn like these."""
        return float(self.change.std(dtype=np.float64) / np.sqrt(max(1, self.inputs)))

    def changed(self) -> WeightedChanges:
        """The changed answers."""
        positions = np.flatnonzero(self.change)
        return WeightedChanges(positions, self.change[positions], np.ones(len(positions), np.float32))


@dataclass(frozen=True, eq=False)
class Strata:
    """Inputs of a split by how sure an original is of its answer, each stratum in random order.

    Attributes:
        members: Positions of the inputs of each stratum; those with right answers first, the least sure first.
        right: Whether the answers of a stratum are right.
    """

    members: tuple[Indices, ...]
    right: tuple[bool, ...]

    @classmethod
    def of(cls, clean: CleanPass, task: Classification, targets: torch.Tensor, priority: Floats) -> Strata:
        """Strata from the clean pass of an original.

        Args:
            clean: Clean pass.
            task: Task.
            targets: Classes of the inputs.
            priority: Random number of each input, ``(n,)``; inputs with small ones are drawn first. Originals share
                it, so that their samples have inputs in common.
        """
        sure = margins(task, clean.condensed, targets).abs().numpy()
        correct = clean.outcome.correct
        right, wrong = np.flatnonzero(correct), np.flatnonzero(~correct)
        right = right[np.argsort(sure[right], kind="stable")]
        parts = np.split(right, np.unique([round(share * len(right)) for share in SHARES]))
        groups = [(part, True) for part in parts if len(part)] + [(wrong, False)] * bool(len(wrong))
        return cls(
            tuple(group[np.argsort(priority[group], kind="stable")] for group, _ in groups),
            tuple(is_right for _, is_right in groups),
        )

    @property
    def sizes(self) -> Ints:
        """Number of inputs of each stratum."""
        return np.array([len(group) for group in self.members], np.int64)


class AnswerSample:
    """Answers of one fault to a sample of the inputs.

    Args:
        strata: Strata of the split.
        change: Function from positions to changes: 1 for a broken answer, -1 for a repaired one.
        rng: Generator of predictions.
        first: Inputs drawn from each stratum at first.
    """

    def __init__(
        self, strata: Strata, change: Callable[[Indices], Change], rng: np.random.Generator, first: int = FIRST
    ) -> None:
        self.strata, self._change, self._rng = strata, change, rng
        self.drawn = np.zeros(len(strata.members), np.int64)
        self.count = np.zeros(len(strata.members), np.int64)
        self._positions: list[Indices] = []
        self._stratum: list[Ints] = []
        self.grow(np.full(len(strata.members), first))

    @property
    def inputs(self) -> int:
        """Number of all inputs."""
        return int(self.strata.sizes.sum())

    @property
    def evaluated(self) -> int:
        """Number of inputs evaluated."""
        return int(self.drawn.sum())

    @property
    def complete(self) -> bool:
        """Whether every input was evaluated."""
        return bool((self.drawn == self.strata.sizes).all())

    @property
    def mean(self) -> float:
        """Expected mean change of all answers."""
        broken, repaired = self.estimate()
        return (broken - repaired) / self.inputs

    @property
    def error(self) -> float:
        """Standard error of the mean, for inputs drawn like these."""
        rates = self.rates()
        variance = self.strata.sizes.astype(float) ** 2 * rates * (1 - rates) / np.maximum(self.drawn, 1)
        return float(np.sqrt(variance.sum()) / self.inputs)

    def grow(self, wanted: npt.NDArray[np.generic]) -> None:
        """Evaluates the first ``wanted`` inputs of each stratum, as far as they are not yet evaluated."""
        until = np.clip(wanted, self.drawn, self.strata.sizes).astype(np.int64)
        parts = [group[a:b] for group, a, b in zip(self.strata.members, self.drawn, until, strict=True)]
        where = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        positions = np.concatenate(parts)
        order = np.argsort(positions, kind="stable")
        changed = np.flatnonzero(self._change(positions[order])) if len(positions) else np.zeros(0, np.int64)
        self.count += np.bincount(where[order][changed], minlength=len(parts))
        self._positions.append(positions[order][changed])
        self._stratum.append(where[order][changed])
        self.drawn = until

    def rates(self) -> Floats:
        """Expected rate of changed answers among the inputs of each stratum that were not evaluated."""
        return np.array([first / (first + second) for first, second in self._posterior()])

    def estimate(self) -> tuple[float, float]:
        """Expected number of broken and of repaired answers among all inputs."""
        right = np.array(self.strata.right)
        total = self.count + (self.strata.sizes - self.drawn) * self.rates()
        return float(total[right].sum()), float(total[~right].sum())

    def predictions(self) -> tuple[Ints, Ints]:
        """Broken and repaired answers among all inputs in `DRAWS` predictions, ``(DRAWS,)`` each."""
        left, right = self.strata.sizes - self.drawn, np.array(self.strata.right)
        totals = np.repeat(self.count[:, None], DRAWS, axis=1)
        for stratum, (first, second) in enumerate(self._posterior()):
            if left[stratum]:
                rate = self._rng.beta(first, second, DRAWS)
                totals[stratum] += self._rng.binomial(left[stratum], rate)
        return totals[right].sum(axis=0), totals[~right].sum(axis=0)

    def until(self, settled: Settled) -> None:
        """Evaluates more inputs until a question is settled, or until every input is evaluated."""
        while not self.complete and not settled(*self.predictions()):
            rates, left = self.rates(), self.strata.sizes - self.drawn
            weight = self.strata.sizes * np.sqrt(rates * (1 - rates)) * (left > 0)
            more = (GROWTH - 1) * self.evaluated * weight / max(weight.sum(), 1e-12)
            whole = self.drawn + more >= NEARLY_ALL * self.strata.sizes
            wanted = np.where(whole, self.strata.sizes, self.drawn + np.maximum(more, 1))
            self.grow(wanted)

    def changed(self) -> WeightedChanges:
        """The changed answers of the sample."""
        positions, stratum = np.concatenate(self._positions), np.concatenate(self._stratum)
        sign = np.where(np.array(self.strata.right)[stratum], 1.0, -1.0)
        weight = (self.strata.sizes / np.maximum(self.drawn, 1))[stratum]
        order = np.argsort(positions, kind="stable")
        return WeightedChanges(positions[order], sign[order].astype(np.float32), weight[order].astype(np.float32))

    def _posterior(self) -> list[tuple[float, float]]:
        """Parameters of the Beta distribution of the rate of changed answers in each stratum."""
        found: list[tuple[float, float]] = []
        expected = None
        for changed, drawn, right in zip(self.count, self.drawn, self.strata.right, strict=True):
            second = PRIOR_SHAPE / expected if right and expected is not None else PRIOR_SHAPE
            found.append((PRIOR_SHAPE + changed, second + drawn - changed))
            expected = EXPECTED_FALL * found[-1][0] / sum(found[-1])
        return found
