"""Tables of the page: ours, and beside it the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from studies.muff import paper, ratio, rq1, rq2, weak
from studies.muff.paper import DEEPMUTATION, MUFF, NAMES, OF_LAYERS, OPERATORS, WITH_RATIO, Cell
from studies.muff.results import (
    SUBJECTS,
    SYNTHETIC,
    CsvRow,
    Results,
    instances_of,
    mean,
    of_paper,
    rate_of,
    sensitivity_of,
)
from studies.store import number
from studies.writing import NOT_RUN, markdown, percent


def cell(value: Cell | None, digits: int = 2) -> str:
    """A share in per cent, words as they are, "not run" for nothing."""
    if value is None:
        return NOT_RUN
    return percent(value, digits) if isinstance(value, float | int) else value


def _beside(
    rows: Sequence[tuple[str, str]],
    ours: Callable[[str, str], str],
    theirs: Mapping[str, Mapping[str, Cell]],
    show: Callable[[Cell | None], str] = cell,
) -> str:
    """One row per (title, key); for each subject ours, and where the paper has it, the paper's in italics."""
    head = [name for s in SUBJECTS for name in ((s, f"*{NAMES[s]}*") if s in NAMES else (s,))]
    body = []
    for title, key in rows:
        cells = []
        for subject in SUBJECTS:
            cells.append(ours(subject, key))
            if subject in NAMES:
                value = of_paper(theirs, subject, key.split(",")[0])
                cells.append("" if value is None else f"*{show(value)}*")
        body.append([title, *cells])
    return markdown(["operator", *head], body)


def subjects(results: Results) -> str:
    """Data, networks and originals."""
    body = []
    rows = {row["subject"]: row for row in results.subjects}
    for name in SUBJECTS:
        row = rows.get(name)
        theirs = paper.DATA.get(NAMES.get(name, ""))
        beside = f"{theirs[0]:,} / {theirs[1]:,}; {theirs[2]}; {theirs[3]}" if theirs else "-"
        if row is None:
            body.append([name, *[NOT_RUN] * 5, beside])
            continue
        spread = f"{_short(row, 'train_metric')} (sd {_short(row, 'train_sd')}) / {_short(row, 'test_metric')}"
        right = f"{percent(float(row['train_right']))} / {percent(float(row['test_right']))}"
        body.append([
            f"{name} ({'synthetic' if name in SYNTHETIC else 'real'})",
            f"{int(row['train']):,} / {int(row['test']):,} / {int(row['weak']):,}",
            f"{row['network']}, {int(row['weights']):,} weights, {row['layers']} layers",
            f"{row['originals']} x {row['epochs']} epochs",
            f"{row['metric']} {spread}",
            right,
            beside,
        ])  # fmt: skip
    head = [
        "subject",
        "train / test / weak inputs",
        "network",
        "originals",
        "metric, train / test",
        "right, train / test",
    ]
    return markdown([*head, "paper"], body)


def _short(row: CsvRow, column: str) -> str:
    value = number(row, column)
    return "-" if value is None else f"{value:.4g}"


def disagreement(results: Results, scenario: str) -> str:
    """Tables IV or V, each with its half of Table IX."""
    settings = dict.fromkeys(DEEPMUTATION, "default") | {rq1.ORIGINALS: ""}
    rows = [("none (originals)", rq1.ORIGINALS)] if scenario == rq1.EACH else []
    rows += [(code, code) for code in DEEPMUTATION]
    rows += [(f"{code}, {setting}", f"{code},{setting}") for code in MUFF for setting in ("factor=0.5", rq1.WEAKEST)]

    def ours(subject: str, key: str) -> str:
        code, _, setting = key.partition(",")
        row = results.disagreement(subject, code, setting or settings[code], scenario)
        text = cell(rate_of(row))
        if row is not None and setting == rq1.WEAKEST and row["strength"]:
            text += f" at {float(row['strength']):.3g}"
        if row is not None and row["low"]:
            text += f" ({100 * float(row['low']):.2f}-{100 * float(row['high']):.2f})"
        return text

    return _beside(rows, ours, paper.ONE_ORIGINAL if scenario == rq1.ONE else paper.EACH_ORIGINAL)


