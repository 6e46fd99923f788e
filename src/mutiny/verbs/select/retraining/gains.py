"""Gains in accuracy by retraining, and how they are told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mutiny.verbs.select.metrics import Repeated, over_repeats
from mutiny.verbs.select.retraining.roles import Protocol

CONTROL, RANDOM = "none", "random"
"""Trained further without new inputs, and with any: without these two beside it, a gain means nothing."""
BEFORE = "before"
Trial = dict[str, list[float]]
"""Accuracy before, and after retraining by each method: on inputs of the pool and, if they judge, of the test set."""


@dataclass(frozen=True)
class Gain:
    """Accuracy on one set of inputs, over repeats.

    Attributes:
        before: of the original.
        after: of its copy that was trained further.
        gain: the difference, repeat by repeat.
        beyond_control: by how much the gain exceeds that of the control, repeat by repeat.
    """

    before: Repeated
    after: Repeated
    gain: Repeated
    beyond_control: Repeated


@dataclass(frozen=True)
class Retraining:
    """What `accuracy_after_retraining` found; ``print`` shows a table.

    Attributes:
        budget: how many of the ``candidates`` were labelled.
        judges: inputs of the pool that judge; the fewest, if repeats differ.
        test_judges: the same of the test set; 0 if it does not judge.
        gains: on the pool's judges, by method; ``none`` is the control.
        test_gains: likewise on the test set's; empty if it does not judge.
        skipped: methods that do not apply here, and why.
        settings: of retraining.
        notes: what a careful reader should know.
    """

    protocol: Protocol
    budget: int
    candidates: int
    judges: int
    test_judges: int
    gains: Mapping[str, Gain]
    test_gains: Mapping[str, Gain]
    skipped: Mapping[str, str]
    settings: Mapping[str, Any]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.budget} of {self.candidates} candidates labelled, {self.settings['epochs']} more epochs"]
        lines += _table(f"{self.judges} inputs of the pool judge", self.gains)
        lines += _table(f"{self.test_judges} inputs of the test set judge", self.test_gains)
        lines += [f"skipped {name}: {reason}" for name, reason in self.skipped.items()]
        return "\n".join([*lines, *self.notes])


def gains(trials: Sequence[Trial], judges: int) -> dict[str, Gain]:
    """By method; one that was skipped in some repeat has none."""
    every = [name for name in trials[-1] if all(name in trial for trial in trials)]
    table = {name: np.array([trial[name][judges] for trial in trials]) for name in every}
    before, control = table.pop(BEFORE), table[CONTROL]
    return {
        name: Gain(*map(over_repeats, (before, after, after - before, after - control)))
        for name, after in table.items()
    }


def _table(title: str, gains: Mapping[str, Gain]) -> Iterator[str]:
    if not gains:
        return
    wide = max(map(len, gains))
    yield title
    yield f"  {'':{wide}}{'before':>8}{'after':>8}{'gain':>15}{'beyond control':>17}"
    for name, one in gains.items():
        beyond = "" if name == CONTROL else _points(one.beyond_control)
        line = f"  {name:{wide}}{one.before.mean:8.1%}{one.after.mean:8.1%}{_points(one.gain):>15}{beyond:>17}"
        yield line.rstrip()


def _points(value: Repeated) -> str:
    """In percentage points, with half of the interval's width."""
    spread = "" if value.interval is None else f" ± {50 * value.interval.width:.1f}"
    return f"{round(100 * value.mean, 1) + 0.0:+.1f}{spread}"  # no minus before zero
