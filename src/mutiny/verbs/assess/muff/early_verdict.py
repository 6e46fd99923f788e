"""Early verdicts, which the inputs or trainings that are still missing cannot change.

The kill rule is evaluated at the extremes of the values that the metrics can still take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mutiny.faults.evaluation import CleanPass, Estimate, Outcome
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.assess.muff.kill_rule import KillRule, Sample

BY_MEANS = ("glm", "welch")
"""Tests that depend only on mean and spread of the mutants' metrics."""
BY_PAIRS = ("paired-t",)
"""Tests that depend only on mean and spread of the differences between originals and their mutants."""

SPREADS = 5
"""Number of spreads tried, from the smallest to the largest."""

Floats = npt.NDArray[np.float64]


def screenable(rule: KillRule, task: Task) -> bool:
    """Whether a verdict can be reached before every input is evaluated.

    Tests over answers need the number of changed answers, which the losses of a regression do not give. Fisher's test
    with an effect over inputs would need all combinations of two kinds of corners.
    """
    if rule.test == "fisher" and rule.effect == "cohen-g":
        return False
    return isinstance(task, Classification) or rule.test not in ("fisher", "mcnemar")


def corners(estimate: Estimate, clean: Sequence[Outcome], rule: KillRule, task: Task) -> Iterator[Sample]:
    """Samples that enclose the true sample: the estimate itself first, then the extremes that matter to the rule.

    Tests of means and effects are monotone in mean and spread; rank tests are monotone in each metric; tests over
    inputs are monotone in the numbers of answers that became wrong and that became right.
    """
    originals = np.array([outcome.metric for outcome in clean])
    metrics = [estimate.metrics]
    if estimate.shift or estimate.spread:
        metrics += [*_extremes(estimate.metrics, estimate.shift, estimate.spread)]
        if rule.test in BY_PAIRS:
            falls = originals - estimate.metrics.mean(axis=0)
            spread = estimate.spread / np.sqrt(len(estimate.metrics))  # falls are means over repetitions
            metrics += [estimate.metrics + falls - each for each in _extremes(falls, estimate.shift, spread)]
        elif rule.test not in BY_MEANS:
            metrics += [estimate.metrics - estimate.each, estimate.metrics + estimate.each]
        if rule.effect == "a12" and rule.test in BY_MEANS + BY_PAIRS:  # not a function of mean and spread
            for moved in (estimate.metrics - estimate.each, estimate.metrics + estimate.each):
                metrics += [*_extremes(moved, 0.0, estimate.spread)]
    right = np.array([outcome.correct.sum() for outcome in clean])
    as_predicted = _differences(estimate, clean)
    for each in metrics:
        counts = np.clip(np.rint(each * estimate.inputs), 0, estimate.inputs)
        counts = counts if isinstance(task, Classification) else _right(estimate)
        yield Sample(originals, each, right, np.asarray(counts, np.int64), as_predicted)
    if rule.test == "mcnemar":  # metrics decide only whether a mutant is stable
        for differences in _changes(as_predicted, estimate):
            yield Sample(originals, estimate.metrics, right, _right(estimate), differences)


def _changes(differences: npt.NDArray[np.int16], estimate: Estimate) -> Iterator[npt.NDArray[np.int16]]:
    """Predicted changes of answers, with the largest and with the smallest effect of changes that were not seen.

    An unseen change for the worse is a further change on an input without any, or undoes a predicted change for the
    better; the reverse holds for an unseen change for the better. Changes count less for the test if they are on one
    input than if they are on several.
    """
    instances = estimate.metrics.size
    for (down, down_size), (up, up_size) in (
        ((estimate.downs[0], instances), (estimate.ups[1], 1)),
        ((estimate.downs[1], 1), (estimate.ups[0], instances)),
    ):
        if down or up:
            yield _with(_with(differences, down, down_size), up, -up_size)
            yield _without(_without(differences, up, 1), down, -1)


def _extremes(values: Floats, shift: float, spread: float) -> Iterator[Floats]:
    """Values with the smallest and the largest mean, each with several spreads from the smallest to the largest.

    The two extreme spreads are not enough: with few originals, Welch's degrees of freedom may change faster than the
    spread.
    """
    mean = values.mean()
    around = values - mean
    size = float(np.linalg.norm(around))
    if not size:
        around = np.where(np.arange(values.size) % 2, 1.0, -1.0).reshape(values.shape)
        around -= around.mean()
    unit = around / (float(np.linalg.norm(around)) or 1.0)
    for wide in np.linspace(max(0.0, size - spread), size + spread, SPREADS):
        for move in (-shift, shift):
            yield mean + move + unit * wide