def stability(results: Results) -> str:
    """Fig. 2 in numbers."""

    def ours(subject: str, code: str, of_ratio: str) -> str:
        row = results.stability(subject, code, of_ratio)
        if row is None:
            return NOT_RUN
        if row["status"] == "not applicable":
            return "N/A"
        return f"unstable ({row['instances']})" if row["status"] == "unstable" else row["instances"]

    kinds = [(code, r) for code in WITH_RATIO for r in rq2.RATIOS] + [(code, "") for code in OF_LAYERS]
    body = [[code, r or "-", *(ours(subject, code, r) for subject in SUBJECTS)] for code, r in kinds]
    return markdown(["operator", "ratio", *SUBJECTS], body)


def sensitivity(results: Results) -> str:
    """Table VI."""
    table = _beside(
        [(code, code) for code in OPERATORS],
        lambda subject, code: cell(sensitivity_of(results.search(subject, code))),
        paper.SENSITIVITY,
    )
    for title, group in (("mean of WI, NI", MUFF), ("mean of the others", DEEPMUTATION)):
        cells = []
        for subject in SUBJECTS:
            value = mean([sensitivity_of(results.search(subject, code)) for code in group])
            cells.append("-" if value is None else percent(value, 2))
            if subject in NAMES:
                theirs = mean([of_paper(paper.SENSITIVITY, subject, code) for code in group])
                cells.append("-" if theirs is None else f"*{percent(theirs, 2)}*")
        table += "\n| " + " | ".join([title, *cells]) + " |"
    return table


def instances(results: Results) -> str:
    """Table VII."""

    def show(value: Cell | None) -> str:
        return NOT_RUN if value is None else value if isinstance(value, str) else f"{value:.0f}"

    return _beside(
        [(code, code) for code in OPERATORS],
        lambda subject, code: show(instances_of(results.search(subject, code))),
        paper.INSTANCES,
        show,
    )


def strengths(results: Results) -> str:
    """What stands behind Table VI: the weakest killed strength on each set, the score, and what it cost."""
    body = []
    for subject in SUBJECTS:
        for code in OPERATORS:
            row = results.search(subject, code)
            if row is None or row["status"] == "invalid":
                continue
            score = "-"
            if row["score"]:
                low, high = number(row, "score_low"), number(row, "score_high")
                score = percent(float(row["score"]), 0)
                score += f" ({percent(low, 0)} to {percent(high, 0)})" if low is not None and high is not None else ""
            sets = [f"{float(row[name]):.4g}" if row[name] else "-" for name in map("weakest_{}".format, SETS)]
            counts = "/".join(row[f"{kind}_train"] for kind in ("killed", "survived", "unstable"))
            share = percent(float(row["evaluated"]) / float(row["possible"]))
            cost = [row["probes"], share, f"{float(row['seconds']):.0f}"]
            body.append([subject, code, row["strength"] or "-", *sets, counts, score, row["hidden"], *cost])
    head = ["subject", "operator", "searched", *(f"weakest: {name}" for name in SETS), "killed/alive/unstable on train"]
    return markdown([*head, "score", "hidden", "probes", "inputs evaluated", "seconds"], body) if body else NOT_RUN


SETS = ("train", "test", "weak")


def seconds(results: Results) -> str:
    """Table VIII."""

    def per_probe(subject: str, group: Sequence[str], column: str) -> str:
        rows = [row for code in group if (row := results.search(subject, code)) and number(row, "seconds_train")]
        probes = sum(_probes(row, column) for row in rows)
        return f"{sum(float(row[column]) for row in rows) / probes:.1f}" if probes else NOT_RUN

    def per_operator(subject: str) -> str:
        rows = [row for code in MUFF if (row := results.search(subject, code))]
        return f"{sum(float(row['seconds']) for row in rows) / len(rows):.0f}" if rows else NOT_RUN

    body = []
    for subject in SUBJECTS:
        theirs = paper.SECONDS.get(NAMES.get(subject, ""))
        ours = [
            per_probe(subject, MUFF, "seconds_train"),
            per_probe(subject, MUFF, "seconds"),
            per_probe(subject, DEEPMUTATION, "seconds_train"),
            per_operator(subject),
        ]
        body.append([subject, *ours, *([f"*{value:,}*" for value in theirs] if theirs else ["-"] * 3)])
    head = ["subject", "WI, NI: per mutant, train", "per mutant, all sets", "others: per mutant, train"]
    return markdown([*head, "WI, NI: per operator", "*MUFF*", "*DeepMutation++*", "*DeepCrime*"], body)


