"""Evaluates mutant instances on as few inputs as the verdict needs.

Near the boundary that a search looks for, a mutant changes its answer to few inputs, mostly those on which its original
was least sure. A *look* (as in sequential testing) predicts the answer of every instance to every input from the
answers known so far, sorts the inputs by the sureness of the prediction, and draws a random sample from each stratum.
The difference between predicted and real answers in the sample corrects the prediction without bias and bounds its
error. If the verdict can still change within the bounds, the strata that matter are evaluated in full or sampled more,
and another look is taken; in the end everything is evaluated and the result is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats
from torch import Tensor

from mutiny.core.checks import check_whole, is_number
from mutiny.core.errors import BadInput
from mutiny.core.records import Basis
from mutiny.faults.evaluation.bounds import (
    ErrorBounds,
    bernstein,
    extrapolated,
    flip_rates,
    hidden,
    loss_moments,
    surprising,
    unseen,
)
from mutiny.faults.evaluation.estimate import Estimate
from mutiny.faults.evaluation.instance import GROUPS, STRATA, SURENESS, Answer, ScreenedInstance, StratifiedSample
from mutiny.faults.evaluation.prediction import AnswerMemory
from mutiny.subjects.inference.passes import CleanPass
from mutiny.subjects.tasks import Classification, Task

FAR = 3.0
"""Smallest sureness at which a stratum without a changed answer may be extrapolated."""
LOOKS = 8
"""Most looks; after that everything is evaluated."""
MOST_MORE = 8.0
"""Largest factor by which a sample grows from look to look."""
FEWEST_CHECKS, MOST_CHECKS = 1000, 50_000
LEAST_WORK = 2e10
"""Operations of a pass from which on screening pays, also for drastic operators (measured: docs/screening.md)."""
LOW = np.tile(np.concatenate([[0.0], SURENESS]), GROUPS)
"""Smallest sureness of each stratum."""

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Screening:
    """Settings that decide when a verdict is sure enough to skip the remaining inputs.

    Args:
        confidence: Confidence required to stop before all inputs are evaluated. It is the probability that the verdict
            is the one that evaluating every input would give.
        fewest: Smallest number of inputs that is screened; smaller sets are always evaluated in full.
        first: Number of inputs drawn from each stratum and instance at the first look.
        tail_checks: Number of extrapolated (instance, input) pairs, at this or a larger strength, that must be checked
            at random without a surprise before a verdict may rest on extrapolation. By default as many as reveal, at
            the stated confidence, any share of surprises that would kill by itself, at least 1,000 and at most 50,000.
        least_work: Smallest number of operations of one pass over a set that is screened; sets that take fewer are
            evaluated in full, which is faster than finding out which inputs matter. 0 screens small networks, too.
    """

    confidence: float = 0.999
    fewest: int = 2000
    first: int = 24
    tail_checks: int | None = None
    least_work: float = LEAST_WORK

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence < 1:
            fix = "Use exact=True to evaluate every input."
            raise BadInput("confidence", self.confidence, "a probability of at least 0.5 and below 1", fix)
        for name in ("fewest", "first", "tail_checks"):
            value = getattr(self, name)
            if (name, value) != ("tail_checks", None):
                check_whole(name, value)
        if not is_number(self.least_work) or not 0 <= self.least_work < np.inf:
            raise BadInput("least_work", repr(self.least_work), "a number of operations, at least 0")

    def checks(self, share: float) -> int:
        """Number of random checks of extrapolated answers, if changes of this share of the inputs suffice to kill.

        >>> Screening().checks(share=0.0007)
        9869
        """
        if self.tail_checks is not None:
            return self.tail_checks
        return int(np.clip(np.ceil(np.log(1 / (1 - self.confidence)) / max(share, 1e-9)), FEWEST_CHECKS, MOST_CHECKS))


@dataclass(frozen=True)
class Look:
    """Estimates from one look.

    Attributes:
        estimates: Estimates that may decide the verdict, the one with the fewest assumptions first.
        plain: Estimate without assumptions.
        bold: Estimate with extrapolation, even if too few of its inputs were checked yet.
    """

    estimates: tuple[Estimate, ...]
    plain: Estimate
    bold: Estimate


class ScreenedMutant:
    """Screened evaluation of one mutant on one set of inputs.

    Args:
        task: Task that decides which answers are correct.
        clean: Clean passes of the originals.
        targets: Targets in the task's form, on the CPU.
        answer: Function that evaluates an instance on some inputs.
        rng: Source of random samples.
        screening: Confidence and sample sizes.
        checks: Number of extrapolated answers that must be checked before extrapolation is used.
        memory: Answers at other strengths.
        strength: Strength of the mutant; ``None`` if it has none.
    """

    def __init__(
        self,
        task: Task,
        clean: Sequence[CleanPass],
        targets: Tensor,
        answer: Answer,
        rng: np.random.Generator,
        screening: Screening,
        checks: int,
        memory: AnswerMemory,
        strength: float | None,
    ) -> None:
        self.task, self.clean, self.targets, self.answer = task, clean, targets, answer
        self.rng, self.screening, self.checks, self.memory, self.strength = rng, screening, checks, memory, strength
        self.inputs = clean[0].outcome.inputs
        self.instances: list[ScreenedInstance] = []
        self.looks, self.checked = 0, memory.checked(strength)
        self._error = 0.0
        self._wanted = np.full(GROUPS * STRATA, screening.first)
        self._drawn: list[StratifiedSample] = []
        self._far = np.zeros(GROUPS * STRATA, bool)
        self._expected = np.zeros(GROUPS * STRATA)

    def add_repetition(self) -> None:
        """Adds an instance of each original."""
        repetition = self.repetitions
        for original, clean in enumerate(self.clean):
            start = self.memory.start.get(original)
            instance = ScreenedInstance(original, repetition, clean, self.task, self.targets, start)
            self.memory.start[original] = instance.stratum.copy() if start is None else start
            self.instances.append(instance)
            if self.looks:  # the other instances have had their first sample
                instance.draw(np.full_like(self._wanted, self.screening.first), self.rng, self.answer)

    @property
    def repetitions(self) -> int:
        """Instances per original."""
        return len(self.instances) // len(self.clean)

    @property
    def evaluated(self) -> int:
        """Number of (instance, input) pairs evaluated so far."""
        return int(sum(instance.known.sum() for instance in self.instances))

    def look(self) -> Look:
        """Predicts answers, draws a sample and bounds the errors; after too many looks, evaluates everything."""
        if self.looks >= LOOKS:
            self._finish()
        for instance in self.instances:
            if self.looks and not instance.known.all():
                instance.predict(self.memory, self.strength)
        self._drawn = [instance.draw(self._wanted, self.rng, self.answer) for instance in self.instances]
        self.looks += 1
        if self.evaluated == len(self.instances) * self.inputs:
            exact = self._estimate(ErrorBounds(0.0, 0.0, np.zeros(len(self.instances))), Basis.EXACT)
            return Look((exact,), exact, exact)
        risk = self._risk
        plain = self._estimate(self._errors(self._calm, risk / 2).plus(self._unseen(risk / 2)), Basis.SAMPLED)
        if not isinstance(self.task, Classification):
            self._check(int(self._table("count").sum()))
            bold = self._estimate(self._errors(self._calm, risk, bold=True), Basis.EXTRAPOLATED)
            return Look((plain, bold) if self.checked >= self.checks else (plain,), plain, bold)
        self._extrapolate(risk / 8)
        if not self._far.any():
            return Look((plain,), plain, plain)
        calm = self._calm & ~self._far
        errors = self._errors(self._calm | self._far, risk / 4).plus(self._unseen(risk / 8, calm))
        errors = errors.plus(self._hidden(risk / 2))
        self._error = errors.mean
        bold = self._estimate(errors, Basis.EXTRAPOLATED)
        return Look((plain, bold) if self.checked >= self.checks else (plain,), plain, bold)

    @property
    def _calm(self) -> npt.NDArray[np.bool_]:
        """Strata whose samples show no changed answer; none for regression, because losses always change."""
        if not isinstance(self.task, Classification):
            return np.zeros(len(LOW), bool)
        return np.array([not self._in(stratum, "change").any() for stratum in range(len(LOW))])

    def _unseen(self, risk: float, strata: npt.NDArray[np.bool_] | None = None) -> float:
        strata = self._calm if strata is None else strata
        size, count = self._table("size"), self._table("count")
        choices = 2.0 ** (size > count).any(axis=0).sum()  # the calm strata are chosen after seeing the sample
        left, drawn = (size - count)[:, strata].astype(float), count[:, strata].astype(float)
        return unseen(left, drawn, risk / choices)

    @property
    def _risk(self) -> float:
        """Risk per look, so that all looks together stay within the requested risk."""
        return (1 - self.screening.confidence) / LOOKS

    def _hidden(self, risk: float) -> int:
        return hidden(float(self._expected[self._far].sum()), risk)

    # Bounds from the sample

    def _table(self, attribute: str) -> Counts:
        return np.array([getattr(drawn, attribute) for drawn in self._drawn])

    def _in(self, stratum: int, attribute: str) -> Floats:
        return np.concatenate([getattr(drawn, attribute)[drawn.stratum == stratum] for drawn in self._drawn])

    def _errors(self, left_out: npt.NDArray[np.bool_], risk: float, bold: bool = False) -> ErrorBounds:
        """Error bounds over all strata except those left out."""
        size, count = self._table("size"), self._table("count")
        moments, peaks = self._moments(risk / 2, bold), self._peaks(bold)
        own_moments = np.array(
            [
                np.bincount(drawn.stratum, drawn.change**2, len(LOW)) / np.maximum(drawn.count, 1)
                for drawn in self._drawn
            ]
        )
        left = np.where(left_out, 0, size - count).astype(float)
        return bernstein(left, count.astype(float), moments, own_moments, peaks, risk / 2)

    def _peaks(self, bold: bool) -> Floats:
        """Assumed largest change of one share of the metric in each stratum.

        A loss may change by twice the largest change seen in any stratum, clean losses included; if ``bold``, by twice
        the largest change in the stratum's own sample.
        """
        if isinstance(self.task, Classification):
            return np.ones(len(LOW))
        seen = np.array([np.abs(self._in(stratum, "change")).max(initial=0.0) for stratum in range(len(LOW))])
        return 2 * (seen if bold else np.full(len(LOW), max(seen.max(), *(c.shares.max() for c in self.clean))))

    def _moments(self, risk: float, bold: bool) -> Floats:
        """Bounds of the mean squared change in each stratum."""
        changes = [self._in(stratum, "change") for stratum in range(len(LOW))]
        if isinstance(self.task, Classification):
            return flip_rates(self._table("count").sum(axis=0), changes, risk)
        return loss_moments(changes, self._peaks(bold), risk)

    def _extrapolate(self, risk: float) -> None:
        """Determines which strata can be extrapolated and how many changed answers each may contain."""
        self._far[:], self._expected[:] = False, 0.0
        if self.looks == 1:
            return
        candidates = [int(s) for s in np.flatnonzero(LOW >= FAR) if self._table("size")[:, s].any()]
        for stratum in candidates:
            moves, changed = self._in(stratum, "move"), self._in(stratum, "change") != 0
            if surprising(moves, changed, LOW[stratum]):
                self.memory.trusted = False
            if not changed.any():
                sureness = np.concatenate([i.sureness[i.stratum == stratum] for i in self.instances])
                self._expected[stratum] = extrapolated(moves, sureness, risk / len(candidates))
                self._far[stratum] = self._expected[stratum] <= len(sureness) / max(len(moves), 1)
                self._check(len(moves) if self._far[stratum] else 0)
        self._far &= self.memory.trusted
        self.memory.learn(np.concatenate([drawn.move[drawn.stratum >= STRATA] for drawn in self._drawn]))

    def _check(self, count: int) -> None:
        self.checked += count
        self.memory.check(self.strength, count)

    def _estimate(self, errors: ErrorBounds, basis: Basis) -> Estimate:
        shape = (-1, len(self.clean))
        ups, downs, totals = [], [], []
        for instance, drawn in zip(self.instances, self._drawn, strict=True):
            weight = (drawn.size - drawn.count) / np.maximum(drawn.count, 1)
            change = np.bincount(drawn.stratum, drawn.change, len(LOW))
            fall = np.bincount(drawn.stratum, drawn.change < 0, len(LOW))
            totals.append(instance.shares.sum() + (weight * change).sum())
            downs.append((weight * fall).sum())
            ups.append((weight * (change + fall)).sum() if isinstance(self.task, Classification) else 0.0)
        down, up = float(sum(downs)), float(sum(ups))
        return Estimate(
            metrics=np.array(totals).reshape(shape) / self.inputs,
            shift=errors.mean / self.inputs / len(self.instances),
            spread=errors.norm / self.inputs,
            each=errors.each.reshape(shape) / self.inputs,
            downs=(max(0.0, down - errors.mean), down + errors.mean),
            ups=(max(0.0, up - errors.mean), up + errors.mean),
            right=np.array([np.packbits(i.right) for i in self.instances]).reshape(*shape, -(-self.inputs // 8)),
            inputs=self.inputs,
            evaluated=self.evaluated,
            basis=basis,
        )

    # Planning the next look

    def refine(self, plain: float, bold: float) -> None:
        """Plans the next look, and evaluates strata in full where that is cheaper than sampling.

        Args:
            plain: Share of the plain estimate's error at which the verdict would be clear, 0 to 1.
            bold: The same for the bold estimate.
        """
        if self.looks >= LOOKS:
            self._finish()
            return
        if self.looks == 1:  # later looks have other strata than the first
            return
        size, count = self._table("size"), self._table("count")
        growth = self._growth((size - count).astype(float), count, max(plain, 1e-3), max(bold, 1e-3))
        for stratum in np.flatnonzero((size > count).any(axis=0) & (growth > 1)):
            wanted = int(np.ceil(max(count[:, stratum].max(), 1) * growth[stratum]))
            self._wanted[stratum] = wanted
            for row, instance in enumerate(self.instances):
                if 0 < size[row, stratum] - count[row, stratum] <= 3 * wanted:
                    instance.evaluate(np.flatnonzero(instance.stratum == stratum), self.answer)
        if 2 * self.evaluated > len(self.instances) * self.inputs:
            self._finish()

    def _growth(self, left: Floats, count: Counts, plain: float, bold: float) -> Floats:
        """Factor by which the sample of each stratum should grow; at most 1 if it need not grow."""
        open_ = left.any(axis=0)
        calm = self._calm & open_
        counted = open_ & ~calm
        weight = left / np.maximum(count, 1)
        growth = np.ones(len(LOW))
        losses = not isinstance(self.task, Classification)
        allowed = bold if self._far.any() or losses else plain
        if losses and bold == 1:
            growth[counted] = np.clip(self.checks / max(count.sum(), 1), 1.0, MOST_MORE)
        elif counted.any() and allowed < 1:
            variance = np.where(counted, (left * weight).sum(axis=0) * self._moments(0.01, bold=True), 0.0)
            fair = allowed**2 * variance.sum() / counted.sum()
            growth[counted] = np.clip(variance[counted] / max(fair, 1e-12), 1.0, MOST_MORE)
            steps = weight.max(axis=0)[counted]
            growth[counted] = np.maximum(growth[counted], np.clip(steps / (allowed * steps.max()), 1.0, MOST_MORE))
        if calm.any():
            sampling, guessing = self._by_sampling(weight, calm, plain), self._by_guessing(left, count, bold, counted)
            cost = [np.minimum(np.maximum(g, 1) * count, left + count)[:, calm].sum() for g in (sampling, guessing)]
            cheaper = sampling if cost[0] < cost[1] or not self._far.any() else guessing
            growth[calm] = cheaper[calm]
        return growth

    def _by_sampling(self, weight: Floats, calm: npt.NDArray[np.bool_], plain: float) -> Floats:
        """Growth at which the bound for strata without changes is small enough without assumptions."""
        growth: Floats = weight.max(axis=0) / max(weight[:, calm].max() * plain * 0.9, 1e-12)
        return growth

    def _by_guessing(self, left: Floats, count: Counts, bold: float, counted: npt.NDArray[np.bool_]) -> Floats:
        """Growth at which extrapolation is precise enough and enough extrapolated answers are checked."""
        # Strata without changes that cannot be extrapolated must be sampled more.
        growth = np.where(counted | self._far, 1.0, MOST_MORE)
        far = np.flatnonzero(self._far)
        if bold < 1:
            bearable = int(bold * self._error / (2 if counted.any() else 1))
            enough = stats.gamma.ppf(self._risk / 2, bearable + 1) / max(len(far), 1)
            growth[far] = (self._expected[far] / enough) ** (5.0 / LOW[far])
        else:
            growth[:] = 1.0
        short = max(0, self.checks - self.checked) * 1.1
        checks = short * left[:, far].sum(axis=0) / max(left[:, far].sum(), 1) / len(self.instances)
        growth[far] = np.maximum(growth[far], checks / np.maximum(count[:, far].max(axis=0), 1))
        return growth

    def _finish(self) -> None:
        for instance in self.instances:
            instance.finish(self.answer)

    def remember(self) -> None:
        """Stores the answers for other strengths of the operator."""
        if self.strength is not None:
            for instance in self.instances:
                self.memory.add(instance.original, instance.repetition, self.strength, instance.seen)
