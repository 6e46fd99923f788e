"""The difference of two rates on the same items."""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.stats import norm

from mutiny.core.stats.intervals import Interval
from mutiny.core.stats.tails import clopper_pearson

EDGE = 1 - 1e-12


def paired_difference(wins: int, losses: int, n: int, level: float = 0.95) -> Interval:
    """Where the difference of two rates on the same ``n`` items lies, with its ends in -1..1.

    Tango's score interval (Statistics in Medicine, 1998), widened to that of the exact test on items that differ
    (McNemar's, by Clopper and Pearson) where that is wider: an interval that lies above 0 is significant by both.

    Args:
        wins: items on which the first is right and the second is not.
        losses: the reverse.
        n: all items; with none the interval is all that there is.
        level: of confidence.

    >>> found = paired_difference(12, 2, 80)
    >>> round(found.low, 3), round(found.high, 3)
    (0.025, 0.224)
    """
    method = "Tango and Clopper-Pearson"
    if not n:
        return Interval(-1.0, 1.0, level, method)
    z = float(norm.isf((1 - level) / 2))
    low = _end(wins, losses, n, z) if wins - losses > -n else -1.0
    high = -_end(losses, wins, n, z) if losses - wins > -n else 1.0
    share, differ = clopper_pearson(wins, wins + losses, level), (wins + losses) / n
    exact = [(2 * end - 1) * differ for end in (share.low, share.high)]
    return Interval(min(low, exact[0]) + 0.0, max(high, exact[1]) + 0.0, level, method)


def _end(wins: int, losses: int, n: int, z: float) -> float:
    """The smallest difference that a score test does not refuse."""

    def beyond(difference: float) -> float:
        b = (2 * n - wins + losses) * difference - wins - losses
        c = -losses * difference * (1 - difference)
        rare = (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
        spread = math.sqrt(max(1e-300, n * (2 * rare + difference * (1 - difference))))
        return (wins - losses - n * difference) / spread - z

    return float(brentq(beyond, -EDGE, (wins - losses) / n, xtol=1e-12)) if beyond(-EDGE) > 0 else -1.0