def _right(estimate: Estimate) -> npt.NDArray[np.int64]:
    bits = np.unpackbits(estimate.right, axis=-1, count=estimate.inputs)
    right: npt.NDArray[np.int64] = bits.sum(axis=-1, dtype=np.int64)
    return right


def _differences(estimate: Estimate, clean: Sequence[Outcome]) -> npt.NDArray[np.int16]:
    """Per input, the predicted number of instances that became wrong minus the number that became right."""
    differences = np.zeros(estimate.inputs, np.int16)
    for repetition in estimate.right:
        for outcome, bits in zip(clean, repetition, strict=True):
            differences += outcome.correct.astype(np.int16) - np.unpackbits(bits, count=estimate.inputs)
    return differences


def _with(differences: npt.NDArray[np.int16], changes: float, size: int) -> npt.NDArray[np.int16]:
    """Adds ``changes`` changed answers, ``size`` per input, on inputs without any."""
    unchanged = np.flatnonzero(differences == 0)[: round(changes / abs(size))]
    more = differences.copy()
    more[unchanged] = size
    return more


def _without(differences: npt.NDArray[np.int16], changes: float, sign: int) -> npt.NDArray[np.int16]:
    """Undoes ``changes`` changes of the sign ``sign``; if there are fewer, the rest are changes of the other sign."""
    less = differences.copy()
    left = round(changes)
    while left > 0:
        changed = np.flatnonzero(less * sign > 0)[:left]
        if not len(changed):
            return _with(less, left, -sign)
        less[changed] -= np.int16(sign)
        left -= len(changed)
    return less


def room(decide: Callable[[Estimate], object], estimate: Estimate) -> float:
    """Largest share of the estimate's error with which ``decide`` gives an answer, by bisection; 0 if none does."""
    if decide(estimate) is not None:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(8):
        middle = (low + high) / 2
        if decide(estimate.times(middle)) is None:
            high = middle
        else:
            low = middle
    return low


def telling_share(clean: Sequence[CleanPass], rule: KillRule, task: Task) -> float:
    """Smallest share of the inputs that can kill a mutant alone, if their answers change as much as can be expected.

    For classification, the share of correct answers that must become wrong; for regression, the share of inputs whose
    loss must become twice the largest clean loss. At most 1.
    """
    originals = np.array([each.outcome.metric for each in clean])
    right, inputs = np.array([each.outcome.correct.sum() for each in clean]), clean[0].outcome.inputs
    sign = -1.0 if task.higher_is_better else 1.0
    worst = 1.0 if task.higher_is_better else 2 * float(max(each.shares.max() for each in clean))

    def killed(share: float) -> bool:
        wrong = round(share * inputs)
        differences = np.repeat([len(clean), 0], [wrong, inputs - wrong]).astype(np.int16)
        mutants = np.asarray([right - wrong], np.int64)
        sample = Sample(originals, originals[None] + sign * share * worst, right, mutants, differences)
        return rule.judge(sample, task.higher_is_better).killed

    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if killed(middle) else (middle, high)
    return high


def surely_killed(sample: Sample, total: int, rule: KillRule, task: Task) -> bool:
    """Whether a mutant will be killed whatever the accuracies of the missing instances are.

    For DeepCrime's rule only (glm with Cohen's d, as many instances as originals). With the group sizes fixed, that
    rule says "killed" if Cohen's d is at least some positive bound. The accuracies that reach the bound form a convex
    set, because d is an affine function of them divided by a convex one. So if every combination of 0 and 1 for the
    missing accuracies is in the set, so is everything between. Only the number of ones matters, not their order.

    Survival is never certain, because any further instance may fail. With a loss, nothing is certain, because a loss
    has no largest value.

    Args:
        sample: All originals, and the instances so far.
        total: Number of instances in the end.
        rule: Resolved kill rule.
        task: Task of the networks.

    >>> rule, none = KillRule().resolve(originals=20), np.zeros(0, np.int64)
    >>> good, bad = np.linspace(0.97, 0.99, 20), np.full((1, 5), 0.1)
    >>> far = Sample(good, bad, none, none, np.zeros(1, np.int16))
    >>> surely_killed(far, 20, rule, Classification(10)), surely_killed(replace(far, mutants=bad + 0.8), 20, rule,
    ... Classification(10))
    (True, False)
    """
    if (rule.test, rule.effect) != ("glm", "cohen-d") or not isinstance(task, Classification):
        return False
    seen = sample.mutants.ravel()
    if len(sample.originals) != total or not np.isfinite(seen).all():
        return False
    missing = total - len(seen)
    ends = (np.r_[seen, np.ones(ones), np.zeros(missing - ones)] for ones in range(missing, -1, -1))
    return all(rule.judge(replace(sample, mutants=end[None]), task.higher_is_better).killed for end in ends)
