"""How likely a test set of a given size notices a fault, and how many inputs notice a given loss."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mutiny.core.stats.notice import mcnemar_worse
from mutiny.core.stats.samples import Floats

LARGEST_TABLE = 2**14
"""Most changed answers for which critical numbers are kept."""
MOST_EXACT_CHANGES = 5000
"""Plans with more changed answers than this follow from the normal approximation."""
LARGEST_PLAN = 10**8
"""Largest planned number of inputs."""
FACTORS = 64
"""Number of losses over which power is averaged if faults differ."""


def inputs_for_power(
    broken: float, repaired: float, power: float = 0.8, alpha: float = 0.05, variation: float = 0.0
) -> int | None:
    """Number of independent test inputs that notice a fault with a given probability.

    Args:
        broken: Probability that the fault breaks the answer to an input.
        repaired: Probability that it repairs the answer.
        power: Required probability of noticing the fault.
        alpha: Significance level of the test that notices a fault.
        variation: Standard deviation of both probabilities over faults, relative to their means. The mean power over
            such faults is then planned; the probabilities follow a gamma distribution.

    Returns:
        The number of inputs; ``None`` if the fault does not break more than it repairs, if the probabilities exceed 1,
        or if more than 100 million inputs were needed.

    >>> inputs_for_power(0.012, 0.002), inputs_for_power(0.012, 0.002, variation=0.3)
    (947, 1024)
    """
    rate, net = broken + repaired, broken - repaired
    if rate > 1 or net <= 0:
        return None
    normal = _normal_size(rate, net, np.ones(1), power, alpha)
    longer = _normal_size(rate, net, _factors(variation), power, alpha) / normal if variation > 0 else 1.0
    if not normal * longer <= LARGEST_PLAN:
        return None
    if normal * rate > MOST_EXACT_CHANGES:
        return math.ceil(normal * longer)
    low, high = 0, math.ceil(1.2 * normal) + 16
    while notice_power(high, broken, repaired, alpha) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if notice_power(middle, broken, repaired, alpha) >= power else (middle, high)
    return math.ceil(high * longer)


def _factors(variation: float) -> Floats:
    """Equally likely values of a gamma distribution with mean 1 and this standard deviation."""
    values = special.gammaincinv(variation**-2, (np.arange(FACTORS) + 0.5) / FACTORS)
    return np.asarray(values / values.mean())


def _normal_size(rate: float, net: float, factors: Floats, power: float, alpha: float) -> float:
    """Number of inputs with this mean power over faults, by the normal approximation with a continuity correction.

    Args:
        rate: Share of changed answers, on average over faults.
        net: Share of lost answers.
        factors: Both shares of each fault, relative to these means.
        power: Required mean power.
        alpha: Significance level of the test.
    """
    changed, lost = np.minimum(rate * factors, 1.0), np.minimum(net * factors, net / rate)
    spread = np.sqrt(np.maximum(changed - lost**2, 1e-12))
    level = special.ndtri(1 - alpha) * np.sqrt(changed)

    def power_at(inputs: float) -> float:
        return float(special.ndtr((np.sqrt(np.maximum(lost * (inputs * lost - 1), 0.0)) - level) / spread).mean())

    high = 1 / net
    while power_at(high) < power:
        high *= 2
        if high > 4 * LARGEST_PLAN:
            return math.inf
    low = high / 2
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if power_at(middle) >= power else (middle, high)
    return high


def notice_power(inputs: int, broken: float, repaired: float, alpha: float = 0.05) -> float:
    """Probability that a test set of independent inputs notices a fault.

    Args:
        inputs: Size of the test set.
        broken: Probability that the fault breaks the answer to an input.
        repaired: Probability that it repairs the answer.
        alpha: Significance level of the test.

    >>> round(notice_power(100, 0.05, 0.0), 3)  # 5 of 5 changed answers are needed
    0.564
    """
    rate = broken + repaired
    if rate <= 0:
        return 0.0
    spread = 8 * math.sqrt(inputs * rate * (1 - rate)) + 10
    changed = np.arange(max(0, int(inputs * rate - spread)), min(inputs, int(inputs * rate + spread)) + 1)
    chance = special.bdtr(changed, inputs, rate)
    chance = np.diff(chance, prepend=special.bdtr(changed[0] - 1, inputs, rate) if changed[0] else 0.0)
    needed = _critical(changed, alpha)
    detected = np.where(needed <= changed, special.bdtrc(np.maximum(needed - 1, 0), changed, broken / rate), 0.0)
    return float((chance * detected).sum())


def _critical(changed: NDArray[np.int64], alpha: float) -> NDArray[np.int64]:
    """Smallest number of broken answers that is significant among ``changed`` ones; more than those if none is."""
    most = int(changed.max(initial=0))
    if most >= LARGEST_TABLE:
        return least_significant(changed, alpha)
    return _critical_table(1 << most.bit_length(), alpha)[changed]


@lru_cache(maxsize=32)
def _critical_table(size: int, alpha: float) -> NDArray[np.int64]:
    """`_critical` of 0 to ``size - 1`` changed answers; plans ask for the same ones again and again."""
    return least_significant(np.arange(size), alpha)


def least_significant(changed: NDArray[np.int64], alpha: float) -> NDArray[np.int64]:
    """Smallest number of broken answers among ``changed`` ones that is significant; more than those if none is."""
    low, high = changed // 2, changed + 1  # low is never significant, since P(X >= n // 2) is at least 1/2
    while (high - low > 1).any():
        middle = (low + high) // 2
        significant = mcnemar_worse(middle, changed - middle) < alpha
        low, high = np.where(significant, low, middle), np.where(significant, middle, high)
    return np.asarray(high, np.int64)
