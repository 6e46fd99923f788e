"""Tables of the page: ours, and in italics beside it the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mutiny.verbs.select.metrics import Repeated
from studies.deepfault import paper
from studies.deepfault.lab import ALL, MEASURES, RANDOM, SHORT
from studies.deepfault.results import Results, deeper
from studies.deepfault.subjects import FAMILIES, ORDER, RMS, Family, family_of
from studies.deepfault.synthesis import METRICS, NEXT
from studies.store import number
from studies.writing import NOT_RUN, markdown

UNKNOWN = "n/a"
"""The paper has no such number, or our copy of it is not legible there."""


def cell(value: Repeated | float | None, digits: int = 2, spread: bool = False) -> str:
    """A mean, with half of its 95% interval if asked for; "not run" for nothing.

    >>> cell(0.256), cell(None), cell(Repeated(0.25, 1, None), 1)
    ('0.26', 'not run', '0.2')
    """
    if value is None:
        return NOT_RUN
    if not isinstance(value, Repeated):
        return f"{value:.{digits}f}"
    half = f" ± {value.interval.high - value.mean:.{digits}f}" if spread and value.interval else ""
    return f"{value.mean:.{digits}f}{half}"


def joined(cells: Sequence[str], between: str = " / ") -> str:
    """Several numbers in one cell; a word that stands for all of them once."""
    return cells[0] if set(cells) in ({NOT_RUN}, {UNKNOWN}) else between.join(cells)


def theirs(values: Iterable[float | None], digits: int = 2, between: str = " / ") -> str:
    """The paper's numbers.

    >>> theirs([0.5, None])
    '*0.50 / n/a*'
    """
    return f"*{joined([UNKNOWN if value is None else f'{value:.{digits}f}' for value in values], between)}*"


def subjects(results: Results) -> str:
    """Data, networks, accuracy (Table 2)."""
    rows, body = {row["subject"]: row for row in results.subjects}, []
    for name in ORDER:
        row, beside = rows.get(name), f"*{100 * paper.ACCURACY[name]:.1f}*"
        if row is None:
            body.append([name, paper.NAMES[name], *[NOT_RUN] * 5, beside, NOT_RUN, NOT_RUN])
            continue
        spread = f" (sd {100 * float(row['accuracy_sd']):.2f})" if row["accuracy_sd"] else ""
        body.append([
            name,
            paper.NAMES[name],
            f"{int(row['weights']):,} / {row['neurons']}",
            f"{int(row['train']):,} / {int(row['test']):,}",
            f"{row['epochs']} epochs, batch {row['batch_size']}, learning rate {row['learning_rate']}",
            row["networks"],
            f"{100 * float(row['accuracy']):.2f}{spread}",
            beside,
            f"{100 * float(row['raw_accuracy']):.1f}" if row["raw_accuracy"] else "-",
            row["least_failures"],
        ])  # fmt: skip
    head = ["subject", "paper's name", "weights / hidden neurons", "train / test inputs", "training with Adam"]
    tail = ["networks", "accuracy, %", "*paper*", "accuracy on 0..255, %", "fewest failures of a class"]
    return markdown([*head, *tail], body)


def _head(family: Family) -> list[str]:
    return [title for name in family.networks for title in (name, f"*{paper.NAMES[name]}*")]


def outcomes(results: Results, family: Family, way: str) -> str:
    """Table 3: loss / accuracy."""
    body = []
    for k in family.ks:
        for measure in ALL:
            cells = []
            for name in family.networks:
                loss, right = (results.synthesized(name, way, k, measure, metric) for metric in METRICS)
                cells.append(joined([cell(loss), cell(right, spread=True)]))
                cells.append(theirs(paper.SYNTHESIZED[name, k, metric][measure] for metric in METRICS))
            body.append([str(k), SHORT[measure], *cells])
    return markdown(["k", "", *_head(family)], body)


def against_random(results: Results) -> str:
    """RQ1: where a measure fools a network significantly more than the random choice."""
    body = []
    for name in ORDER:
        family = family_of(name)
        for way in family.ways:
            cells = []
            for measure in MEASURES:
                cells.append(_counts(results, name, way, measure, RANDOM))
                cells.append("*all*" if measure in paper.BEATS_RANDOM[family.title] else "*none*")
            body.append([name, way, *cells])
    return markdown(["subject", "way", *(t for m in MEASURES for t in (f"{SHORT[m]}-R", "*paper*"))], body)


def pairwise(results: Results, way: str) -> str:
    """Tables 8 and 9: where one measure fools a network significantly more than another."""
    body = []
    for name in (name for name in ORDER if way in family_of(name).ways):
        cells = []
        for (first, second), marked in paper.MARKED.items():
            marks = ["some" if paper.NAMES[name] in marked[metric] else "none" for metric in METRICS]
            cells.append(f"{_counts(results, name, way, first, second)} *{joined(marks)}*")
        body.append([name, *cells])
    return markdown(["subject", *(f"{SHORT[first]} > {SHORT[second]}" for first, second in paper.MARKED)], body)


def _counts(results: Results, subject: str, way: str, first: str, second: str) -> str:
    found = [results.significant(subject, way, first, second, metric) for metric in METRICS]
    known = [one for one in found if one]
    return f"{' / '.join(str(one[0]) for one in known)} of {known[0][1]}" if known else NOT_RUN


def layers(results: Results) -> str:
    """Fig. 3 in numbers: how much of the suspicion falls on the deeper half of the layers."""
    body = []
    for name in ORDER:
        family = family_of(name)
        for at in family.readings:
            k = family.ks[-1]
            usual = deeper(results.in_layers(name, at, MEASURES[0], k, "neurons"))
            cells = []
            for measure in MEASURES:
                share, always = deeper(results.in_layers(name, at, measure, k)), results.always(name, at, measure, k)
                cells.append(joined([NOT_RUN if one is None else f"{100 * one:.0f}" for one in (share, always)]))
            body.append([name, at, str(k), NOT_RUN if usual is None else f"{100 * usual:.0f}", *cells])
    return markdown(["subject", "activity", "k", "all neurons", *(SHORT[measure] for measure in MEASURES)], body)


def distances(results: Results, family: Family) -> str:
    """Table 4: L1 / L2 / Linf in the paper's units of pixels, and how much of it is bound by d."""
    body = []
    digits = 2 if family.top == 1 else 1
    cases: list[tuple[str, int | None, tuple[str, ...], tuple[float, ...]]]
    cases = [(f"k = {k}", k, MEASURES, paper.DISTANCE[family.title][k]) for k in family.ks]
    cases += [(measure, None, (measure,), paper.DISTANCE_BY[family.title][measure]) for measure in ALL]
    for title, k, measures, beside in cases:
        cells = []
        for way in family.ways:
            found = [results.of_family(family, way, norm, k, measures) for norm in paper.NORMS]
            bound = results.of_family(family, way, "limited", k, measures)
            text = joined([cell(one, digits) for one in found])
            cells.append(text if bound is None else f"{text} ({100 * bound:.0f}%)")
        body.append([title, *cells, theirs(beside, digits)])
    return markdown(["L1 / L2 / L∞", *family.ways, "*paper*"], body)


