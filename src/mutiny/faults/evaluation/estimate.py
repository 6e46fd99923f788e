"""Estimated metrics of a mutant's instances after some of their inputs were evaluated."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mutiny.core.records import Basis, Bits

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """Metrics of all instances with error bounds at the stated confidence.

    The three bounds hold simultaneously. A verdict that is the same for all metrics within them is the verdict that
    evaluating every input would give, up to the stated risk.

    Attributes:
        metrics: Estimated metric of each instance, ``(repetitions, originals)``.
        shift: Bound of the error of the mean of all metrics.
        spread: Bound of the Euclidean norm of the errors of all metrics.
        each: Bound of the error of each metric, ``(repetitions, originals)``.
        downs: Bounds of the number of (instance, input) pairs, among those not evaluated, that went from right to wrong
            beyond those predicted.
        ups: The same for wrong to right.
        right: Packed correctness, ``(repetitions, originals, bytes)``; predicted for inputs that were not evaluated.
        inputs: Number of inputs.
        evaluated: Number of (instance, input) pairs evaluated.
        basis: How the errors were bounded.
    """

    metrics: Floats
    shift: float
    spread: float
    each: Floats
    downs: tuple[float, float]
    ups: tuple[float, float]
    right: Bits
    inputs: int
    evaluated: int
    basis: Basis

    def times(self, factor: float) -> Estimate:
        """The same estimate with all error bounds multiplied by ``factor``."""
        (down, down_most), (up, up_most) = self.downs, self.ups
        return replace(
            self,
            shift=factor * self.shift,
            spread=factor * self.spread,
            each=factor * self.each,
            downs=_towards_middle(down, down_most, factor),
            ups=_towards_middle(up, up_most, factor),
        )


def _towards_middle(low: float, high: float, factor: float) -> tuple[float, float]:
    middle, half = (low + high) / 2, (high - low) / 2
    return middle - factor * half, middle + factor * half
