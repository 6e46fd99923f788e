"""The result of `assess`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mutiny.core.json_values import JsonObject, to_plain
from mutiny.core.records import FaultRecord, JudgeOutcome
from mutiny.core.results import AssessedSubject, Result, Rows, finite
from mutiny.verbs.assess.judges.paired_test import PairedTest
from mutiny.verbs.assess.judges.record import JudgeRecord
from mutiny.verbs.assess.notice import Notice


@dataclass(frozen=True, eq=False)
class ChangedAnswers:
    """Changed answers of faults to the test inputs, as a sparse table.

    Attributes:
        fault: Position of the fault in `Assessment.faults`, ``(k,)``.
        position: Position of the input in the test set, ``(k,)``; of equal tests, that of the first.
        change: How much worse the answer is, ``(k,)``: 1 for a broken answer and -1 for a repaired one, or the growth
            of the loss for regression.
        weight: Number of test inputs that the answer stands for, ``(k,)``: 1 unless the test set was sampled.
        inputs: Number of test inputs, with copies.
    """

    fault: npt.NDArray[np.int32]
    position: npt.NDArray[np.int32]
    change: npt.NDArray[np.float32]
    weight: npt.NDArray[np.float32]
    inputs: int


@dataclass(frozen=True, repr=False, eq=False)
class Assessment(Result):
    """Result of `assess`: which faults the test set notices. `to_json` has everything except ``changed``.

    Attributes:
        notice: Notice rate of the paired test, by cost, operator and class, with its plan.
        faults: Every fault that was tried on the test set.
        evaluation: Number of inputs that were evaluated, and of those that evaluating everything would take.
        changed: Changed answers of all faults.
        judges: What each judge notices, the one that decides the headline first; empty if that is the paired test
            alone.
    """

    verb: ClassVar[str] = "assess"

    subject: AssessedSubject
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    notice: Notice
    faults: tuple[FaultRecord, ...]
    evaluation: Mapping[str, int]
    notes: tuple[str, ...]
    seconds: float
    created: str
    changed: ChangedAnswers | None = field(repr=False, compare=False, default=None)
    judges: tuple[JudgeRecord, ...] = ()

    def __repr__(self) -> str:
        rate, interval = self.headline_notice.rate, self.headline_notice.interval
        text = "no notice rate" if rate is None else f"notice rate {rate:.3f}"
        text += f" ({interval.low:.3f} to {interval.high:.3f})" if interval is not None else ""
        return f"Assessment({self.subject.name!r}, {text}, {self.notice.faults} faults, {len(self.notes)} notes)"

    def _headline(self) -> str:
        from mutiny.reports.notice_sentences import headline  # the sentence of all reports; see docs/architecture.md

        return headline(self)

    def details(self) -> dict[str, Any]:
        """The verb's own part of `to_json`."""
        several = {"judges": to_plain(self.judges)} if self.judges else {}
        return {
            "notice": to_plain(self.notice),
            **several,
            "faults": to_plain(self.faults),
            "evaluation": to_plain(self.evaluation),
        }

    @classmethod
    def read_details(cls, given: JsonObject) -> dict[str, Any]:
        """The inverse of `details`."""
        return {
            "notice": given.get("notice", Notice),
            "faults": given.get("faults", tuple[FaultRecord, ...]),
            "evaluation": given.get("evaluation", Mapping[str, int]),
            "judges": given.get("judges", tuple[JudgeRecord, ...], ()),
        }

    def tables(self) -> dict[str, Rows]:
        """Table ``operators``, table ``classes`` and table ``faults``; with several judges, table ``judges``."""
        operators = [{"operator": label, **_row(rate)} for label, rate in self.notice.operators.items()]
        classes = [{"class": name, **_row(rate)} for name, rate in self.notice.classes.items()]
        judges = [{"judge": each.judge, **_row(each)} for each in self.judges]
        several = {"judges": judges} if judges else {}
        return {"operators": operators, "classes": classes, "faults": to_plain(self.faults), **several}

    @property
    def complete(self) -> bool:
        """Whether no job of any operator failed, and none of a harmless change."""
        alarms = self.notice.false_alarms
        harmless_failed = alarms is not None and alarms.failed is not None
        return not harmless_failed and not any(rate.failed for rate in self.notice.operators.values())

    def metrics(self) -> dict[str, float]:
        """The notice rate, overall, of each operator and of each judge."""
        rates = {f"notice.{label}": rate.rate for label, rate in self.notice.operators.items()}
        judges = {f"notice by {each.judge}": each.rate for each in self.judges}
        return finite({"notice": self.notice.rate, **rates, **judges})

    @property
    def headline_judge(self) -> JudgeRecord | None:
        """The judge that decides the headline, if that is not the paired test."""
        first = self.judges[0] if self.judges else None
        return None if first is None or first.kind == PairedTest.code else first

    @property
    def headline_notice(self) -> Notice:
        """The notice rate of the judge that decides the headline; the plan is that of the paired test."""
        first = self.headline_judge
        if first is None:
            return self.notice
        return replace(
            self.notice,
            rate=first.rate,
            interval=first.interval,
            bins=first.bins,
            interval_other_inputs=None,
            false_alarms=first.false_alarms,
            operators=first.operators,
            classes=first.classes,
        )

    @property
    def by_headline_judge(self) -> Assessment:
        """The same result as the judge of the headline sees it: its rates, and what it notices of each fault."""
        if self.headline_judge is None:
            return self
        faults = tuple(replace(fault, noticed=not self.misses(fault)) for fault in self.faults)
        return replace(self, notice=self.headline_notice, faults=faults)

    def misses(self, fault: FaultRecord) -> bool:
        """Whether the judge that decides the headline misses a fault."""
        judge = self.headline_judge
        missed = not fault.noticed
        return missed if judge is None else fault.outcome(judge.judge) is JudgeOutcome.MISSED

    def missed_drastic(self) -> Sequence[FaultRecord]:
        """Faults above the highest bin that are missed by the judge that decides the headline."""
        high = self.notice.bins[-1].high if self.notice.bins else np.inf
        return [fault for fault in self.faults if fault.cost >= high and self.misses(fault)]


def _row(rate: Any) -> dict[str, Any]:
    ends = (None, None) if rate.interval is None else (rate.interval.low, rate.interval.high)
    bins = {f"{each.low:g} to {each.high:g}": each.rate for each in rate.bins}
    return {"faults": rate.faults, "noticed": rate.noticed, "rate": rate.rate, "low": ends[0], "high": ends[1], **bins}
