"""The result of `strengthen`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mutiny.core.json_values import JsonObject, expect, expect_numbers, expect_share, to_plain
from mutiny.core.records import FaultRecord
from mutiny.core.results import Result, Rows, StrengthenedSubject, finite
from mutiny.verbs.assess.notice import GroupRate
from mutiny.verbs.strengthen.answers import Ints
from mutiny.verbs.strengthen.held_out import HeldOutRate, LabelGain
from mutiny.verbs.strengthen.subset import Subset, SubsetRates
from mutiny.verbs.strengthen.synthesis import Candidates


@dataclass(frozen=True, repr=False, eq=False)
class Strengthening(Result):
    """Result of `strengthen`. ``chosen`` are the inputs to label.

    Attributes:
        notice: Notice rate of the assessment to start from, by cost.
        unit: Unit of costs.
        budgets: Numbers of labels, ascending; none if no inputs were chosen.
        order: Inputs of the pool, best first; as many as the largest budget.
        useful: Number of them that raise the expected notice rate; the method for ties chose the rest.
        predicted: Notice rate on held-out faults that is predicted without labels of the pool, by budget.
        beyond: Missed faults that the pool is predicted not to make noticed.
        candidates: Synthesized inputs for these faults. They have no labels and are not included in any rate.
        before: Notice rate of the test set on held-out faults; ``None`` if it was not measured.
        measured: Notice rates on held-out faults after labeling, by method and budget.
        subset: Smaller test set, if asked for and found.
        smaller: Notice rates of the subset on held-out faults.
        notes: Caveats, one sentence each.
        names: Names of the inputs of the pool; ``None`` if they have none.
    """

    verb: ClassVar[str] = "strengthen"

    subject: StrengthenedSubject
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    notice: GroupRate
    unit: str
    budgets: tuple[int, ...]
    order: Ints
    useful: int
    predicted: Mapping[int, float]
    beyond: tuple[FaultRecord, ...]
    candidates: Candidates | None
    before: HeldOutRate | None
    measured: tuple[LabelGain, ...]
    subset: Subset | None
    smaller: SubsetRates | None
    notes: tuple[str, ...]
    seconds: float
    created: str
    names: tuple[str, ...] | None = None

    @property
    def chosen(self) -> Ints:
        """Indices of the inputs to label with the largest budget, best first."""
        return self.order

    def gain(self, method: str, budget: int) -> LabelGain | None:
        """Measured gain of a method with a budget; ``None`` if it was not measured."""
        return next((gain for gain in self.measured if (gain.method, gain.budget) == (method, budget)), None)

    def __repr__(self) -> str:
        rate = "no notice rate" if self.notice.rate is None else f"notice rate {self.notice.rate:.3f}"
        held = "" if self.before is None else f", held-out {self.before.rate:.3f}"
        best = self.gain("strengthen", self.budgets[-1]) if self.budgets else None
        after = "" if best is None else f" to {best.rate:.3f} with {best.budget} labels"
        small = "" if self.subset is None else f", {len(self.subset)} of {self.subset.of} tests kept"
        return f"Strengthening({self.subject.name!r}, {rate}{held}{after}{small})"

    def details(self) -> dict[str, Any]:
        """The verb's own part of `to_json`."""
        return {
            "notice": to_plain(self.notice),
            "unit": self.unit,
            "chosen": {str(budget): self.order[:budget].tolist() for budget in self.budgets},
            "useful": self.useful,
            "predicted": {str(budget): rate for budget, rate in self.predicted.items()},
            "names": None if self.names is None or self.subject.pool is None else list(self.names),
            "beyond": to_plain(self.beyond),
            "candidates": None if self.candidates is None else self.candidates.to_json(),
            "before": to_plain(self.before),
            "measured": to_plain(self.measured),
            "subset": self._subset(),
        }

    @classmethod
    def read_details(cls, given: JsonObject) -> dict[str, Any]:
        """The inverse of `details`; synthesized inputs are not in JSON."""
        chosen, predicted = given.object("chosen"), given.get("predicted", Mapping[str, float])
        budgets = (*chosen.values, *predicted)
        expect_numbers(budgets, "chosen", "numbers of labels")
        for rate in predicted.values():
            expect(not math.isnan(rate), "predicted", None, "a number between 0 and 1")
            expect_share(rate, "predicted")
        orders = [chosen.integers(budget) for budget in chosen.values]
        before, measured = given.get("before", HeldOutRate | None, None), given.get("measured", tuple[LabelGain, ...])
        expect(not measured or before is not None, "before", None, "a rate, because there are rates in measured")
        subset, smaller = _read_subset(given)
        return {
            "notice": given.get("notice", GroupRate),
            "unit": given.get("unit", str),
            "budgets": tuple(map(int, chosen.values)),
            "order": max(orders, key=len, default=np.zeros(0, np.int64)),
            "useful": given.get("useful", int, 0),
            "predicted": {int(budget): rate for budget, rate in predicted.items()},
            "beyond": given.get("beyond", tuple[FaultRecord, ...]),
            "candidates": _read_candidates(given),
            "before": before,
            "measured": measured,
            "subset": subset,
            "smaller": smaller,
            "names": given.get("names", tuple[str, ...] | None, None),
        }

    def tables(self) -> dict[str, Rows]:
        """Table ``measured`` with the gain of labels, and table ``chosen`` with the inputs to label, best first."""
        names = self.names
        chosen = [
            {"rank": rank, "index": at, **({} if names is None else {"name": names[at]})}
            for rank, at in enumerate(self.order.tolist(), 1)
        ]
        tables: dict[str, Rows] = {"measured": [*map(_row, self.measured)], "chosen": chosen}
        return tables if self.measured else {"chosen": chosen, "measured": []}

    def metrics(self) -> dict[str, float]:
        """Notice rates on held-out faults: ``before`` labeling, and after it for each method and budget."""
        after = {f"notice.{gain.method}.{gain.budget}": gain.rate for gain in self.measured}
        size = None if self.subset is None else float(len(self.subset))
        return finite({"before": None if self.before is None else self.before.rate, **after, "subset": size})

    def _subset(self) -> dict[str, Any] | None:
        if self.subset is None:
            return None
        small = self.subset
        return {
            "indices": small.indices.tolist(),
            "size": len(small),
            "of": small.of,
            "rate": small.rate,
            "rate_of_all": small.rate_of_all,
            "tolerance": small.tolerance,
            "held_out": to_plain(self.smaller),
        }


