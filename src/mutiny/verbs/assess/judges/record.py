"""Record of what a judge notices, as results keep it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mutiny.core.json_values import expect_least
from mutiny.verbs.assess.gates.calibration import GateCalibration
from mutiny.verbs.assess.notice import FalseAlarms, GroupRate, OperatorRate


@dataclass(frozen=True)
class UnjudgedReason:
    """Why a judge did not decide some faults.

    Attributes:
        outcome: ``undecided`` or ``broken``.
        reason: What the judge said.
        faults: Number of faults.
    """

    outcome: str
    reason: str
    faults: int


@dataclass(frozen=True)
class JudgeRecord(GroupRate):
    """Which share of the faults a judge notices. Faults that it did not decide count neither way.

    Attributes:
        judge: The judge as users type it.
        kind: Code of its class, such as ``gate``.
        title: Name of its class in words.
        undecided: Faults in the bins of which it could not tell.
        broken: Faults in the bins on which it failed itself.
        reasons: Reasons for these, the most frequent first.
        false_alarms: Harmless changes that it notices.
        operators: Rates by label of the operator.
        classes: Rates by class, over the faults of which the class bears at least half of the cost.
        calibration: For a gate, what it lets through at all bounds, and its false alarms; otherwise ``None``.
    """

    judge: str = ""
    kind: str = ""
    title: str = ""
    undecided: int = 0
    broken: int = 0
    reasons: tuple[UnjudgedReason, ...] = ()
    false_alarms: FalseAlarms | None = None
    operators: Mapping[str, OperatorRate] = field(default_factory=dict)
    classes: Mapping[str, GroupRate] = field(default_factory=dict)
    calibration: GateCalibration | None = field(default=None, metadata={"omit_none": True})

    def __post_init__(self) -> None:
        super().__post_init__()
        for count, name in ((self.undecided, "undecided"), (self.broken, "broken")):
            expect_least(count, f"judges: {name}", 0)