def _probes(row: CsvRow, column: str) -> int:
    if column == "seconds":
        return int(row["probes"])
    return sum(int(row[f"{kind}_train"]) for kind in ("killed", "survived", "unstable"))


def tests(results: Results) -> str:
    """The strongest survivor on train of each operator, where a paired rank test kills what the rule spares."""
    body = []
    for row in results.rq3:
        alive = [
            m
            for m in results.mutants
            if (m["subject"], m["operator"], m["set"], m["verdict"])
            == (row["subject"], row["operator"], "train", "survived")
        ]
        if not number(row, "hidden") or not alive:
            continue
        last = max(alive, key=lambda mutant: number(mutant, "strength") or 0.0)
        metrics = [_short(last, name) for name in ("metric_mean", "metric_median", "metric_lowest")]
        tested = [f"{float(last[name]):.2g}" for name in ("p_value", "p_wilcoxon")]
        body.append([row["subject"], row["operator"], last["strength"] or "-", *metrics, *tested])
    head = ["subject", "operator", "strength", "mean metric", "median", "worst instance", "p, GLM", "p, Wilcoxon"]
    return markdown(head, body) if body else ""


def ratios(results: Results) -> str:
    """Fig. 3 in numbers."""
    body = [[r, *(cell(sensitivity_of(results.at_ratio(s, r))) for s in SUBJECTS)] for r in ratio.RATIOS]
    return markdown(["ratio", *SUBJECTS], body)


def readings(results: Results) -> str:
    """Sensitivity of regression subjects by both readings of the weak set, and the paper's."""
    body = []
    for subject in weak.SUBJECTS:
        for (code,) in weak.units():
            ours = [sensitivity_of(results.search(subject, code)), sensitivity_of(results.worded(subject, code))]
            theirs = of_paper(paper.SENSITIVITY, subject, code)
            body.append([subject, code, *(cell(value) for value in ours), f"*{cell(theirs)}*"])
    return markdown(["subject", "operator", "high losses removed", "low losses removed", "*paper*"], body)


def reasons(rows: Iterable[CsvRow], status: str) -> str:
    """Why operators do not apply, each reason once."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        if row["status"] == status:
            where = found.setdefault(row["reason"], {}).setdefault(row["operator"], [])
            where += [row["subject"]] if row["subject"] not in where else []
    texts = ["; ".join(f"{code} on {', '.join(where)}" for code, where in by.items()) for by in found.values()]
    pairs = [f"{text}: {reason}" for text, reason in zip(texts, found, strict=True)]
    return f"Not applicable (N/A): {'. '.join(pairs)}." if pairs else ""


def times(results: Results) -> str:
    """What each part took."""
    trained = [row for row in results.subjects if number(row, "trained_epochs")]
    each = [
        f"{row['subject']} {float(row['training_seconds']) * int(row['epochs']) / int(row['trained_epochs']):.0f} s"
        for row in trained
    ]
    own = [row for row in results.ratio if row["ratio"] != ratio.DEFAULT]  # the default ratio is RQ3's row
    parts = {"RQ1": results.rq1, "RQ2": results.rq2, "RQ3": results.rq3, "ratio": own}
    body = [
        [
            name,
            str(len(rows)),
            *(_minutes(sum(number(row, c) or 0 for row in rows)) for c in ("seconds", "cpu_seconds")),
        ]
        for name, rows in parts.items()
    ]
    set_up = sum(number(row, "setup_seconds") or 0 for row in results.subjects)
    body.append(["clean passes and pre-flight", str(len(results.subjects)), _minutes(set_up), "-"])
    text = markdown(["part", "units", "wall minutes", "processor minutes"], body)
    return text + (f"\n\nTraining one original took {', '.join(each)}." if each else "")


def _minutes(value: float) -> str:
    return f"{value / 60:.1f}"
