"""The kill rule: significance and effect size that a mutant must reach to be killed. MUFF, eq. 2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from mutiny.core.errors import BadInput
from mutiny.core.records import KillBits, KillEvidence, MutantRecord
from mutiny.core.stats import (
    a12,
    cohen_d,
    cohen_g,
    fisher,
    glm,
    mann_whitney,
    paired_t,
    sign_flip_counts,
    welch,
    wilcoxon,
)

MEDIUM = {"cohen-d": 0.5, "a12": 0.64, "cohen-g": 0.15}
"""Thresholds of a medium effect: Cohen for d and g, Vargha and Delaney for A12."""


@dataclass(frozen=True)
class Sample:
    """The originals and one mutant on one set of inputs.

    Attributes:
        originals: Metric of each original, ``(m,)``.
        mutants: Metric of each instance, ``(k, m)``; column i comes from original i, and the last ones may be missing.
        right: Number of correct answers of each original, ``(m,)``.
        mutants_right: Number of correct answers of each instance, ``(k, m)``.
        differences: Per input, number of instances that became wrong minus number that became right, ``(n,)``.
        weights: Number of times that each input counts, ``(n,)``; once by default.
    """

    originals: npt.NDArray[np.float64]
    mutants: npt.NDArray[np.float64]
    right: npt.NDArray[np.int64]
    mutants_right: npt.NDArray[np.int64]
    differences: npt.NDArray[np.int16]
    weights: npt.NDArray[np.int64] | None = None

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return len(self.differences)

    @cached_property
    def histogram(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Distinct differences and how many inputs have each."""
        low = int(self.differences.min())
        counts = np.bincount(self.differences.astype(np.int64) - low, weights=self.weights).astype(np.int64)
        return np.arange(low, low + len(counts)), counts

    def of_originals(self, chosen: npt.NDArray[np.int64]) -> Sample:
        """A bootstrap draw: the sample of some originals, with repetition. Other instances replace missing ones."""
        instances = chosen % self.mutants.shape[1]
        return Sample(
            self.originals[chosen],
            self.mutants[:, instances],
            self.right[chosen],
            self.mutants_right[:, instances],
            self.differences,
        )

    def of_inputs(self, weights: npt.NDArray[np.int64]) -> Sample:
        """A bootstrap draw of inputs; it matters only to tests over inputs."""
        return replace(self, weights=weights)


@dataclass(frozen=True)
class Judged:
    """A mutant's record, with the sample and the bits that it was judged from."""

    record: MutantRecord
    sample: Sample
    bits: KillBits


def _per_original(sample: Sample) -> npt.NDArray[np.float64]:
    means: npt.NDArray[np.float64] = sample.mutants.mean(axis=0)
    return means


def _fisher(sample: Sample) -> float:
    right, mutants_right = int(sample.right.sum()), int(sample.mutants_right.sum())
    return fisher(right, sample.right.size * sample.inputs, mutants_right, sample.mutants_right.size * sample.inputs)


TESTS: dict[str, Callable[[Sample], float]] = {
    "glm": lambda s: glm(s.originals, s.mutants.ravel()),
    "welch": lambda s: welch(s.originals, s.mutants.ravel()),
    "mann-whitney": lambda s: mann_whitney(s.originals, s.mutants.ravel()),
    "wilcoxon": lambda s: wilcoxon(s.originals, _per_original(s)),
    "paired-t": lambda s: paired_t(s.originals, _per_original(s)),
    "fisher": _fisher,
    "mcnemar": lambda s: sign_flip_counts(*s.histogram),
}


def _fall(sample: Sample, test: str, higher_is_better: bool) -> float:
    """A number that is positive if the mutant is worse in the terms of the test; its size means nothing."""
    if test == "fisher":
        return float(sample.right.mean() - sample.mutants_right.mean())
    if test == "mcnemar":
        values, counts = sample.histogram
        return float((values * counts).sum())
    sign = 1 if higher_is_better else -1
    if test == "mann-whitney":
        return sign * (a12(sample.originals, sample.mutants.ravel()) - 0.5)
    if test == "wilcoxon":
        falls = sample.originals - _per_original(sample)
        return sign * float((np.sign(falls) * rankdata(np.abs(falls))).sum())
    return sign * float(sample.originals.mean() - sample.mutants.mean())


EFFECTS = ("cohen-d", "a12", "cohen-g")


