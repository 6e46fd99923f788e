"""What the kind and the size of the reference set do to the rate.

The search of `assess` is repeated on faults that were measured at many strengths (`finding.ladder`), with costs from a
reference set of the wanted kind and size. Its rate is compared with that of a search whose costs come from thousands
of inputs that neither an original nor a test set has seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from mutiny.core.stats.notice import POINTS, notice_bins
from mutiny.verbs.assess.cost_scale import DIFFERENT
from studies.notice.lab import Lab
from studies.notice.ladder import Ladder
from studies.notice.soft_bins import soft_rates
from studies.notice.table import TEST, Bools, FaultTable, Floats, combined, rate_of
from studies.notice.unlabeled import UNLABELED
from studies.store import Rows

NAME = "reference"
SIZES = (100, 250, 500, 1000, 2000)
FOLD, SEEN = "folds", "train"
SPLITS = {FOLD: "fold", SEEN: "seen"}
SLOPE = "train, slope from "
WITH_TRAIN = "with train, "
SOFT = "soft bins, "
BOTH = "soft bins, with train, "
WAYS = (WITH_TRAIN, SLOPE, BOTH, SOFT)
KINDS = (*map(str, SIZES), FOLD, SEEN, *UNLABELED, *(f"{way}{what}" for way in WAYS for what in (*SIZES, FOLD)))
FITTED = (POINTS[0], 2 * POINTS[-1])
"""Faults that cost so many points on training inputs decide the slope."""
BINS = [f"{low:g} to {high:g}" for low, high in pairwise(POINTS)]
COLUMNS = [
    *"subject reference inputs draws originals faults rate rate_sd truth truth_sd truth_inputs bias bias_error".split(),
    *"same_faults misplaced harmless slope".split(),
    *(f"rate {name}" for name in BINS),
    *(f"truth {name}" for name in BINS),
]


def rows(folder: Path) -> Rows:
    return Rows(folder / "reference.csv", COLUMNS, 2)


@dataclass(frozen=True, eq=False)
class Trial:
    """One draw of a reference set and of a test set.

    Attributes:
        costs: as the reference set measures them.
        errors: their standard errors.
        truth: on all inputs that neither an original, nor the reference set, nor the test set has.
        most: on all inputs that neither an original nor the test set has.
        noticed: by the test set.
    """

    costs: Floats
    errors: Floats
    truth: Floats
    most: Floats
    noticed: Bools


def trials(lab: Lab, table: FaultTable, what: str) -> Iterator[Trial]:
    """Draws for a kind or size of the reference set."""
    reference, tests = table.change["reference"].shape[1], table.change[TEST].shape[1]
    both = np.concatenate([table.change["reference"], table.change[TEST]], axis=1)
    split = SPLITS.get(measured_on(what))
    size = 0 if split else inputs_of(table, what)
    for draw in range(lab.settings.draws):
        rng = lab.draw(NAME, draw)
        inside = rng.permutation(reference)[:size]
        test = rng.permutation(tests)[: min(lab.size, tests // 2)]
        outside = np.setdiff1d(np.arange(tests), test) + reference
        rest = np.concatenate([np.setdiff1d(np.arange(reference), inside), outside])
        most = np.concatenate([np.arange(reference), outside])
        change = table.change[split] if split else both[:, inside]
        change = lab.expected[what] if what in UNLABELED else change
        costs = _points(change)
        errors = _errors(change)
        if what.startswith(SLOPE):
            costs = with_slope(table.points(split="seen"), costs)
        elif what.startswith(WITH_TRAIN):
            costs = combined(table.points(split="seen"), _errors(table.change["seen"]), costs, errors)
        elif what.startswith(BOTH):
            costs, errors = weighted(costs, errors, table.points(split="seen"), _errors(table.change["seen"]))
        truth = _points(both[:, rest])
        yield Trial(costs, errors, truth, _points(both[:, most]), table.noticed(test))


def inputs_of(table: FaultTable, what: str) -> int:
    """Number of inputs on which a kind or size of the reference set measures costs."""
    if what in UNLABELED:
        return table.change["reference"].shape[1]
    measured = measured_on(what)
    split = SPLITS.get(measured)
    return table.change[split].shape[1] if split else min(int(measured), table.change["reference"].shape[1])


def measured_on(what: str) -> str:
    """The held-out inputs of a way to measure costs: their number, or their kind."""
    for way in WAYS:
        what = what.removeprefix(way)
    return what


def with_slope(seen: Floats, held_out: Floats) -> Floats:
    """Costs on training inputs, scaled so that they sum up to those on held-out inputs.

    >>> with_slope(np.array([1.0, 2.0, 4.0]), np.array([1.5, 0.0, 2.0]))
    array([0.5, 1. , 2. ])
    """
    fitted = (seen >= FITTED[0]) & (seen < FITTED[1])
    return np.asarray(seen * (held_out[fitted].sum() / seen[fitted].sum()))


def weighted(costs: Floats, errors: Floats, seen: Floats, seen_errors: Floats) -> tuple[Floats, Floats]:
    """Mean of costs on held-out inputs and of scaled costs on training inputs, each weighted by its precision.

    Returns:
        The costs, and their standard errors.
    """
    scaled = with_slope(seen, costs)
    slope = float(scaled[seen > 0].sum() / seen[seen > 0].sum())
    precisions = 1 / errors**2, 1 / ((DIFFERENT * scaled) ** 2 + (slope * seen_errors) ** 2)
    total = precisions[0] + precisions[1]
    return (costs * precisions[0] + scaled * precisions[1]) / total, 1 / np.sqrt(total)


def _errors(change: np.ndarray) -> Floats:
    """Standard errors of costs, in points."""
    return np.asarray(100 * np.sqrt((change != 0).sum(1) + 0.5) / change.shape[1])


def _points(change: np.ndarray) -> Floats:
    return np.asarray(100 * change.mean(1, dtype=float), float)


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Rates with this reference set, and the truth."""
    (what,) = unit
    table = lab.all("ladder")
    rows(folder).put([{"subject": lab.name, "reference": what, **summary(lab, table, what)}])
    return True


