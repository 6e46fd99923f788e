"""Kill distance: how near mutants are to being killed, and how near one more input would bring them.

The kill rule kills at a distance of 1. Candidates have no labels, so the metric of an answer to a candidate is its
expectation over the labels that the originals predict.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.strengthen.answers import Answers, Floats, Ints

Belief = npt.NDArray[np.float32]
"""Predicted labels: mean class probabilities of the originals ``(n, classes)``, or mean outputs ``(n, d)``."""
Singles = npt.NDArray[np.float32]
FARTHEST = 100.0
"""Largest distance, used for a mutant that is worse without any spread."""
DUST = 1e-9
"""Smallest number that counts as different from 0."""
PAIRED = ("wilcoxon", "paired-t")
GOALS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
"""Distances past the rule's threshold that mutants should reach, one goal after the other.

The first goal is that all are predicted to be killed. Further goals add a margin, because predictions may be wrong and
other mutants harder to kill."""
GAIN = 1e-6
"""Resolution of gains: smaller differences count as equal."""


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected metric of answers to unlabeled inputs.

    Attributes:
        shares: Probability of being correct, or loss, for each input and answer, ``(n, answers)``.
        noise: Expected sum of squares around the mean over answers that each input adds, ``(n,)``.
    """

    shares: Singles
    noise: Floats


def expected(task: Task, answers: Answers, belief: Belief) -> Expected:
    """Expected metric of the answers of several networks.

    An answer of class ``a`` is correct with the mean probability that the originals give to ``a``. The loss of a
    regression's answer is its distance to their mean output. All networks share one label, so a label that none of them
    gives adds nothing to the spread between them.

    Args:
        task: Task of the networks.
        answers: Answers ``(answers, n)``, or ``(answers, n, d)`` for regression.
        belief: Predicted labels.

    >>> belief = np.array([[0.9, 0.1]], np.float32)
    >>> metric = expected(Classification(2), np.array([[0], [0], [1], [1]]), belief)
    >>> metric.shares.round(2).tolist(), metric.noise.round(2).tolist()  # with either label, two of four are right
    ([[0.8999..., 0.8999..., 0.1000..., 0.1000...]], [1.0])
    """
    if not isinstance(task, Classification):
        errors = np.abs(answers - belief)
        shares = (np.square(errors) if task.metric == "mse" else errors).mean(axis=-1).T
        shares = np.nan_to_num(shares, nan=np.float64(np.finfo(np.float32).max) ** 0.25, posinf=1e9)
        spread = np.square(shares - shares.mean(axis=1, keepdims=True)).sum(axis=1)
        return Expected(shares.astype(np.float32), spread)
    count, inputs = answers.shape
    every = np.arange(inputs)
    shares = np.empty((inputs, count), np.float32)
    votes = np.zeros((inputs, task.classes), np.float32)
    for number, answer in enumerate(answers):
        known = np.maximum(answer, 0)
        shares[:, number] = np.where(answer < 0, 0, belief[every, known])
        votes[every, known] += answer >= 0
    noise = shares.sum(axis=1, dtype=np.float64) - (belief * np.square(votes)).sum(axis=1, dtype=np.float64) / count
    return Expected(shares, np.maximum(noise, 0))


@dataclass(frozen=True, eq=False)
class Flips:
    """Expected counts of a test over inputs: per input, instances that become wrong minus those that become right.

    Attributes:
        mean: Expected difference, ``(n,)``.
        square: Expected square of the difference.
        lost: Expected positive part of the difference.
    """

    mean: Floats
    square: Floats
    lost: Floats


