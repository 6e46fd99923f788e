"""False-alarm rates with their intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mutiny.core.stats import Interval, rate_bound
from mutiny.verbs.assess.gates.calibration import GateAlarms
from mutiny.verbs.assess.gates.harmless_trials import HarmlessTrials


def alarms_of(trials: HarmlessTrials, passed: NDArray[np.bool_], level: float = 0.95) -> GateAlarms:
    """False alarms of a gate, or of the same gate with another bound.

    Args:
        trials: Harmless changes.
        passed: Which of them pass, ``(trials,)``.
        level: Confidence of the interval.
    """
    number, alarms = len(passed), int((~passed).sum())
    rate = alarms / number if number else None
    return GateAlarms(
        source=trials.source,
        trials=number,
        alarms=alarms,
        rate=rate,
        interval=_interval(rate, trials.independent, level),
        independent=trials.independent,
        trivial=trials.trivial,
    )


def _interval(rate: float | None, independent: int, level: float) -> Interval:
    """Clopper and Pearson's interval for a rate of so many independent trials, also for a part of a trial."""
    risk, alarms = (1 - level) / 2, (rate or 0.0) * independent
    low, high = (
        1 - float(rate_bound(independent - alarms, independent, risk)),
        float(rate_bound(alarms, independent, risk)),
    )
    return Interval(low, high, level, "Clopper-Pearson")
