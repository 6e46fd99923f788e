"""The section of `select`: which inputs to label first."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.reports.formatting import NONE, RANGE, count, percent
from mutiny.reports.page.blocks import Block, Chart, Column, Fold, Notes, Section, Table, TableCell, TableRow, Text
from mutiny.reports.page.pictures import Line, Lines
from mutiny.reports.select_text import notes_of
from mutiny.verbs.select.metrics import Repeated
from mutiny.verbs.select.result import Ranking, Selection

QUESTION = "Which inputs should I label first?"
CURVES = 6
"""So many methods are drawn, the best; the table has all."""
LISTED = 200
"""Inputs that are written out, at most."""


def select_section(result: Selection) -> Section:
    """Curves and numbers where labels are known, and the inputs to label."""
    return Section("selection", QUESTION, tuple(_blocks(result)))


def _blocks(result: Selection) -> Iterator[Block]:
    graded = [one for one in result.rankings if one.quality is not None]
    yield Text(_answer(result), "answer")
    if graded:
        yield _curves(result, sorted(graded, key=_found, reverse=True)[:CURVES])
        yield _table(result, graded)
    else:
        yield Text(
            "The quality of the ranking is unknown, because the labels of the pool are not known. That is the usual "
            "case; compare methods on labeled inputs: mutiny select SUBJECT --compare all --pool test",
            "missing",
        )
    yield Fold(f"The {count(result.budget, 'input')} to label, best first", (Text(_listed(result)),))
    skipped = tuple(f"{name} is left out: {reason}." for name, reason in result.skipped.items())
    notes = (*notes_of(result.notes, [one.notes for one in result.rankings]), *skipped)
    if notes:
        yield Notes(notes)


def _answer(result: Selection) -> str:
    first, pool = result.rankings[0], result.subject.pool
    said = f"{first.title} chooses {result.budget:,} of {count(pool.inputs, 'input')}"
    if first.quality is None or pool.wrong is None:
        return f"{said}; the list is below."
    return (
        f"{said}: {first.quality.faults} of these are answered wrongly ({percent(first.quality.fdr)}), against "
        f"{percent(pool.wrong / pool.inputs, 1)} of all."
    )


def _found(one: Ranking) -> float:
    return 0.0 if one.quality is None else rate_of(one).mean


def rate_of(ranking: Ranking) -> Repeated:
    """Fault detection rate: over repeats, or of the single order."""
    assert ranking.quality is not None
    return ranking.repeated.get("fdr", Repeated(ranking.quality.fdr, 1, None))


def _curves(result: Selection, graded: list[Ranking]) -> Chart:
    pool = result.subject.pool
    wrong = pool.wrong or 0
    limit = min(pool.inputs, max(2 * result.budget, round(0.4 * pool.inputs)))
    lines = [Line(one.method, _shown(one, limit)) for one in graded]
    lines.append(Line("random, on average", ((0.0, 0.0), (limit, wrong * limit / pool.inputs)), "dashed", quiet=True))
    ideal = ((0.0, 0.0), (min(wrong, limit), min(wrong, limit)), (limit, min(wrong, limit)))
    lines.append(Line("ideal", tuple((float(x), float(y)) for x, y in ideal), "dotted", quiet=True))
    told = ", ".join(f"{one.method} {one.quality.faults}" for one in graded if one.quality is not None)
    best = f" The {len(graded)} best of {len(result.rankings)} methods." if len(graded) < len(result.rankings) else ""
    return Chart(
        "selection-curves",
        Lines(tuple(lines), "inputs labeled", "wrong answers found", float(result.budget), f"budget {result.budget:,}"),
        f"Wrong answers found as inputs are labeled, of {wrong:,} in the pool.{best}",
        f"Wrong answers found within the budget of {result.budget:,}: {told}; of {wrong:,} in the pool.",
    )


def _shown(one: Ranking, limit: int) -> tuple[tuple[float, float], ...]:
    assert one.quality is not None
    return ((0.0, 0.0), *((float(x), float(y)) for x, y in one.quality.curve if x <= limit))


def _table(result: Selection, graded: list[Ranking]) -> Table:
    repeats = max(rate_of(one).n for one in graded if one.quality is not None)
    seed = ", with the seed that was given" if repeats > 1 else ""
    mean = f", mean over {repeats} repeats with other seeds" if repeats > 1 else ""
    columns = (
        Column("Method"),
        Column("Found", True, f"wrong answers among the first {result.budget:,} inputs{seed}"),
        Column("FDR", True, f"fault detection rate: their share of the budget{mean}"),
        *([Column("95%", True, "interval of FDR over repeats")] if repeats > 1 else []),
        Column("APFD", True, "how early all faults come, each wrong input one; 50% is random"),
        Column("RAUC", True, "area under the curve of kinds of faults, up to a fifth of the pool"),
    )
    rows = [TableRow((TableCell(one.method), *_cells(one, repeats > 1))) for one in graded]
    for name, values in result.references.items():
        fdr, apfd, rauc = (TableCell(percent(values.get(key), 1), values.get(key)) for key in ("fdr", "apfd", "rauc"))
        rows.append(
            TableRow(
                (TableCell(f"({name})"), TableCell(NONE), fdr, *([TableCell(NONE)] if repeats > 1 else []), apfd, rauc)
            )
        )
    return Table("methods", "Methods of selection", columns, tuple(rows))


def _cells(one: Ranking, repeated: bool) -> Iterator[TableCell]:
    found = one.quality
    assert found is not None
    rate = rate_of(one)
    yield TableCell(str(found.faults), float(found.faults))
    yield TableCell(percent(rate.mean, 1), rate.mean, share=rate.mean)
    if repeated:
        yield _between(rate)
    yield TableCell(percent(found.apfd, 1), found.apfd)
    rauc = None if found.rauc is None else found.rauc.value
    yield TableCell(percent(rauc, 1), rauc)


def _between(rate: Repeated) -> TableCell:
    """A share lies between 0 and 1, whatever Student says."""
    if rate.interval is None:
        return TableCell(NONE)
    low, high = max(0.0, rate.interval.low), min(1.0, rate.interval.high)
    return TableCell(f"{percent(low, 1)}{RANGE}{percent(high, 1)}", low)


def _listed(result: Selection) -> str:
    chosen = result.rankings[0].order[: result.budget]
    names = result.names
    shown = [str(at) if names is None or not 0 <= at < len(names) else names[at] for at in chosen[:LISTED]]
    more = f" and {len(chosen) - LISTED:,} more" if len(chosen) > LISTED else ""
    return f"By {result.rankings[0].method}: {', '.join(shown)}{more}."
