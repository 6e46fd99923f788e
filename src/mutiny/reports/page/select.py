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
"""Maximum number of methods in the chart, the best ones; the table has all."""
LISTED = 200
"""Maximum number of inputs to list."""


def select_section(result: Selection) -> Section:
    """Quality of the methods if labels are known, and the inputs to label."""
    return Section("selection", QUESTION, tuple(_blocks(result)))


def _blocks(result: Selection) -> Iterator[Block]:
    graded = [ranking for ranking in result.rankings if ranking.quality is not None]
    yield Text(_answer(result), "answer")
    if graded:
        yield _curves(result, sorted(graded, key=_mean_rate, reverse=True)[:CURVES])
        yield _table(result, graded)
    else:
        yield Text(
            "The quality of the ranking is unknown, because the labels of the pool are not known. That is the usual "
            "case; compare methods on labeled inputs: mutiny select SUBJECT --compare all --pool test",
            "missing",
        )
    yield Fold(f"The {count(result.budget, 'input')} to label, best first", (Text(_listed(result)),))
    skipped = tuple(f"{name} is left out: {reason}." for name, reason in result.skipped.items())
    notes = (*notes_of(result.notes, [ranking.notes for ranking in result.rankings]), *skipped)
    if notes:
        yield Notes(notes)


def _answer(result: Selection) -> str:
    first, pool = result.rankings[0], result.subject.pool
    choice = f"{first.title} chooses {result.budget:,} of {count(pool.inputs, 'input')}"
    if first.quality is None or pool.wrong is None:
        return f"{choice}; the list is below."
    return (
        f"{choice}: {first.quality.faults} of these are answered wrongly ({percent(first.quality.fdr)}), against "
        f"{percent(pool.wrong / pool.inputs, 1)} of all."
    )


def _mean_rate(ranking: Ranking) -> float:
    return 0.0 if ranking.quality is None else rate_of(ranking).mean


def rate_of(ranking: Ranking) -> Repeated:
    """Fault detection rate: over repeats, or of the single order."""
    assert ranking.quality is not None
    return ranking.repeated.get("fdr", Repeated(ranking.quality.fdr, 1, None))


def _curves(result: Selection, graded: list[Ranking]) -> Chart:
    pool = result.subject.pool
    wrong = pool.wrong or 0
    limit = min(pool.inputs, max(2 * result.budget, round(0.4 * pool.inputs)))
    lines = [Line(ranking.method, _curve(ranking, limit)) for ranking in graded]
    lines.append(Line("random, on average", ((0.0, 0.0), (limit, wrong * limit / pool.inputs)), "dashed", quiet=True))
    ideal = ((0.0, 0.0), (min(wrong, limit), min(wrong, limit)), (limit, min(wrong, limit)))
    lines.append(Line("ideal", tuple((float(x), float(y)) for x, y in ideal), "dotted", quiet=True))
    faults = ", ".join(f"{ranking.method} {ranking.quality.faults}" for ranking in graded if ranking.quality)
    best = f" The {len(graded)} best of {len(result.rankings)} methods." if len(graded) < len(result.rankings) else ""
    return Chart(
        "selection-curves",
        Lines(
            tuple(lines),
            "inputs labeled",
            "wrong answers found",
            ((float(result.budget), f"budget {result.budget:,}"),),
        ),
        f"Wrong answers found as inputs are labeled, of {wrong:,} in the pool.{best}",
        f"Wrong answers found within the budget of {result.budget:,}: {faults}; of {wrong:,} in the pool.",
    )


def _curve(ranking: Ranking, limit: int) -> tuple[tuple[float, float], ...]:
    assert ranking.quality is not None
    return ((0.0, 0.0), *((float(x), float(y)) for x, y in ranking.quality.curve if x <= limit))


def _table(result: Selection, graded: list[Ranking]) -> Table:
    repeats = max(rate_of(ranking).n for ranking in graded)
    seed = ", with the seed that was given" if repeats > 1 else ""
    mean = f", mean over {repeats} repeats with other seeds" if repeats > 1 else ""
    columns = (
        Column("Method"),
        Column("Found", True, f"wrong answers among the first {result.budget:,} inputs{seed}"),
        Column("FDR", True, f"fault detection rate: their share of the budget{mean}"),
        *([Column("95%", True, "interval of FDR over repeats")] if repeats > 1 else []),
        Column("APFD", True, "how early faults come in the ranking, where each wrong input is a fault; 50% is random"),
        Column("RAUC", True, "area under the curve of fault types found, up to 20% of the pool"),
    )
    rows = [TableRow((TableCell(ranking.method), *_cells(ranking, repeats > 1))) for ranking in graded]
    for name, values in result.references.items():
        fdr, apfd, rauc = (TableCell(percent(values.get(key), 1), values.get(key)) for key in ("fdr", "apfd", "rauc"))
        rows.append(
            TableRow(
                (TableCell(f"({name})"), TableCell(NONE), fdr, *([TableCell(NONE)] if repeats > 1 else []), apfd, rauc)
            )
        )
    return Table("methods", "Methods of selection", columns, tuple(rows))


def _cells(ranking: Ranking, repeated: bool) -> Iterator[TableCell]:
    quality = ranking.quality
    assert quality is not None
    rate = rate_of(ranking)
    yield TableCell(str(quality.faults), float(quality.faults))
    yield TableCell(percent(rate.mean, 1), rate.mean, share=rate.mean)
    if repeated:
        yield _interval(rate)
    yield TableCell(percent(quality.apfd, 1), quality.apfd)
    rauc = None if quality.rauc is None else quality.rauc.value
    yield TableCell(percent(rauc, 1), rauc)


def _interval(rate: Repeated) -> TableCell:
    """The interval of a share; that of Student's t may exceed 0 or 1, so it is cut there."""
    if rate.interval is None:
        return TableCell(NONE)
    low, high = max(0.0, rate.interval.low), min(1.0, rate.interval.high)
    return TableCell(f"{percent(low, 1)}{RANGE}{percent(high, 1)}", low)


def _listed(result: Selection) -> str:
    chosen, names = result.rankings[0].order[: result.budget], result.names or ()
    shown = [names[index] if 0 <= index < len(names) else str(index) for index in chosen[:LISTED]]
    more = f" and {len(chosen) - LISTED:,} more" if len(chosen) > LISTED else ""
    return f"By {result.rankings[0].method}: {', '.join(shown)}{more}."
