"""Tables of known faults and of repairs."""

from __future__ import annotations

from mutiny.verbs.select.metrics import Repeated
from studies.deepfault.faults import KINDS
from studies.deepfault.injected import ABOVE, CLEAN, LABEL, WAYS, WEIGHTS, Way
from studies.deepfault.mending import METHODS
from studies.deepfault.repairs import CONFUSION, TARGETS
from studies.deepfault.results import CsvRow, Results
from studies.deepfault.subjects import Family
from studies.deepfault.tables import cell
from studies.deepfault.verdicts import back, of_way, over_faults, p_values, repaired
from studies.store import matching, mean, number
from studies.writing import NOT_RUN, markdown

FAILURES = {LABEL: "by label", CLEAN: "caused by the fault"}
OPERATORS: tuple[str | None, ...] = (*KINDS, None)
EVERY = "all"
"""Of the operators, which `None` stands for."""


def found(results: Results) -> str:
    """Precision of each way to accuse, by operator, beside that of as many at random."""
    p = p_values(results.injected)
    body = [
        [
            way.accuser,
            way.active or "-",
            FAILURES[way.failures],
            *(_percent(over_faults(of_way(results.injected, way, operator), "precision")) for operator in OPERATORS),
            "-" if way.accuser == WEIGHTS else _chance(p.get(way)),
        ]
        for way in WAYS
    ]
    for title, way in (("random neurons", WAYS[0]), ("random weights", Way(WEIGHTS))):
        cells = [over_faults(of_way(results.injected, way, operator), "expected") for operator in OPERATORS]
        body.append([f"*{title}*", "-", "-", *(_percent(one) for one in cells), "-"])
    return markdown(["accused by", "active", "failures", *KINDS, EVERY, "p"], body)


def faults(results: Results) -> str:
    """What the operators did."""
    body = []
    for operator in OPERATORS:
        rows = matching(results.injected, accuser="ochiai", active=ABOVE, failures=CLEAN)
        rows = [row for row in rows if operator in (None, row["operator"])]
        cells = [mean(rows, column) for column in ("accuracy_before", "accuracy_faulty")]
        body.append([
            operator or EVERY, str(len(rows)) if rows else NOT_RUN, cell(mean(rows, "faulty"), 1),
            *(NOT_RUN if one is None else f"{100 * one:.1f}" for one in cells), cell(mean(rows, "failing"), 0),
        ])  # fmt: skip
    return markdown(
        ["operator", "faults", "faulty neurons", "accuracy before, %", "with the fault, %", "answers changed"], body
    )


def mended(results: Results) -> str:
    """What became of known faults."""
    body = []
    for method in METHODS:
        for operator in OPERATORS:
            rows = [row for row in matching(results.mended, method=method) if operator in (None, row["operator"])]
            body.append([method, operator or EVERY, *(_mended(rows) if rows else [NOT_RUN] * 7)])
    head = ["method", "operator", "repaired", "repair rate, %", "break rate, %", "accuracy before, %"]
    return markdown([*head, "with the fault, %", "gain, points", "of the loss, %"], body)


def _mended(rows: list[CsvRow]) -> list[str]:
    share = back(rows)
    return [
        f"{repaired(rows)} of {len(rows)}",
        *(_percent(over_faults(rows, column)) for column in ("repair_rate", "break_rate")),
        *(_percent(over_faults(rows, f"accuracy_{when}"), spread=False) for when in ("before", "faulty")),
        _percent(over_faults(rows, "gain")),
        "-" if share is None else f"{100 * share:.0f}",
    ]


def repairs(results: Results, family: Family) -> str:
    """Failures that trained networks have by themselves."""
    body = []
    for name in family.networks:
        for target in TARGETS:
            for method in METHODS:
                rows = matching(results.repairs, subject=name, method=method, target=target)
                body.append([name, *(_judged(rows[0]) if rows else _unknown(target, method))])
    head = ["subject", "target", "failures (held out)", "method", "repair rate, %", "break rate, %", "gain, points"]
    return markdown([*head, "accuracy, %", "repaired", "weights", "seconds"], body)


def _unknown(target: str, method: str) -> list[str]:
    return [target, NOT_RUN, method, *[NOT_RUN] * 7]


def _judged(row: CsvRow) -> list[str]:
    which = row["target"]
    if which == CONFUSION and row["label"]:
        which = f"{row['label']} taken for {row['said']}"
    before, after = (100 * int(row[name]) / int(row["inputs"]) for name in ("before", "after"))
    return [
        which,
        f"{row['failures']} ({row['held_out_failures']})",
        row["method"],
        *(_with_interval(row, name, name.partition("_")[0]) for name in ("repair_rate", "break_rate", "gain")),
        f"{before:.2f} → {after:.2f}",
        "yes" if repaired([row]) else "no",
        row["weights"],
        f"{float(row['seconds']):.0f}",
    ]


def _with_interval(row: CsvRow, column: str, stem: str) -> str:
    value, low, high = (number(row, name) for name in (column, f"{stem}_low", f"{stem}_high"))
    if value is None or low is None or high is None:
        return "-"
    return f"{100 * value:.2f} [{100 * low:.2f}, {100 * high:.2f}]"


def _chance(p_value: float | None) -> str:
    if p_value is None:
        return NOT_RUN
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _percent(value: Repeated | None, spread: bool = True) -> str:
    if value is None:
        return NOT_RUN
    half = f" ± {100 * (value.interval.high - value.mean):.1f}" if spread and value.interval else ""
    return f"{100 * value.mean:.1f}{half}"