def expected_flips(task: Task, originals: Answers, instances: Answers, belief: Belief) -> Flips:
    """Expected counts for tests over inputs; a regression's answer is correct within the tolerance of ``belief``.

    Args:
        task: Task of the networks.
        originals: Answers of the originals, ``(originals, n)`` or ``(originals, n, d)``.
        instances: Answers of a mutant's instances, ``(repetitions, originals, n)`` or ``(..., n, d)``.
        belief: Predicted labels.

    >>> belief = np.array([[0.75, 0.25]], np.float32)
    >>> flips = expected_flips(Classification(2), np.array([[0]]), np.array([[[1]], [[0]]]), belief)
    >>> float(flips.mean[0]), float(flips.square[0]), float(flips.lost[0])  # +1 if the label is 0, else -1
    (0.5, 1.0, 0.75)
    """
    rounds = len(instances)
    if not isinstance(task, Classification):
        before = (np.abs(originals - belief) <= task.tolerance).all(axis=-1).sum(axis=0)
        after = (np.abs(instances - belief) <= task.tolerance).all(axis=-1).sum(axis=(0, 1))
        change = (rounds * before - after).astype(np.float64)
        return Flips(change, np.square(change), np.maximum(change, 0))
    change = rounds * _votes(originals, task.classes) - _votes(
        instances.reshape(-1, instances.shape[-1]), task.classes
    )  # (n, classes): the difference if that is the label
    mean, square, lost = ((belief * part).sum(axis=1) for part in (change, np.square(change), np.maximum(change, 0)))
    return Flips(mean, square, lost)


def _votes(answers: Answers, classes: int) -> Floats:
    """Number of answers of each class, ``(n, classes)``."""
    votes, every = np.zeros((answers.shape[1], classes)), np.arange(answers.shape[1])
    for answer in answers:
        votes[every, np.maximum(answer, 0)] += answer >= 0
    return votes


class KillDistance(ABC):
    """How near each mutant is to being killed, as candidates are added to the tests one by one."""

    @abstractmethod
    def reached(self) -> Floats:
        """Distance of each mutant with the tests so far, ``(mutants,)``."""

    @abstractmethod
    def ahead(self, candidates: Ints) -> Floats:
        """Distances after adding each candidate alone, ``(candidates, mutants)``."""

    @abstractmethod
    def take(self, candidate: int) -> None:
        """Adds a candidate to the tests."""


class BetweenTrainings(KillDistance):
    """For rules that compare metrics of originals and instances: the fall of the mean in pooled standard deviations.

    Only the mean fall and the spread of sums over inputs count, so the number of inputs does not matter.

    Args:
        rule: Resolved kill rule.
        originals: Sums of the metric over the tests so far, ``(originals,)``.
        mutants: Sums for the instances of each mutant, ``(instances,)`` each.
        expected: Expected metric of the originals on the candidates.
        prospects: Expected metric of each mutant's instances on the candidates.
        sign: 1 if a higher metric is better, else -1.
    """

    def __init__(
        self,
        rule: KillRule,
        originals: Floats,
        mutants: Sequence[Floats],
        expected: Expected,
        prospects: Sequence[Expected],
        sign: int,
    ) -> None:
        self.sums, self.mutants = originals.astype(np.float64), [sums.astype(np.float64) for sums in mutants]
        self.expected, self.prospects = expected, prospects
        self.sign, mean = sign, expected.shares.mean(axis=1, dtype=np.float64)
        self.falls = np.array([sign * (mean - mutant.shares.mean(axis=1, dtype=np.float64)) for mutant in prospects]).T
        sizes = np.array([len(sums) for sums in mutants])
        self.freedom = np.maximum(1, sizes + len(originals) - 2)
        self.needed = _needed(rule, len(originals), sizes)
        self.noise, self.spreads = _squares(self.sums), np.array([_squares(sums) for sums in self.mutants])
        self.gaps = np.array([sign * (self.sums.mean() - sums.mean()) for sums in self.mutants])

    def reached(self) -> Floats:
        """Fall with the tests so far."""
        return self._share(self.gaps, self.noise + self.spreads)

    def ahead(self, candidates: Ints) -> Floats:
        """Fall with each candidate."""
        of_originals = self.expected.noise[candidates] + 2 * self.expected.shares[candidates] @ _centered(self.sums)
        of_mutants = [
            mutant.noise[candidates] + 2 * mutant.shares[candidates] @ _centered(sums)
            for mutant, sums in zip(self.prospects, self.mutants, strict=True)
        ]
        squares = (self.noise + of_originals)[:, None] + self.spreads + np.array(of_mutants).T
        return self._share(self.gaps + self.falls[candidates], squares)

    def take(self, candidate: int) -> None:
        """Adds a candidate, with its expected shares and noise."""
        self.noise += self.expected.noise[candidate] + 2 * float(self.expected.shares[candidate] @ _centered(self.sums))
        for number, (mutant, sums) in enumerate(zip(self.prospects, self.mutants, strict=True)):
            self.spreads[number] += mutant.noise[candidate] + 2 * float(mutant.shares[candidate] @ _centered(sums))
            sums += mutant.shares[candidate]
        self.sums += self.expected.shares[candidate]
        self.gaps += self.falls[candidate]

    def _share(self, gaps: Floats, squares: Floats) -> Floats:
        spread = np.sqrt(np.maximum(squares, DUST) / self.freedom)
        return np.clip(np.where(np.abs(gaps) <= DUST, 0, gaps / spread / self.needed), -FARTHEST, FARTHEST)


