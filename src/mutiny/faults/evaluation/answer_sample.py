"""Changed answers of a fault: of all inputs, or of a random sample that grows until a question is settled.

A fault changes few answers. A first sample, drawn mostly from inputs of which the original is not sure, tells how
probable it is that each of the other answers changes, too (`change_chance`). These inputs are divided into strata by
that probability, and strata are sampled as far as a question needs. The rate of changes in a stratum has a Beta
distribution, whose prior is the mean probability of its inputs; the inputs drawn correct it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from torch import Tensor

from mutiny.faults.evaluation.change_chance import KnownInputs
from mutiny.faults.evaluation.strata import Floats, Ints, Strata
from mutiny.models.layers import Indices

FIRST = 24
"""Inputs drawn at first from each stratum of how sure the original is."""
GROWTH, STEP = 1.2, 64
"""Factor by which a sample grows, and the fewest inputs by which it does."""
SOME = 4
"""Inputs drawn at least from each stratum in which a changed answer is expected, before a question is settled."""
DRAWS = 1000
"""Number of predictions of all answers."""
PRIOR_SHAPE = 0.5
"""Smaller parameter of the Beta distribution of a rate, before anything is drawn."""
NEARLY_ALL = 0.9
"""A stratum of which this share would be drawn is evaluated whole."""

Change = npt.NDArray[np.float32]
Evaluate = Callable[[Indices], tuple[Change, Tensor]]
"""``evaluate(positions)``: how much worse each answer is, ``(k,)``, and the condensed outputs, ``(k, q)``."""
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


class AnswerSample:
    """Answers of one fault to a sample of the inputs.

    Args:
        known: What is known of the inputs before.
        evaluate: Evaluates the fault; 1 for a broken answer, -1 for a repaired one.
        rng: Generator of predictions.
        first: Inputs drawn at first from each stratum of how sure the original is.

    Attributes:
        first: Positions of the inputs drawn at first, ascending, ``(k,)``.
        strata: The other inputs, by how probable it is that their answer changes.
        drawn: Number of inputs evaluated in each stratum.
        count: Number of changed answers among them.
    """

    def __init__(self, known: KnownInputs, evaluate: Evaluate, rng: np.random.Generator, first: int = FIRST) -> None:
        self._evaluate, self._rng = evaluate, rng
        self.inputs = len(known.right)
        every = known.strata
        self.first, _ = every.between(np.zeros_like(every.sizes), np.minimum(first, every.sizes))
        change, answers = evaluate(self.first)
        self._first_change = change
        self.strata: Strata = known.rest(self.first, answers)
        self.drawn, self.count = np.zeros_like(self.strata.sizes), np.zeros_like(self.strata.sizes)
        self._positions: list[Indices] = []
        self._stratum: list[Ints] = []

    @property
    def evaluated(self) -> int:
        """Number of inputs evaluated."""
        return len(self.first) + int(self.drawn.sum())

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
        """Standard error of the mean for inputs drawn like these, with that of the inputs not evaluated."""
        broken, repaired = self.estimate()
        left = (self.strata.sizes - self.drawn).astype(float)
        changes = broken + repaired - (broken - repaired) ** 2 / self.inputs
        return float(np.sqrt(changes + (left**2 * self._variances()).sum()) / self.inputs)

    def grow(self, wanted: npt.NDArray[np.generic]) -> None:
        """Evaluates the first ``wanted`` inputs of each stratum, as far as they are not yet evaluated."""
        until = np.clip(wanted, self.drawn, self.strata.sizes).astype(np.int64)
        positions, stratum = self.strata.between(self.drawn, until)
        changed = np.flatnonzero(self._evaluate(positions)[0]) if len(positions) else np.zeros(0, np.int64)
        self.count += np.bincount(stratum[changed], minlength=len(self.count))
        self._positions.append(positions[changed])
        self._stratum.append(stratum[changed])
        self.drawn = until

    def rates(self) -> Floats:
        """Expected rate of changed answers among the inputs of each stratum that were not evaluated."""
        changed, unchanged = self._posterior()
        return changed / (changed + unchanged)

    def estimate(self) -> tuple[float, float]:
        """Expected number of broken and of repaired answers among all inputs."""
        total = self.count + (self.strata.sizes - self.drawn) * self.rates()
        right = self.strata.right
        return self._broken + float(total[right].sum()), self._repaired + float(total[~right].sum())

    def predictions(self) -> tuple[Ints, Ints]:
        """Broken and repaired answers among all inputs in `DRAWS` predictions, ``(DRAWS,)`` each."""
        left, right = self.strata.sizes - self.drawn, self.strata.right
        changed, unchanged = self._posterior()
        rate = self._rng.beta(changed[:, None], unchanged[:, None], (len(left), DRAWS))
        totals = self.count[:, None] + self._rng.binomial(left[:, None], rate)
        return self._broken + totals[right].sum(axis=0), self._repaired + totals[~right].sum(axis=0)

    def until(self, settled: Settled) -> None:
        """Evaluates more inputs until a question is settled, or until every input is evaluated."""
        self.grow(np.where(self.strata.sizes * self.strata.rate >= 1, SOME, 0))
        while not self.complete and not settled(*self.predictions()):
            rates, left = self.rates(), self.strata.sizes - self.drawn
            weight = np.sqrt(left**2 * self._variances() + left * rates * (1 - rates))
            more = max((GROWTH - 1) * self.evaluated, STEP) * weight / weight.sum()
            whole = self.drawn + more >= NEARLY_ALL * self.strata.sizes
            self.grow(np.where(whole, self.strata.sizes, self.drawn + np.ceil(more)))

    def changed(self) -> WeightedChanges:
        """The changed answers of the sample, with weights that add up to the estimate."""
        where = np.concatenate([self.first, *self._positions])
        change = np.concatenate([self._first_change, *(self._signs[stratum] for stratum in self._stratum)])
        share = self.strata.sizes / np.maximum(self.drawn, 1)
        weight = np.concatenate([np.ones(len(self.first)), *(share[stratum] for stratum in self._stratum)])
        for kind, expected in zip((change > 0, change < 0), self.estimate(), strict=True):
            weight[kind] *= expected / max(weight[kind].sum(), 1e-12)
        order = np.argsort(where, kind="stable")
        order = order[change[order] != 0]
        return WeightedChanges(where[order], change[order].astype(np.float32), weight[order].astype(np.float32))

    @property
    def _signs(self) -> Change:
        """The change of a changed answer in each stratum."""
        return np.where(self.strata.right, 1, -1).astype(np.float32)

    @property
    def _broken(self) -> int:
        return int((self._first_change > 0).sum())

    @property
    def _repaired(self) -> int:
        return int((self._first_change < 0).sum())

    def _posterior(self) -> tuple[Floats, Floats]:
        """Parameters of the Beta distribution of the rate of changed answers in each stratum, ``(strata,)`` each."""
        odds = self.strata.rate / (1 - self.strata.rate)
        changed = PRIOR_SHAPE * np.maximum(odds, 1) + self.count
        return changed, PRIOR_SHAPE * np.maximum(1 / odds, 1) + self.drawn - self.count

    def _variances(self) -> Floats:
        """Variance of the rate of changed answers in each stratum, ``(strata,)``."""
        changed, unchanged = self._posterior()
        total = changed + unchanged
        return changed * unchanged / (total**2 * (total + 1))
