"""How near mutants are to being killed, and how near one more input would bring them. The rule kills at 1."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.strengthen.answers import Floats, Ints
from mutiny.verbs.strengthen.predicting import Expected, Flips

FARTHEST = 100.0
"""Largest distance, used for a mutant that is worse without any spread."""
DUST = 1e-9
PAIRED = ("wilcoxon", "paired-t")


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
        self.sums, self.mutants = originals.astype(np.float64), [one.astype(np.float64) for one in mutants]
        self.expected, self.prospects = expected, prospects
        self.sign, own = sign, expected.shares.mean(axis=1, dtype=np.float64)
        self.falls = np.array([sign * (own - one.shares.mean(axis=1, dtype=np.float64)) for one in prospects]).T
        sizes = np.array([len(one) for one in mutants])
        self.freedom = np.maximum(1, sizes + len(originals) - 2)
        self.needed = _needed(rule, len(originals), sizes)
        self.noise, self.spreads = _squares(self.sums), np.array([_squares(one) for one in self.mutants])
        self.gaps = np.array([sign * (self.sums.mean() - one.mean()) for one in self.mutants])

    def reached(self) -> Floats:
        """Fall with the tests so far."""
        return self._share(self.gaps, self.noise + self.spreads)

    def ahead(self, candidates: Ints) -> Floats:
        """Fall with each candidate."""
        own = self.expected.noise[candidates] + 2 * self.expected.shares[candidates] @ _centred(self.sums)
        theirs = [
            one.noise[candidates] + 2 * one.shares[candidates] @ _centred(sums)
            for one, sums in zip(self.prospects, self.mutants, strict=True)
        ]
        squares = (self.noise + own)[:, None] + self.spreads + np.array(theirs).T
        return self._share(self.gaps + self.falls[candidates], squares)

    def take(self, candidate: int) -> None:
        """Adds a candidate, with its expected shares and noise."""
        self.noise += self.expected.noise[candidate] + 2 * float(self.expected.shares[candidate] @ _centred(self.sums))
        for number, (one, sums) in enumerate(zip(self.prospects, self.mutants, strict=True)):
            self.spreads[number] += one.noise[candidate] + 2 * float(one.shares[candidate] @ _centred(sums))
            sums += one.shares[candidate]
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
        known = [one.astype(np.float64) for one in differences]
        self.sums = np.array([(one.sum(), np.square(one).sum(), np.maximum(one, 0).sum()) for one in known])
        self.each = np.stack([np.array([one.mean, one.square, one.lost]).T for one in prospects], axis=1)
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
        step = square / weight  # what one more input usually changes: the exact test is that much stricter
        sure = (total - np.sign(total) * np.minimum(step, np.abs(total))) / np.sqrt(np.maximum(square, DUST))
        effect = lost / weight - 0.5
        found: Floats = np.where(
            total > DUST, np.minimum(sure / self.surprise, effect / self.beta), np.minimum(total, 0.0)
        )
        return found


def _needed(rule: KillRule, originals: int, instances: Ints) -> Floats:
    """Fall in pooled standard deviations at which the rule kills."""
    beta = rule.beta or 0.0
    effect = 2**0.5 * float(norm.ppf(min(beta, 1 - 1e-6))) if rule.effect == "a12" else beta
    sure = float(norm.isf(rule.alpha / 2)) * np.sqrt(1 / originals + 1 / instances)
    found: Floats = np.maximum(max(effect, DUST), 0.0 * sure if rule.test in PAIRED else sure)
    return found


def _centred(values: Floats) -> Floats:
    found: Floats = values - values.mean()
    return found


def _squares(values: Floats) -> float:
    return float(np.square(_centred(values)).sum())