def summary(lab: Lab, table: FaultTable, what: str) -> dict[str, object]:
    """Means over draws."""
    ladder, found = Ladder(table), []
    for trial in trials(lab, table, what):
        chosen, best = ladder.tried(trial.costs), ladder.tried(trial.most)
        ours, theirs = _ours(trial, chosen, what), _rates(trial.most, trial.noticed, best)
        inside = chosen & (trial.costs >= POINTS[0]) & (trial.costs < POINTS[-1])
        places = [np.searchsorted(POINTS, costs[inside], side="right") for costs in (trial.costs, trial.truth)]
        found.append(
            [
                *ours,
                *theirs,
                rate_of(trial.truth[chosen], trial.noticed[chosen]),
                np.mean(places[0] != places[1]),
                np.mean(trial.truth[inside] < POINTS[0]),
                inside.sum(),
                trial.truth[inside].sum() / trial.costs[inside].sum(),
            ]
        )
    values = np.array(found, float)
    mean = means(values)
    width = len(BINS) + 1
    reference, tests = (table.change[name].shape[1] for name in ("reference", TEST))
    return {
        "inputs": inputs_of(table, what),
        "draws": len(values),
        "originals": len(table.numbers),
        "faults": mean[2 * width + 3],
        "rate": mean[0],
        "rate_sd": float(np.nanstd(values[:, 0], ddof=1)) if len(values) > 1 else None,
        "truth": mean[width],
        "truth_sd": float(np.nanstd(values[:, width], ddof=1)) if len(values) > 1 else None,
        "truth_inputs": reference + tests - min(lab.size, tests // 2),
        "bias": mean[0] - mean[width],
        "bias_error": bias_error(lab, table, what),
        "same_faults": mean[2 * width],
        "misplaced": mean[2 * width + 1],
        "harmless": mean[2 * width + 2],
        "slope": mean[2 * width + 4],
        **{f"rate {name}": mean[1 + at] for at, name in enumerate(BINS)},
        **{f"truth {name}": mean[width + 1 + at] for at, name in enumerate(BINS)},
    }


def means(values: Floats) -> Floats:
    """Of the numbers that there are in each column; NaN if there are none."""
    known = ~np.isnan(values)
    count = known.sum(0)
    return np.where(count > 0, np.where(known, values, 0.0).sum(0) / np.maximum(count, 1), np.nan)


def bias_error(lab: Lab, table: FaultTable, what: str, most: int = 20) -> float | None:
    """Standard error of the bias over originals, by leaving out one at a time, from some of the draws."""
    count = len(table.numbers)
    if count < 2:
        return None
    ladder, found = Ladder(table), []
    for number, trial in enumerate(trials(lab, table, what)):
        if number >= most:
            break
        chosen, best = ladder.tried(trial.costs), ladder.tried(trial.most)
        left_out = []
        for original in table.numbers:
            kept = table.original != original
            ours = _ours(trial, chosen & kept, what)[0]
            left_out.append(ours - _rates(trial.most, trial.noticed, best & kept)[0])
        found.append(left_out)
    values = np.nanmean(np.array(found), axis=0)
    return float(np.sqrt((count - 1) / count * ((values - values.mean()) ** 2).sum()))


def _ours(trial: Trial, rows: Bools, what: str) -> list[float]:
    if what.startswith(SOFT):
        return soft_rates(trial.costs[rows], trial.errors[rows], trial.noticed[rows])
    return _rates(trial.costs, trial.noticed, rows)


def _rates(costs: Floats, noticed: Bools, rows: Bools) -> list[float]:
    """The rate, and that of each bin; NaN where there are no faults."""
    bins = notice_bins(costs[rows], noticed[rows])
    return [rate_of(costs[rows], noticed[rows]), *(np.nan if each.rate is None else each.rate for each in bins)]
