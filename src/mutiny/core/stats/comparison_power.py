"""How likely a comparison of two networks comes to each verdict, and how many inputs it takes to decide."""

from __future__ import annotations

import math
from collections.abc import Mapping

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


def inputs_to_compare(changed: int, n: int, margin: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Number of inputs that tell, with a given probability, whether B is worse than A.

    B is taken to change as many answers as it did. If it loses nothing in truth, the verdict must be "not worse",
    "equivalent" or "better"; if it loses the whole margin, "worse"; each with this probability.

    Args:
        changed: Inputs that one network gets right and the other one wrong.
        n: Number of inputs on which they were counted.
        margin: Largest tolerated loss, as a share of the inputs.
        alpha: Level of the one-sided tests.
        power: Required probability of the right verdict.

    Returns:
        The number of inputs; ``None`` if more than 100 million were needed.

    >>> inputs_to_compare(26, 1000, 0.005)
    6772
    """
    rate = min(1.0, max(changed, FEWEST_CHANGES) / n)
    least = max(rate, margin)
    truths = (rate / 2, rate / 2), ((least + margin) / 2, (least - margin) / 2)

    def enough(inputs: int) -> bool:
        harmless, harmful = (verdict_chances(inputs, *truth, margin, alpha) for truth in truths)
        worse = ComparisonVerdict.WORSE
        return harmful[worse] >= power and 1 - harmless[worse] - harmless[ComparisonVerdict.CANNOT_TELL] >= power

    z = float(special.ndtri(1 - alpha) + special.ndtri(power))
    normal = z * z * least / margin**2
    if normal > LARGEST_PLAN:
        return None
    if normal * least > MOST_EXACT_CHANGES:
        return math.ceil(normal + 1 / margin)
    low, high = 0, math.ceil(normal) + 16
    while not enough(high):
        low, high = high, 2 * high
        if high > LARGEST_PLAN:
            return None
    while high - low > max(1, high // 500):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def inputs_to_compare_scores(spread: float, margin: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Number of inputs that tell, with a given probability, whether the mean score of B is lower by the margin.

    Args:
        spread: Standard deviation of the differences between scores.
        margin: Largest tolerated loss of the mean score.
        alpha: Level of the one-sided tests.
        power: Required probability of the right verdict.

    Returns:
        The number of inputs; ``None`` if more than 100 million were needed.

    >>> inputs_to_compare_scores(1.0, 0.1)
    620
    """
    z, level = float(special.ndtri(1 - alpha) + special.ndtri(power)), float(special.ndtri(1 - alpha))
    inputs = (z * spread / margin) ** 2 + level**2 / 2  # the last part stands for the unknown spread (Guenther)
    return math.ceil(max(2.0, inputs)) if inputs <= LARGEST_PLAN else None


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
