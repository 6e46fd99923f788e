"""Two test sets, compared on the same faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mutiny.core.errors import BadInput
from mutiny.core.records import FaultRecord
from mutiny.core.stats import Interval
from mutiny.core.stats.notice import notice_rate, rate_difference
from mutiny.verbs.assess.notice import ReferenceRecord
from mutiny.verbs.assess.reference import KINDS
from mutiny.verbs.assess.result import Assessment

FEWEST_COMMON = 0.5
"""Share of the faults that must be common; some faults of other networks look the same by chance."""
NEARLY = 0.02
"""Costs of the same fault may differ by this share, because processors round differently."""


@dataclass(frozen=True)
class TestSetComparison:
    """Notice rates of an earlier and a later test set on the same faults.

    Attributes:
        before: Notice rate of the earlier test set.
        after: Notice rate of the later one.
        difference: Later minus earlier rate.
        interval: Interval of the difference; ``None`` if all faults are of one original and random choice.
        faults: Number of faults that both assessments have.
        gained: Faults that only the later test set notices.
        lost: Faults that only the earlier test set notices.
    """

    __test__ = False  # pytest would take the name for that of a test class

    before: float
    after: float
    difference: float
    interval: Interval | None
    faults: int
    gained: int
    lost: int

    @property
    def sentence(self) -> str:
        """The comparison in words."""
        if self.interval is None or self.interval.low <= 0 <= self.interval.high:
            change = "no clear change"
        else:
            change = "better" if self.difference > 0 else "worse"
        ends = ""
        if self.interval is not None:
            ends = f", 95%: {100 * self.interval.low:+.0f} to {100 * self.interval.high:+.0f} points"
        return (
            f"Against the earlier test set, on the same {self.faults:,} faults: {change}. {self.before:.0%} before, "
            f"{self.after:.0%} now ({100 * self.difference:+.0f} points{ends}); {self.gained} faults are newly "
            f"noticed, {self.lost} no longer."
        )


def compare_test_sets(earlier: Sequence[FaultRecord], later: Assessment) -> TestSetComparison:
    """Compares an earlier test set with that of an assessment on the faults that both have.

    The same subject, seed and operators give the same faults, whatever the test set is, so most of the noise cancels.

    Args:
        earlier: Faults of the earlier assessment.
        later: The later assessment.

    Raises:
        BadInput: Few faults are in both, or the later assessment has no notice rate.
    """
    if later.notice.rate is None:
        fix = "This assessment has none; its notes say why."
        raise BadInput("against", "an earlier assessment", "a notice rate to compare with it", fix)
    edges = [later.notice.bins[0].low, *(each.high for each in later.notice.bins)]
    searches = {_search(fault) for fault in earlier}
    counted = [f for f in later.faults if edges[0] <= f.cost < edges[-1] and _search(f) in searches]
    pairs = [*_paired(earlier, counted, edges[0])]
    if not pairs or len(pairs) < FEWEST_COMMON * len(counted):
        some = f"only {len(pairs)} of {len(counted)} faults in common" if pairs else "a common fault"
        raise BadInput(
            "against",
            f"an assessment {'with' if pairs else 'without'} {some}",
            "an assessment of the same subject, seed and operators, of which only the test set differs",
        )
    costs = np.array([new.cost for _, new in pairs])
    old, new = (np.array([pair[side].noticed for pair in pairs]) for side in (0, 1))
    before, after = notice_rate(costs, old, edges) or 0.0, notice_rate(costs, new, edges) or 0.0
    return TestSetComparison(
        before,
        after,
        after - before,
        rate_difference(costs, old, new, _units([fault for _, fault in pairs]), edges=edges)[1],
        len(pairs),
        int((new & ~old).sum()),
        int((old & ~new).sum()),
    )


def why_incomparable(earlier: Assessment, later: Assessment) -> str:
    """What differs besides the test set between two assessments that cannot be compared; empty if nothing is known."""
    if earlier.notice.rate is None:
        return "it has no notice rate"
    if _networks(earlier) != _networks(later) or _edited_differently(earlier.faults, later.faults):
        return "it is of other networks"
    before, now = earlier.notice.reference, later.notice.reference
    if before == now:
        return ""
    told = "its costs were measured on other inputs"
    if _inputs(before) != _inputs(now):
        return f"{told}: {_inputs(before)} there, {_inputs(now)} here"
    same_clean = earlier.subject.splits.get("test") == later.subject.splits.get("test")
    return told if same_clean else f"{told}, or it is of other networks"


def _inputs(reference: ReferenceRecord) -> str:
    trained = f" and {reference.trained_inputs:,} training inputs" if reference.trained_inputs else ""
    return f"{reference.inputs:,} {KINDS.get(reference.kind, reference.kind)}{trained}"


def _networks(result: Assessment) -> tuple[object, ...]:
    subject = result.subject
    return subject.model, subject.originals, subject.task, subject.layers


def _edited_differently(earlier: Sequence[FaultRecord], later: Sequence[FaultRecord]) -> bool:
    """Whether the same operator, strength and random choice make another edit; some edits are those of any network."""
    edits: dict[tuple[object, ...], set[str]] = {}
    for fault in earlier:
        edits.setdefault((*_key(fault), fault.configuration), set()).add(fault.patch)
    pairs = [(edits.get((*_key(fault), fault.configuration), {""}), fault.patch) for fault in later if fault.patch]
    return any(patch not in known and "" not in known for known, patch in pairs)  # earlier versions have no digests


def _paired(
    earlier: Sequence[FaultRecord], later: Sequence[FaultRecord], least: float
) -> Iterator[tuple[FaultRecord, FaultRecord]]:
    """Each later fault with the earlier one of the same origin whose cost is nearly the same, if there is one."""
    known: dict[tuple[object, ...], list[FaultRecord]] = {}
    for fault in earlier:
        known.setdefault(_key(fault), []).append(fault)
    for fault in later:
        same = known.get(_key(fault), [])
        apart = [abs(old.cost - fault.cost) for old in same]
        if apart and min(apart) <= NEARLY * max(abs(fault.cost), least):
            yield same.pop(apart.index(min(apart))), fault


def _search(fault: FaultRecord) -> tuple[object, ...]:
    """The search that found a fault; its other faults are known as well."""
    return fault.operator, fault.original, fault.seed


def _key(fault: FaultRecord) -> tuple[object, ...]:
    """Where a fault comes from; several faults of one random choice may differ in their cost only."""
    return *_search(fault), fault.parameter, None if fault.strength is None else round(fault.strength, 9)


def _units(faults: Sequence[FaultRecord]) -> np.ndarray:
    originals = np.array([fault.original for fault in faults])
    return originals if len(np.unique(originals)) > 1 else np.array([fault.seed for fault in faults])