class OverInputs(KillDistance):
    """For rules that count inputs whose answers became wrong or right: significance or effect, whichever is smaller.

    Args:
        rule: Resolved kill rule.
        differences: For each mutant, answers lost minus answers gained per test so far, ``(tests,)`` each.
        prospects: Expected differences on the candidates.
    """

    def __init__(self, rule: KillRule, differences: Sequence[Ints], prospects: Sequence[Flips]) -> None:
        changes = [mutant.astype(np.float64) for mutant in differences]
        self.sums = np.array(
            [(change.sum(), np.square(change).sum(), np.maximum(change, 0).sum()) for change in changes]
        )
        self.each = np.stack([np.array([flips.mean, flips.square, flips.lost]).T for flips in prospects], axis=1)
        self.surprise, self.beta = float(norm.isf(rule.alpha / 2)), rule.beta or DUST

    def reached(self) -> Floats:
        """Distance with the tests so far."""
        return self._share(self.sums)

    def ahead(self, candidates: Ints) -> Floats:
        """Distance with each candidate."""
        return self._share(self.sums + self.each[candidates])

    def take(self, candidate: int) -> None:
        """Adds a candidate, with its expected differences."""
        self.sums = self.sums + self.each[candidate]

    def _share(self, sums: Floats) -> Floats:
        total, square, lost = np.moveaxis(sums, -1, 0)
        weight = np.maximum(2 * lost - total, DUST)  # sum of absolute differences
        step = square / weight  # mean change per input, by which the exact test is stricter than the normal one
        sure = (total - np.sign(total) * np.minimum(step, np.abs(total))) / np.sqrt(np.maximum(square, DUST))
        effect = lost / weight - 0.5
        distance: Floats = np.where(
            total > DUST, np.minimum(sure / self.surprise, effect / self.beta), np.minimum(total, 0.0)
        )
        return distance


def _needed(rule: KillRule, originals: int, instances: Ints) -> Floats:
    """Fall in pooled standard deviations at which the rule kills."""
    beta = rule.beta or 0.0
    effect = 2**0.5 * float(norm.ppf(min(beta, 1 - 1e-6))) if rule.effect == "a12" else beta
    sure = float(norm.isf(rule.alpha / 2)) * np.sqrt(1 / originals + 1 / instances)
    fall: Floats = np.maximum(max(effect, DUST), 0.0 * sure if rule.test in PAIRED else sure)
    return fall


def _centered(values: Floats) -> Floats:
    centered: Floats = values - values.mean()
    return centered


def _squares(values: Floats) -> float:
    return float(np.square(_centered(values)).sum())


def over_inputs(rule: KillRule) -> bool:
    """Whether a rule counts inputs instead of comparing trainings."""
    return rule.effect == "cohen-g"


def even(labels: Sequence[str]) -> Floats:
    """Weights of mutants with which every operator counts the same.

    >>> even(["WI", "WI", "NI"]).tolist()
    [0.25, 0.25, 0.5]
    """
    names, where, counts = np.unique(labels, return_inverse=True, return_counts=True)
    weights: Floats = 1 / counts[where] / len(names)
    return weights