def _row(measured: LabelGain) -> dict[str, Any]:
    gain, ahead = measured.gain, measured.ahead
    return {
        "labels": measured.budget,
        "method": measured.method,
        "rate": measured.rate,
        "gain": gain.value,
        "low": None if gain.interval is None else gain.interval.low,
        "high": None if gain.interval is None else gain.interval.high,
        "ahead": None if ahead is None else ahead.value,
    }


def _read_subset(given: JsonObject) -> tuple[Subset | None, SubsetRates | None]:
    if given.values.get("subset") is None:
        return None, None
    stored = given.object("subset")
    indices, of = stored.integers("indices"), stored.get("of", int)
    expect(0 < of < 2**31, "subset.of", of, "at least 1")
    expect(bool(np.all((indices >= 0) & (indices < of))), "subset.indices", "indices", "indices of the test set")
    rates = [stored.get(name, float) for name in ("rate", "rate_of_all", "tolerance")]
    for rate in rates:
        expect_share(rate, "subset.rate, rate_of_all or tolerance")
    return Subset(indices, of, *rates), stored.get("held_out", SubsetRates | None, None)


def _read_candidates(given: JsonObject) -> Candidates | None:
    if given.values.get("candidates") is None:
        return None
    stored = given.object("candidates")
    candidates = stored.objects("candidates")
    return Candidates(
        inputs=None,
        starts=None,
        indices=np.array([candidate.get("index", int) for candidate in candidates], np.int64),
        faults=tuple(candidate.get("fault", FaultRecord) for candidate in candidates),
        answers=np.array([candidate.get("answer", int) for candidate in candidates], np.int64),
        distances={},
        eps=stored.get("eps", float),
    )
