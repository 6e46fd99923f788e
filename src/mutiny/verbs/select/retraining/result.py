"""The result of `accuracy_after_retraining`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, get_type_hints

import numpy as np

from mutiny.core.json_values import JsonObject, to_plain
from mutiny.core.results import RankedSubject, Result, Rows, finite
from mutiny.verbs.select.metrics import Repeated, over_repeats
from mutiny.verbs.select.retraining.roles import Protocol

CONTROL, RANDOM = "none", "random"
"""Further training without new inputs, and with random ones. A gain means nothing without these two for comparison."""
BEFORE = "before"
DETAILS = ("protocol", "budget", "candidates", "judges", "test_judges", "gains", "test_gains", "skipped")
"""Attributes of `Retraining` that other results do not have."""
Trial = dict[str, list[float]]
"""Accuracies `BEFORE` and after retraining by each method: on the pool and, if it is used, on the test set."""


@dataclass(frozen=True)
class Gain:
    """Accuracy on one set of inputs, over repeats.

    Attributes:
        before: Accuracy of the original.
        after: Accuracy of its copy after further training.
        gain: Difference of the two, per repeat.
        beyond_control: Gain minus the gain of the control, per repeat.
    """

    before: Repeated
    after: Repeated
    gain: Repeated
    beyond_control: Repeated


@dataclass(frozen=True, repr=False, eq=False)
class Retraining(Result):
    """Gains in accuracy by retraining; ``print`` shows a table.

    Attributes:
        protocol: Protocol that decided which inputs are candidates and which are used for evaluation.
        budget: Number of labeled candidates.
        candidates: Number of inputs to choose from.
        judges: Number of pool inputs used for evaluation; the smallest number if repeats differ.
        test_judges: Number of test inputs used for evaluation; 0 if the test set is not used.
        gains: Gains on the pool by method; ``none`` is the control.
        test_gains: Gains on the test set; empty if it is not used.
        skipped: Methods that do not apply, with the reason.
        settings: Settings of retraining.
        notes: Caveats, one sentence each.
    """

    verb: ClassVar[str] = "accuracy_after_retraining"

    subject: RankedSubject
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    protocol: Protocol
    budget: int
    candidates: int
    judges: int
    test_judges: int
    gains: Mapping[str, Gain]
    test_gains: Mapping[str, Gain]
    skipped: Mapping[str, str]
    notes: tuple[str, ...]
    seconds: float
    created: str

    def __repr__(self) -> str:
        methods = ", ".join(name for name in self.gains if name != CONTROL)
        return f"Retraining({methods}: {self.budget} of {self.candidates} candidates)"

    def __str__(self) -> str:
        lines = [f"{self.budget} of {self.candidates} candidates labeled, {self.settings.get('epochs')} more epochs"]
        lines += _table(f"accuracy on {self.judges} inputs of the pool", self.gains)
        lines += _table(f"accuracy on {self.test_judges} inputs of the test set", self.test_gains)
        lines += [f"skipped {name}: {reason}" for name, reason in self.skipped.items()]
        return "\n".join([*lines, *self.notes])

    def details(self) -> dict[str, Any]:
        """The verb's own part of `to_json`."""
        return {name: to_plain(getattr(self, name)) for name in DETAILS}

    @classmethod
    def read_details(cls, given: JsonObject) -> dict[str, Any]:
        """The way back from `details`; an error if any of them is missing."""
        hints = get_type_hints(cls)
        return {name: given.get(name, hints[name]) for name in DETAILS}

    def tables(self) -> dict[str, Rows]:
        """``gains`` on the pool, and ``test_gains`` if the test set was used."""
        tables = {"gains": _rows(self.gains), "test_gains": _rows(self.test_gains)}
        return {name: rows for name, rows in tables.items() if rows or name == "gains"}

    def metrics(self) -> dict[str, float]:
        """Accuracy after retraining, and gain beyond the control, of each method on the pool."""
        return finite(
            {
                f"{measure}.{row['method']}": row[measure]
                for row in _rows(self.gains)
                for measure in ("after", "beyond_control")
            }
        )


def gains(trials: Sequence[Trial], judges: int) -> dict[str, Gain]:
    """Gain of each method that was skipped in no repeat.

    Args:
        trials: Accuracies of each repeat.
        judges: Position of the evaluation set: 0 for the pool, 1 for the test set.
    """
    methods = [name for name in trials[-1] if all(name in trial for trial in trials)]
    accuracies = {name: np.array([trial[name][judges] for trial in trials]) for name in methods}
    before, control = accuracies.pop(BEFORE), accuracies[CONTROL]
    return {
        name: Gain(*map(over_repeats, (before, after, after - before, after - control)))
        for name, after in accuracies.items()
    }


def _rows(gains: Mapping[str, Gain]) -> list[dict[str, Any]]:
    rows = []
    for name, gain in gains.items():
        interval = gain.beyond_control.interval
        rows.append(
            {
                "method": name,
                "before": gain.before.mean,
                "after": gain.after.mean,
                "gain": gain.gain.mean,
                "beyond_control": gain.beyond_control.mean,
                "beyond_control_low": None if interval is None else interval.low,
                "beyond_control_high": None if interval is None else interval.high,
            }
        )
    return rows


def _table(title: str, gains: Mapping[str, Gain]) -> Iterator[str]:
    if not gains:
        return
    width = max(map(len, gains))
    yield title
    yield f"  {'':{width}}{'before':>8}{'after':>8}{'gain':>15}{'beyond control':>17}"
    for name, gain in gains.items():
        beyond = "" if name == CONTROL else _points(gain.beyond_control)
        line = f"  {name:{width}}{gain.before.mean:8.1%}{gain.after.mean:8.1%}{_points(gain.gain):>15}{beyond:>17}"
        yield line.rstrip()


def _points(value: Repeated) -> str:
    """Percentage points, with half of the interval's width."""
    spread = "" if value.interval is None else f" ± {50 * value.interval.width:.1f}"
    return f"{round(100 * value.mean, 1) + 0.0:+.1f}{spread}"  # adding 0.0 turns -0.0 into 0.0
