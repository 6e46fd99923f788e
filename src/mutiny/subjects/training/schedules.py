"""How the learning rate changes over training: pure functions of the step."""

from __future__ import annotations

import math
from collections.abc import Callable

_WARM_UP, _FIRST, _LAST = 0.3, 1 / 25, 1 / 25e4  # as torch.optim.lr_scheduler.OneCycleLR by default


def none(step: int, total: int) -> float:  # noqa: ARG001  one signature for all
    """Constant."""
    return 1.0


def cosine(step: int, total: int) -> float:
    """From 1 to nearly 0 along half a cosine (Loshchilov and Hutter, 2017).

    >>> round(cosine(0, 10), 2), round(cosine(5, 10), 2)
    (1.0, 0.5)
    """
    return (1 + math.cos(math.pi * step / total)) / 2


def onecycle(step: int, total: int) -> float:
    """Up from 1/25 in the first 30 % of the steps, then down to nearly 0 (Smith and Topin, 2018). Momentum stays.

    >>> round(onecycle(0, 11), 2), round(onecycle(10, 11), 2)
    (0.04, 0.0)
    """
    peak = _WARM_UP * total - 1
    if step <= peak:
        return _between(_FIRST, 1.0, step / peak if peak > 0 else 1.0)
    return _between(1.0, _LAST, (step - peak) / (total - 1 - peak))


def _between(start: float, end: float, share: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


SCHEDULES: dict[str, Callable[[int, int], float]] = {"none": none, "cosine": cosine, "onecycle": onecycle}
"""Factor on the learning rate by step (from 0) and number of steps."""
