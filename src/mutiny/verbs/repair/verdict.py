"""Effect of a patch on a set of inputs, and the verdict that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from mutiny.core.json_values import JsonObject
from mutiny.core.stats import Interval, Rate, paired_difference

Bools = npt.NDArray[np.bool_]
Verdict = Literal["repaired", "not repaired", "cannot tell"]
LEVEL = 0.95
"""Confidence level of the interval of the gain."""
PASSES = 20
"""Smallest number of passing inputs for a verdict: with fewer, broken inputs would go unseen."""


@dataclass(frozen=True)
class Change:
    """Effect of a patch on one set of inputs.

    Attributes:
        inputs: Number of inputs.
        before: Number of right answers without the patch.
        after: Number of right answers with the patch.
        repaired: Share of the targeted failures that are fixed.
        broken: Share of the passing inputs that now fail.
        gain: Fixed failures minus broken passes, as a share of all inputs.
        gain_interval: Interval of the gain, see `mutiny.core.stats.paired_difference`; it lies above 0 only if
            McNemar's exact test finds a gain too.
    """

    inputs: int
    before: int
    after: int
    repaired: Rate
    broken: Rate
    gain: float
    gain_interval: Interval

    @classmethod
    def of(cls, target: Bools, before: Bools, after: Bools) -> Change:
        """From the targeted failures, and which answers are right without and with the patch, ``(n,)`` each."""
        repaired, broken = Rate.of(after[target]), Rate.of(~after[before])
        return cls(
            inputs=len(before),
            before=int(before.sum()),
            after=int(after.sum()),
            repaired=repaired,
            broken=broken,
            gain=(repaired.count - broken.count) / max(1, len(before)),
            gain_interval=paired_difference(repaired.count, broken.count, len(before), LEVEL),
        )

    @property
    def helps(self) -> bool:
        """Whether the interval of the gain lies above 0."""
        return self.gain_interval.low > 0

    @property
    def verdict(self) -> Verdict:
        """Whether the patch helps, if enough inputs passed before to see what it breaks."""
        if not self.helps:
            return "not repaired"
        return "repaired" if self.broken.total >= PASSES else "cannot tell"

    @classmethod
    def from_plain(cls, value: object, where: str) -> Change:
        """Reads what `to_json` returned."""
        given = JsonObject(value, where)
        gain = given.object("gain")
        return cls(
            inputs=given.get("inputs", int),
            before=given.get("correct_before", int),
            after=given.get("correct_after", int),
            repaired=given.get("repair_rate", Rate),
            broken=given.get("break_rate", Rate),
            gain=gain.get("value", float),
            gain_interval=gain.get("interval", Interval),
        )

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        return {
            "inputs": self.inputs,
            "correct_before": self.before,
            "correct_after": self.after,
            "repair_rate": self.repaired.to_json(),
            "break_rate": self.broken.to_json(),
            "gain": {"value": self.gain, "interval": vars(self.gain_interval)},
        }