@dataclass(frozen=True)
class KillRule:
    """Kills a mutant that is significantly worse, with an effect of at least ``beta``. MUFF, eq. 2.

    With one original there is no spread between trainings to compare with, so the rule becomes a paired exact test over
    inputs: McNemar's, pooled over repetitions by flipping the sign of each input's total (`stats.sign_flip`), because
    repetitions share their inputs and must not be counted as independent.

    Test and effect must both point to "worse". If neither group has any spread, a mutant with an equal mean survives
    (p = 1, effect 0); with tests that compare means, one with a worse mean is killed (p = 0, infinite Cohen's d); rank
    tests and exact tests need no such convention.

    Args:
        test: Statistical test: ``auto``, ``glm``, ``welch``, ``mann-whitney``, ``wilcoxon``, ``paired-t``, ``fisher``
            or ``mcnemar``. ``glm`` is the test of MUFF and DeepCrime; ``wilcoxon`` and ``paired-t`` average mutants per
            original; ``fisher`` pools correctness; ``mcnemar`` pairs inputs; ``auto`` is ``glm``, or ``mcnemar`` with
            one original.
        alpha: Significance level of the kill rule.
        effect: Effect size: ``auto``, ``cohen-d``, ``a12`` or ``cohen-g``. ``auto`` is Cohen's d, or g with McNemar's
            test.
        beta: Effect size that a mutant needs to be killed; a medium effect by default. That is 0.5, 0.64 and 0.15 for
            d, A12 and g.

    >>> rule = KillRule().resolve(originals=20)
    >>> rule.test, rule.effect, rule.beta
    ('glm', 'cohen-d', 0.5)
    >>> KillRule().resolve(originals=1).test
    'mcnemar'
    """

    test: str = "auto"
    alpha: float = 0.05
    effect: str = "auto"
    beta: float | None = None

    def __post_init__(self) -> None:
        if self.test not in ("auto", *TESTS):
            raise BadInput("test", repr(self.test), f"one of auto, {', '.join(TESTS)}")
        if self.effect not in ("auto", *EFFECTS):
            raise BadInput("effect", repr(self.effect), f"one of auto, {', '.join(EFFECTS)}")
        if not 0 < self.alpha < 1:
            raise BadInput("alpha", self.alpha, "a probability between 0 and 1")
        if self.beta is not None and not self.beta >= 0:
            raise BadInput("beta", self.beta, "a number of at least 0")

    def resolve(self, originals: int) -> KillRule:
        """This rule with every ``"auto"`` resolved for a number of originals."""
        test = self.test if self.test != "auto" else ("mcnemar" if originals == 1 else "glm")
        if originals == 1 and test in ("glm", "welch", "mann-whitney", "wilcoxon", "paired-t"):
            raise BadInput(
                "test",
                repr(test),
                "mcnemar or fisher with a single original",
                f"{test} compares trainings; give at least two originals.",
            )
        over_inputs = test == "mcnemar" or originals == 1
        effect = self.effect if self.effect != "auto" else ("cohen-g" if over_inputs else "cohen-d")
        if (effect == "cohen-g") != over_inputs:
            raise BadInput(
                "effect",
                repr(effect),
                f"{'cohen-g' if over_inputs else 'cohen-d or a12'} with {test}",
                "Cohen's g counts inputs, the others compare trainings.",
            )
        return KillRule(test, self.alpha, effect, MEDIUM[effect] if self.beta is None else self.beta)

    def judge(self, sample: Sample, higher_is_better: bool) -> KillEvidence:
        """Applies the rule, which must be resolved, to a sample."""
        p_value, effect = TESTS[self.test](sample), self._effect_size(sample, higher_is_better)
        worse = _fall(sample, self.test, higher_is_better) > 0 and effect > (0.5 if self.effect == "a12" else 0.0)
        killed = worse and p_value < self.alpha and effect >= (self.beta or 0.0)
        note = "no spread between instances: the answer is defined, not computed" if np.isinf(effect) else ""
        return KillEvidence(bool(killed), float(p_value), float(effect), note)

    def _effect_size(self, sample: Sample, higher_is_better: bool) -> float:
        if self.effect == "cohen-g":
            return cohen_g(*sample.histogram)
        originals, mutants = sample.originals, sample.mutants.ravel()
        if self.effect == "a12":
            return a12(originals, mutants) if higher_is_better else a12(mutants, originals)
        return cohen_d(originals, mutants) * (1 if higher_is_better else -1)
