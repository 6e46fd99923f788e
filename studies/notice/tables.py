"""Tables of the page."""

from __future__ import annotations

import numpy as np

from studies.notice.ordering import DISAGREEMENT, EASY, EASY_ELSEWHERE, HALVES, TEN, tau
from studies.notice.reference import BINS, WAYS, measured_on
from studies.notice.results import CsvRow, Results
from studies.store import number
from studies.writing import NOT_RUN, markdown, percent


def _percent(row: CsvRow, column: str, digits: int = 0) -> str:
    value = number(row, column)
    return "" if value is None or np.isnan(value) else percent(value, digits)


def _points(row: CsvRow, column: str, signed: bool = False, digits: int = 1) -> str:
    value = number(row, column)
    if value is None or np.isnan(value):
        return ""
    return f"{100 * value:{'+' if signed else ''}.{digits}f}"


def _plain(row: CsvRow, column: str) -> str:
    value = number(row, column)
    return "" if value is None else f"{value:,.0f}"


def subjects(results: Results) -> str:
    """Networks and data."""
    head = "subject, network, trained on, costs measured on, test inputs, a test set has, originals, accuracy: train, "
    head += "reference, test"
    rows = [
        [
            row["subject"],
            f"{row['network']}, {_plain(row, 'weights')} weights",
            _plain(row, "train"),
            f"{_plain(row, 'reference_inputs')} ({row['reference']})",
            _plain(row, "test"),
            _plain(row, "test_size"),
            row["originals"],
            *(_percent(row, f"{name}_metric", 1) for name in ("train", "reference", "test")),
        ]
        for row in results.subjects
    ]
    return markdown(head.split(", "), rows) if rows else NOT_RUN


def done(results: Results) -> str:
    """How much was run."""
    rows = []
    for name in results.names(results.faults):
        for kind in ("assess", "ladder", "harmless"):
            found = [row for row in results.faults if row["subject"] == name and row["kind"] == kind]
            if found:
                totals = [sum(int(row[column]) for row in found) for column in ("faults", "counted")]
                rows.append([name, kind, str(len(found)), *(f"{total:,}" for total in totals)])
    head = ["subject", "faults found", "originals", "faults", "of them in the bins"]
    return markdown(head, rows) if rows else NOT_RUN


def spread(results: Results) -> str:
    """Spread over groups of originals, and MUFF's beside it."""
    rows = []
    for row in results.spread:
        scores = results.scores(row["subject"], "group") if row["originals"] == "10" else []
        muff = f"{100 * np.std(scores, ddof=1):.1f} ({len(scores)} groups)" if len(scores) > 1 else ""
        rows.append(
            [
                row["subject"],
                row["originals"],
                row["groups"],
                _plain(row, "faults"),
                _percent(row, "mean"),
                _points(row, "sd"),
                f"{_percent(row, 'low')} to {_percent(row, 'high')}",
                _points(row, "sd_seeds"),
                muff,
            ]
        )
    head = ["subject", "originals", "disjoint groups", "faults in the bins", "mean rate", "sd, points", "range"]
    return markdown([*head, "sd over random choices only", "sd of MUFF's score"], rows) if rows else NOT_RUN


def one(results: Results) -> str:
    """Few originals against all of them together."""
    rows = [
        [
            row["subject"],
            row["originals"],
            _percent(row, "mean", 1),
            _percent(row, "pooled", 1),
            _points(row, "bias", signed=True),
        ]
        for row in results.spread
    ]
    head = ["subject", "originals", "mean rate of the groups", "rate of all their faults together", "bias, points"]
    return markdown(head, rows) if rows else NOT_RUN


def coverage(results: Results) -> str:
    """Coverage of both intervals."""
    rows = [
        [
            row["subject"],
            row["originals"],
            row["interval"],
            row["inputs"],
            row["draws"],
            _percent(row, "covered", 1),
            _points(row, "width", digits=0),
            _percent(row, "another", 1),
        ]
        for row in results.coverage
    ]
    head = ["subject", "originals", "interval for", "inputs", "draws", "covers its target", "width, points"]
    return markdown([*head, "covers one other test set"], rows) if rows else NOT_RUN


def growth(results: Results) -> str:
    """Rates of growing test sets."""
    rows = []
    for name in results.names(results.growth):
        orders, steps = results.orders(name), results.steps(name)
        means = np.array([[rate for _, rate in order] for order in orders]).mean(0)
        sizes = [size for size, _ in orders[0]]
        curve = ", ".join(f"{size}: {percent(rate, 0)}" for size, rate in zip(sizes, means, strict=True))
        falls = [step for step in steps if step < 0]
        worst = f"{-100 * min(falls):.1f}" if falls else "0"
        rows.append([name, curve, f"{len(falls)} of {len(steps)}", worst])
    head = ["subject", "inputs: mean rate", "steps that fall", "largest fall, points"]
    return markdown(head, rows) if rows else NOT_RUN


