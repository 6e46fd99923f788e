"""Records of the notice rate: overall, by operator, by class, with its plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mutiny.core.json_values import expect, expect_least, expect_share, omitted_if_none
from mutiny.core.stats import Interval

NEARLY = 1e-6
"""Amount by which a rate in a file may differ from that of its faults."""


@dataclass(frozen=True)
class NoticedBin:
    """Faults whose cost lies in ``[low, high)``, and the share of them that is noticed; ``None`` without faults."""

    low: float
    high: float
    faults: int
    noticed: int
    rate: float | None

    def __post_init__(self) -> None:
        expect(0 <= self.noticed <= self.faults, "notice.bins: noticed", self.noticed, "at most the faults of the bin")
        expect_share(self.rate, "notice.bins: rate")
        if self.rate is not None and self.faults:
            _expect_near(self.rate, self.noticed / self.faults, "notice.bins: rate", "the share that is noticed")


@dataclass(frozen=True)
class GroupRate:
    """Notice rate of a group of faults, such as those of one operator.

    Attributes:
        rate: Mean over bins of the share of faults that are noticed; ``None`` if no fault falls into the bins.
        interval: Interval for this test set, over originals or random choices.
        bins: Faults by cost.
    """

    rate: float | None
    interval: Interval | None
    bins: tuple[NoticedBin, ...]

    def __post_init__(self) -> None:
        expect_share(self.rate, "notice.rate")
        shares = [each.noticed / each.faults for each in self.bins if each.faults]
        if self.rate is not None and shares:
            _expect_near(self.rate, sum(shares) / len(shares), "notice.rate", "the mean of the bins")
        _expect_order(self.interval, "notice.interval")

    @property
    def faults(self) -> int:
        """Number of faults in the bins."""
        return sum(each.faults for each in self.bins)

    @property
    def noticed(self) -> int:
        """Number of faults in the bins that are noticed."""
        return sum(each.noticed for each in self.bins)


def _expect_order(interval: Interval | None, where: str) -> None:
    """Raises `BadInput` for an interval that ends before it begins."""
    if interval is not None:
        expect(not interval.low > interval.high, where, [interval.low, interval.high], "a lower and an upper end")


def _expect_near(value: float, wanted: float, where: str, what: str) -> None:
    expect(not abs(value - wanted) > NEARLY, where, value, f"{what}, {wanted:.4g}")


@dataclass(frozen=True)
class OperatorRate(GroupRate):
    """Notice rate of one operator's faults.

    Attributes:
        title: Name of the operator in words.
        harmless: Faults below the lowest bin that were tried on the test set.
        drastic: Faults above the highest bin that were tried on the test set.
        missed_drastic: Drastic faults that the test set does not notice.
        reason: Reason why there are no faults; empty if there are some.
        failed: Whether jobs of the operator failed; the same call tries them again.
    """

    title: str = ""
    harmless: int = 0
    drastic: int = 0
    missed_drastic: int = 0
    reason: str = ""
    failed: bool = False


@dataclass(frozen=True)
class FalseAlarms:
    """Harmless changes, and how many of them the test set notices.

    Attributes:
        changes: Number of changes: noise on all weights, as large as the rounding errors of bfloat16.
        noticed: Number of them that are noticed.
        rate: Share of them that is noticed; ``None`` without changes.
        failed: Message of a job that failed, whose change is not among these; the same call tries it again.
    """

    changes: int
    noticed: int
    rate: float | None
    failed: str | None = omitted_if_none()

    def __post_init__(self) -> None:
        expect(0 <= self.noticed <= self.changes, "notice.false_alarms.noticed", self.noticed, "at most all changes")


@dataclass(frozen=True)
class PlannedSize:
    """Number of inputs like those of the test set that notice a cost four times in five.

    Attributes:
        cost: Cost of a fault.
        inputs: Number of inputs; ``None`` if no number of inputs like these would do.
        low: Lower end of a 95% interval; ``None`` if there is none.
        high: Upper end.
    """

    cost: float
    inputs: int | None
    low: int | None = None
    high: int | None = None

    def __post_init__(self) -> None:
        expect_least(self.inputs, "notice.plan: inputs")


@dataclass(frozen=True)
class ReferenceRecord:
    """Inputs on which costs were measured.

    Attributes:
        kind: ``validation``, ``pool``, ``folds``, ``unlabeled``, ``train``, or ``none`` if the subject has no such
            inputs.
        inputs: Number of inputs for each original.
        metric_mean: Mean metric of the originals on them; NaN without such inputs.
        memorized: How much better the originals are on these training inputs than on the test inputs, in the unit of
            the cost, if that is more than two points; otherwise 0.
        scale: Factor from costs on training inputs to costs on these, if costs were measured on both; otherwise
            ``None``.
        trained_inputs: Number of training inputs of each original on which costs were measured, too.
    """

    kind: str
    inputs: int
    metric_mean: float
    memorized: float = 0.0
    scale: float | None = None
    trained_inputs: int = 0


@dataclass(frozen=True)
class Notice(GroupRate):
    """Which share of the faults the test set notices, and what follows.

    Attributes:
        interval_other_inputs: Interval for another test set, drawn like this one.
        false_alarms: Harmless changes that are noticed.
        plan: Sizes of test sets that notice given costs.
        unit: Unit of costs.
        alpha: Significance level at which a fault is noticed.
        resampled: What intervals are over: ``originals``, or ``random choices`` with one original.
        reference: Inputs on which costs were measured.
        operators: Rates by label of the operator.
        classes: Rates by class, over the faults of which the class bears at least half of the cost.
    """

    interval_other_inputs: Interval | None = None
    false_alarms: FalseAlarms | None = None
    plan: tuple[PlannedSize, ...] = ()
    unit: str = "accuracy points"
    alpha: float = 0.05
    resampled: str = "originals"
    reference: ReferenceRecord = ReferenceRecord("none", 0, 0.0)
    operators: Mapping[str, OperatorRate] = field(default_factory=dict)
    classes: Mapping[str, GroupRate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        _expect_order(self.interval_other_inputs, "notice.interval_other_inputs")
