"""Did it help? What a patch changes on inputs that took no part in finding it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.stats import Interval, Rate, clopper_pearson

Bools = npt.NDArray[np.bool_]
LEVEL = 0.95


@dataclass(frozen=True)
class Change:
    """What a patch does to one set of inputs.

    Attributes:
        inputs: how many.
        before: inputs with right answers before; ``after`` with the patch.
        repaired: of the failures that were to be mended, those that are.
        broken: of the inputs that passed, those that fail now.
        gain: mended failures less broken passes, as a share of all inputs.
        gain_interval: where it lies on other inputs, given that so many answers change (Clopper and Pearson on the
            share of mended ones among them; its lower end is above 0 if McNemar's exact test finds a gain).
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
        """From what should be mended, and which answers are right before and after, ``(n,)`` each."""
        repaired, broken = Rate.of(after[target]), Rate.of(~after[before])
        changes, size = repaired.count + broken.count, max(1, len(before))
        share = clopper_pearson(repaired.count, changes, LEVEL)
        low, high = ((2 * end - 1) * changes / size + 0.0 for end in (share.low, share.high))
        return cls(
            inputs=len(before),
            before=int(before.sum()),
            after=int(after.sum()),
            repaired=repaired,
            broken=broken,
            gain=(repaired.count - broken.count) / size,
            gain_interval=Interval(low, high, LEVEL, "Clopper-Pearson on changed answers"),
        )

    @property
    def helps(self) -> bool:
        """Whether the interval of the gain lies above 0."""
        return self.gain_interval.low > 0

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