def halves(results: Results) -> str:
    """All tests, a random half, the easy half."""
    rows = []
    for name in results.names(results.ordering):
        row = results.question(name, HALVES)
        if row is not None:
            rates = [_percent(row, column) for column in ("first", "second", "third")]
            rows.append([name, row["originals"], row["inputs"], row["draws"], *rates, _percent(row, "holds", 1)])
            muff = [results.scores(name, what) for what in ("group", "random half", "easy half")]
            if all(muff):
                scores = [percent(float(np.mean(found)), 0) for found in muff]
                number_of = {one["what"]: one["originals"] for one in results.muff if one["subject"] == name}
                each = ", ".join(number_of[what] for what in ("group", "random half", "easy half"))
                rows.append([f"{name}, MUFF's score", each, row["inputs"], "", *scores, ""])
    head = "subject, originals each, inputs, draws, all, random half, easy half, all > random > easy".split(", ")
    return markdown(head, rows) if rows else NOT_RUN


def removed(results: Results) -> str:
    """Without the inputs on which originals disagree; easy inputs only."""
    rows = []
    for name in results.names(results.ordering):
        for question, words in (
            (DISAGREEMENT, "all / only inputs on which originals agree"),
            (EASY, "random / easiest inputs, as many"),
            (EASY_ELSEWHERE, "random / easiest for other originals only, as many"),
        ):
            row = results.question(name, question)
            if row is None:
                continue
            rates = [_percent(row, column) for column in ("first", "second")]
            wanted = "lower" if question == DISAGREEMENT else "less than half"
            rows.append([name, words, row["inputs"], *rates, f"{wanted} in {_percent(row, 'holds')} of draws"])
            scores = results.scores(name, "group")[:1], results.scores(name, "agreeing")
            if question == DISAGREEMENT and all(scores):
                rows.append([f"{name}, MUFF's score", words, "", *(percent(found[0], 0) for found in scores), ""])
    head = ["subject", "test sets", "inputs of the second", "first", "second", "second against first"]
    return markdown(head, rows) if rows else NOT_RUN


def ten(results: Results) -> str:
    """Ten test sets of known order, one draw in full and Kendall's tau over all."""
    rows = []
    for name in results.names(results.sets):
        sets = sorted((row for row in results.sets if row["subject"] == name), key=lambda row: int(row["set"]))
        question = results.question(name, TEN)
        summary = "" if question is None else f"{float(question['tau']):.2f}"
        rows.append([name, "rate", *(_percent(row, "rate") for row in sets), summary])
        rows.append([name, "rate by all other originals", *(_percent(row, "truth") for row in sets), ""])
        scores = results.scores(name, "set")
        if len(scores) == len(sets):
            rows.append(
                [
                    name,
                    "MUFF's score",
                    *(percent(score, 0) for score in scores),
                    f"{tau(scores, results.truth(name)):.2f}",
                ]
            )
    shares = [f"{100 * (1 - at / 9):.0f}% easy" for at in range(10)]
    return markdown(["subject", "", *shares, "Kendall's tau"], rows) if rows else NOT_RUN


def alarms(results: Results) -> str:
    """Changes that cost nothing."""
    rows = [
        [
            row["subject"],
            row["change"],
            row["changes"],
            row["test_sets"],
            "" if not row["cost"] else f"{float(row['cost']):.3f}",
            _percent(row, "changing"),
            _percent(row, "alarms", 2),
        ]
        for row in results.alarms
    ]
    head = ["subject", "change", "changes", "test sets", "mean cost, points", "change an answer", "noticed"]
    return markdown(head, rows) if rows else NOT_RUN


def reference(results: Results) -> str:
    """Rates by kind and size of the reference set, against costs on thousands of held-out images."""
    rows = [
        [
            row["subject"],
            _reference_words(row["reference"]),
            row["inputs"],
            _percent(row, "rate", 1),
            _percent(row, "truth", 1),
            _points(row, "bias", signed=True) + (f" ± {_points(row, 'bias_error')}" if row["bias_error"] else ""),
            _points(row, "rate_sd"),
            " ".join(_points(row, f"rate {name}", digits=0) or "-" for name in BINS),
            " ".join(_points(row, f"truth {name}", digits=0) or "-" for name in BINS),
            _percent(row, "misplaced"),
            f"{float(row['slope']):.2f}",
        ]
        for row in sorted(results.reference, key=_by_size)
    ]
    head = "subject, reference, inputs, rate, truth, bias (points), sd over draws, bins, bins of the truth, "
    head += "faults in a wrong bin, true cost per measured cost"
    return markdown(head.split(", "), rows) if rows else NOT_RUN


def _reference_words(what: str) -> str:
    measured = measured_on(what)
    return what.removesuffix(measured) + ("validation or pool" if measured.isdigit() else measured)


def _by_size(row: CsvRow) -> tuple[str, int, int]:
    what = row["reference"]
    kind = next((2 + at for at, way in enumerate(WAYS) if what.startswith(way)), int(not what.isdigit()))
    return row["subject"], kind, int(row["inputs"])


def planner(results: Results) -> str:
    """Planned sizes and measured power."""
    rows = [
        [
            row["subject"],
            row["cost"],
            row["inputs"],
            _plain(row, "planned"),
            f"{_plain(row, 'low')} to {_plain(row, 'high')}" if row["low"] else "",
            row["plans"],
            _plain(row, "faults"),
            _percent(row, "power"),
            _percent(row, "power_many"),
        ]
        for row in results.planner
    ]
    head = ["subject", "cost, points", "inputs planned from", "planned inputs", "middle 90% of plans", "plans"]
    head += ["faults near that cost", "measured power", "power without the luck of these inputs"]
    return markdown(head, rows) if rows else NOT_RUN
