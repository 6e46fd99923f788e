"""How likely a comparison of two networks comes to each verdict, and how many inputs it takes to decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mutiny.core.stats.comparison import ComparisonVerdict
from mutiny.core.stats.intervals import rate_bound
from mutiny.core.stats.notice_power import least_significant
from mutiny.core.stats.samples import Floats

Counts = NDArray[np.int64]
LARGEST_PLAN = 10**8
"""Largest planned number of inputs."""
MOST_EXACT_CHANGES = 5000
"""Plans with more changed answers than this follow from the normal approximation."""
FEWEST_CHANGES = 0.5
"""Changed answers on which a plan is based if no answer changed."""


@dataclass(frozen=True)
class InputsNeeded:
    """How many inputs would tell whether B is worse than A.

    Attributes:
        inputs: Their number; ``None`` if more than 100 million were needed.
        observed: Whether B is taken to lose what it lost; else it loses either nothing or the whole margin.
    """

    inputs: int | None
    observed: bool = False


def inputs_to_compare(
    broken: int, repaired: int, n: int, margin: float, alpha: float = 0.05, power: float = 0.8
) -> InputsNeeded:
    """Number of inputs that tell, with a given probability, whether B is worse than A.

    B is taken to change as many answers as it did. If it loses nothing in truth, the verdict must be "not worse",
    "equivalent" or "better"; if it loses the whole margin, "worse"; each with this probability. If there are as many
    inputs already, the true loss lies in between, and is taken to be the observed one: then any verdict will do.

    Args:
        broken: Inputs that A gets right and B gets wrong.
        repaired: Inputs that A gets wrong and B gets right.
        n: Number of inputs on which they were counted.
        margin: Largest tolerated loss, as a share of the inputs.
        alpha: Level of the one-sided tests.
        power: Required probability of a verdict.

    >>> inputs_to_compare(13, 13, 1000, 0.005)
    InputsNeeded(inputs=6772, observed=False)
    """
    rate = min(1.0, max(broken + repaired, FEWEST_CHANGES) / n)
    least = max(rate, margin)
    truths = (rate / 2, rate / 2), ((least + margin) / 2, (least - margin) / 2)

    def tells(inputs: int) -> bool:
        harmless, harmful = (verdict_chances(inputs, *truth, margin, alpha) for truth in truths)
        worse = ComparisonVerdict.WORSE
        return harmful[worse] >= power and 1 - harmless[worse] - harmless[ComparisonVerdict.CANNOT_TELL] >= power

    def tells_as_observed(inputs: int) -> bool:
        chances = verdict_chances(inputs, broken / n, repaired / n, margin, alpha)
        return chances[ComparisonVerdict.CANNOT_TELL] <= 1 - power

    needed = _smallest(tells, _normal_inputs(least, margin, alpha, power), least)
    if needed is None or needed > n:
        return InputsNeeded(needed)
    lost = (broken - repaired) / n
    distance = max(margin - lost, lost)  # of the observed loss from what "not worse", or "worse", must exclude
    return InputsNeeded(_smallest(tells_as_observed, _normal_inputs(rate, distance, alpha, power), rate, n), True)


def inputs_to_compare_scores(
    spread: float, lost: float, n: int, margin: float, alpha: float = 0.05, power: float = 0.8
) -> InputsNeeded:
    """The same for mean scores, by the normal approximation with Guenther's correction for the unknown spread.

    Args:
        spread: Standard deviation of the differences between scores.
        lost: What B loses in the mean; negative if it gains.
        n: Number of inputs on which they were measured.
        margin: Largest tolerated loss of the mean score.
        alpha: Level of the one-sided tests.
        power: Required probability of a verdict.

    >>> inputs_to_compare_scores(1.0, 0.05, 100, 0.1)
    InputsNeeded(inputs=620, observed=False)
    """
    correction = float(special.ndtri(1 - alpha)) ** 2 / 2

    def inputs(distance: float) -> int | None:
        number = _normal_inputs(spread**2, distance, alpha, power) + correction
        return math.ceil(max(2.0, number)) if number <= LARGEST_PLAN else None

    needed = inputs(margin)
    if needed is None or needed > n:
        return InputsNeeded(needed)
    return InputsNeeded(inputs(max(margin - lost, lost)), True)


def _normal_inputs(variance: float, distance: float, alpha: float, power: float) -> float:
    """Number of inputs by the normal approximation."""
    return float(special.ndtri(1 - alpha) + special.ndtri(power)) ** 2 * variance / distance**2


def _smallest(tells: Callable[[int], bool], normal: float, rate: float, above: int = 0) -> int | None:
    """Smallest number of inputs above some that tells, to 0.2%; near the normal approximation if that is large."""
    if not normal <= LARGEST_PLAN:
        return None
    if normal * rate > MOST_EXACT_CHANGES:
        return max(math.ceil(normal), above + 1)
    low, high = above, max(math.ceil(normal) + 16, above + 1)
    while not tells(high):
        low, high = high, 2 * high
        if high > LARGEST_PLAN:
            return None
    while high - low > max(1, high // 500):
        middle = (low + high) // 2
        low, high = (low, middle) if tells(middle) else (middle, high)
    return high


def verdict_chances(
    n: int, broken: float, repaired: float, margin: float, alpha: float = 0.05
) -> Mapping[ComparisonVerdict, float]:
    """Probability of each verdict of `compare_answers`, from the exact law of changed answers.

    Args:
        n: Number of independent inputs.
        broken: Probability that A is right and B is wrong.
        repaired: Probability that A is wrong and B is right.
        margin: Largest tolerated loss, as a share of the inputs.
        alpha: Level of the one-sided tests.

    >>> chances = verdict_chances(10_000, 0.013, 0.013, 0.005)
    >>> round(chances[ComparisonVerdict.WORSE], 3), round(chances[ComparisonVerdict.CANNOT_TELL], 3)
    (0.044, 0.034)
    """
    rate = min(1.0, broken + repaired)
    spread = 8 * math.sqrt(n * rate * (1 - rate)) + 10
    changed = np.arange(max(0, int(n * rate - spread)), min(n, int(n * rate + spread)) + 1)
    below = special.bdtr(changed, n, rate) if rate < 1 else (changed >= n).astype(float)
    first = special.bdtr(changed[0] - 1, n, rate) if changed[0] and rate < 1 else 0.0
    chance = np.diff(below, prepend=first)
    share = broken / rate if rate > 0 else 0.5
    significant, tolerated = least_significant(changed, alpha), most_tolerated(changed, n, margin, alpha)
    better = changed - significant  # most broken answers with which B is better
    accepted, matched = np.maximum(tolerated, better), changed - tolerated
    worse = np.maximum(significant, accepted + 1)

    def at_most(count: Counts) -> Floats:
        law = special.bdtr(np.clip(count, 0, changed), changed, share)
        return np.where(count < 0, 0.0, np.where(count >= changed, 1.0, law))

    parts = {
        ComparisonVerdict.BETTER: at_most(better),
        ComparisonVerdict.NOT_WORSE: at_most(np.minimum(accepted, np.maximum(better, matched - 1))) - at_most(better),
        ComparisonVerdict.WORSE: 1 - at_most(worse - 1),
    }
    found = {verdict: float((chance * part).sum()) for verdict, part in parts.items()}
    accepted_in_all = float((chance * at_most(accepted)).sum())
    found[ComparisonVerdict.EQUIVALENT] = (
        accepted_in_all - found[ComparisonVerdict.BETTER] - found[ComparisonVerdict.NOT_WORSE]
    )
    found[ComparisonVerdict.CANNOT_TELL] = 1 - accepted_in_all - found[ComparisonVerdict.WORSE]
    return {verdict: min(1.0, max(0.0, found[verdict])) for verdict in ComparisonVerdict}


def most_tolerated(changed: Counts, n: int, margin: float, alpha: float) -> Counts:
    """Most broken answers among ``changed`` ones with which the interval lies above a loss of the margin; -1 if none.

    Args:
        changed: Numbers of changed answers, ``(k,)``.
        n: Number of inputs.
        margin: Largest tolerated loss, as a share of the inputs.
        alpha: Level of the one-sided tests.
    """
    low, high = np.full(len(changed), -1), changed + 1
    while (high - low > 1).any():
        middle = (low + high) // 2
        fine = _above(changed - middle, np.maximum(middle, 0), n, margin, alpha)
        low, high = np.where(fine, middle, low), np.where(fine, high, middle)
    return np.asarray(low, np.int64)


def _above(wins: Counts, losses: Counts, n: int, margin: float, alpha: float) -> NDArray[np.bool_]:
    """Whether the lower end of `paired_difference` lies above ``-margin``: by the score test and by the exact one."""
    b = (2 * n - wins + losses) * -margin - (wins + losses)
    c = losses * margin * (1 + margin)
    rare = (np.sqrt(np.maximum(0.0, b * b - 8 * n * c)) - b) / (4 * n)
    spread = np.sqrt(np.maximum(1e-300, n * (2 * rare - margin * (1 + margin))))
    score = (wins - losses + n * margin) / spread > special.ndtri(1 - alpha)
    least = 1 - rate_bound(losses, wins + losses, alpha)  # of the share of wins
    exact = (2 * np.where(wins + losses > 0, least, 0.0) - 1) * (wins + losses) / n > -margin
    return np.asarray(score & exact)
