"""Records of what a gate lets through, and what it stops without reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mutiny.core.json_values import expect, expect_share
from mutiny.core.stats import Interval
from mutiny.verbs.assess.gates.harmless_trials import AlarmSource


@dataclass(frozen=True)
class GateBin:
    """Faults whose cost lies in ``[low, high)``, and how many of them pass a gate.

    Attributes:
        low: Lower edge.
        high: Upper edge.
        faults: Number of faults.
        missed: Number of them that pass.
        rate: Share of them that pass; ``None`` without faults.
        interval: Clopper and Pearson's interval of the share, as if faults were independent.
        predicted: Mean probability to pass, from costs alone; ``None`` if there is no prediction.
    """

    low: float
    high: float
    faults: int
    missed: int
    rate: float | None
    interval: Interval | None
    predicted: float | None = None

    def __post_init__(self) -> None:
        expect(0 <= self.missed <= self.faults, "gates: missed", self.missed, "at most the faults of the bin")
        expect_share(self.rate, "gates: rate")
        expect_share(self.predicted, "gates: predicted")


@dataclass(frozen=True)
class GateAlarms:
    """Harmless changes that a gate stops.

    Attributes:
        source: What differs between the trials.
        trials: Number of trials.
        alarms: Number of trials that the gate stops.
        rate: Share of them; ``None`` without trials.
        interval: Clopper and Pearson's interval of the share.
        independent: Number of independent trials, which the interval is for.
        trivial: Whether the gate could not fail, because a network was only compared with itself.
    """

    source: AlarmSource
    trials: int
    alarms: int
    rate: float | None
    interval: Interval
    independent: int
    trivial: bool = False

    def __post_init__(self) -> None:
        expect(0 <= self.alarms <= self.trials, "gates: alarms", self.alarms, "at most all trials")
        expect_share(self.rate, "gates: alarm rate")


@dataclass(frozen=True)
class GateCurve:
    """Error rates of a gate at other bounds.

    Attributes:
        bounds: Bounds from tight to loose.
        miss_rates: Share of faults that pass, mean over bins; ``None`` without faults.
        bin_miss_rates: For each bin, its share of faults that pass; ``None`` without faults.
        alarm_rates: Share of harmless changes that are stopped, by source.
    """

    bounds: tuple[float, ...]
    miss_rates: tuple[float | None, ...]
    bin_miss_rates: tuple[tuple[float | None, ...], ...]
    alarm_rates: Mapping[str, tuple[float, ...]]

    def __post_init__(self) -> None:
        columns: Sequence[Sequence[object]] = [self.miss_rates, *self.bin_miss_rates, *self.alarm_rates.values()]
        lengths = [len(column) for column in columns]
        expect(all(length == len(self.bounds) for length in lengths), "gates.curve", lengths, "a rate for each bound")


@dataclass(frozen=True)
class GateAdvice:
    """The tightest bound with a wanted rate of false alarms.

    Attributes:
        gate: The gate with this bound.
        bound: The bound.
        wanted: Largest accepted rate of false alarms.
        alarms: False alarms at this bound.
        miss_rate: Share of faults that would pass, mean over bins; ``None`` without faults.
        bins: Faults that would pass, by cost.
    """

    gate: str
    bound: float
    wanted: float
    alarms: GateAlarms
    miss_rate: float | None
    bins: tuple[GateBin, ...]


@dataclass(frozen=True)
class GateCalibration:
    """What a gate lets through, and what it stops without reason.

    Attributes:
        gate: Text of the gate.
        unit: Unit of costs.
        clean: Value of the metric for each original; empty for a gate with several comparisons.
        miss_rate: Share of faults that pass, mean over bins; ``None`` without faults.
        interval: Interval of that share, over originals or random choices; ``None`` if there is none.
        bins: Faults that pass, by cost.
        alarms: False alarms, by source.
        curve: Error rates at other bounds; ``None`` for a gate with several comparisons.
        advice: The bound that a wanted rate of false alarms allows; ``None`` if there is none.
    """

    gate: str
    unit: str
    clean: tuple[float, ...]
    miss_rate: float | None
    interval: Interval | None
    bins: tuple[GateBin, ...]
    alarms: tuple[GateAlarms, ...] = field(default=())
    curve: GateCurve | None = None
    advice: GateAdvice | None = None

    def __post_init__(self) -> None:
        expect_share(self.miss_rate, "gates: miss_rate")