def raised(results: Results) -> str:
    """Table 5."""
    body = []
    for family in FAMILIES:
        for way in family.ways:
            found = [results.of_family(family, way, "raised", k) for k in family.ks]
            body.append([family.title, way, *(NOT_RUN if one is None else f"{100 * one:.0f}" for one in found)])
        body.append([family.title, "*paper*", *(f"*{100 * one:.0f}*" for one in paper.RAISED[family.title].values())])
    ks = [f"k = {small} ({large})" for small, large in zip(*(family.ks for family in FAMILIES), strict=True)]
    return markdown(["", "way", *ks], body)


def raised_next(results: Results, family: Family) -> str:
    """Tables 6 and 7."""
    body = []
    for measure in MEASURES:
        for place, k in enumerate(family.ks):
            cells = [""] * place
            for column, beside in zip(NEXT[place:], paper.NEXT[family.title, measure, k], strict=True):
                found = [cell(results.of_family(family, way, column, k, (measure,))) for way in family.ways]
                cells.append(f"{joined(found)} {theirs([beside])}")
            body.append([SHORT[measure], str(k), *cells])
    return markdown(["", "k", *(f"k' = {k}" for k in family.ks)], body)


def seconds(results: Results) -> str:
    """Table 10: wall milliseconds per input."""
    body = []
    for family in FAMILIES:
        for measure in MEASURES:
            cells = []
            for place, k in enumerate(family.ks):
                spent, inputs = (results.of_family(family, RMS, name, k, (measure,)) for name in ("seconds", "inputs"))
                ours = f"{1000 * spent / inputs:.1f} ms" if spent and inputs else NOT_RUN
                cells.append(f"{ours} *{paper.TIMES[family.title][measure][place]}*")
            body.append([family.title, SHORT[measure], *cells])
    ks = [f"k = {small} ({large})" for small, large in zip(*(family.ks for family in FAMILIES), strict=True)]
    return markdown(["", "", *ks], body)


def times(results: Results) -> str:
    """What training, synthesis and repair took."""
    trained = sum(number(row, "training_seconds") or 0 for row in results.subjects)
    body = [["training (0 if the networks were there)", str(len(results.subjects)), f"{trained / 60:.1f}", "-"]]
    parts = {"synthesis": results.synthesis, "repair of known faults": results.mended, "repair": results.repairs}
    for title, rows in parts.items():
        spent = [sum(number(row, column) or 0 for row in rows) for column in ("seconds", "cpu_seconds")]
        body.append([title, str(len(rows)), *(f"{value / 60:.1f}" for value in spent)])
    return markdown(["part", "rows", "wall minutes", "processor minutes"], body)
