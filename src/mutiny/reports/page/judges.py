"""The section that compares judges: which of them notices what, and what gates let through."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.reports.formatting import NONE, count, percent
from mutiny.reports.judge_sentences import named_judge, unjudged
from mutiny.reports.notice_sentences import phrases
from mutiny.reports.page.blocks import Block, Column, Section, Subsection, Table, TableCell, TableRow, Text
from mutiny.reports.page.gate_curve import gate_curve
from mutiny.verbs.assess.gates.calibration import GateAlarms, GateCalibration
from mutiny.verbs.assess.gates.calibration_sentence import calibration_sentence
from mutiny.verbs.assess.judges.gate import Gate
from mutiny.verbs.assess.judges.record import JudgeRecord
from mutiny.verbs.assess.result import Assessment

GATES = "What do your gates let through?"
JUDGES = "Which judge notices what?"


def judges_sections(result: Assessment) -> list[Section]:
    """The section about judges; none if the paired test is the only one."""
    if not result.judges:
        return []
    title = GATES if any(record.kind == Gate.code for record in result.judges) else JUDGES
    return [Section("judges", title, tuple(_blocks(result)))]


def _blocks(result: Assessment) -> Iterator[Block]:
    yield Text(_answer(result), "answer")
    if result.notice.rate is None:
        return
    yield _table(result)
    yield from (Text(sentence, "missing") for sentence in unjudged(result))
    for place, record in enumerate(result.judges):
        if record.calibration is not None:
            blocks = tuple(_calibrated(result, record.calibration, place))
            yield Subsection(record.judge, blocks)


def _answer(result: Assessment) -> str:
    """Which judge notices most, and which least."""
    rated = [(record.rate, record) for record in result.judges if record.rate is not None]
    if not rated:
        return "Unknown: there is no notice rate."
    (most, best), (least, worst) = max(rated, key=lambda pair: pair[0]), min(rated, key=lambda pair: pair[0])
    named = f"{named_judge(best)[0].upper()}{named_judge(best)[1:]}"
    if most == least:
        return f"All {len(rated)} judges notice {percent(most)} of the faults that count."
    return f"{named} notices {percent(most)} of the faults that count, {named_judge(worst)} {percent(least)}."


def _table(result: Assessment) -> Table:
    said = phrases(result.notice)
    hint = "noticed faults, of all that cost so much and were decided"
    columns = [Column("Judge"), *(Column(said.between(e.low, e.high), True, hint) for e in result.notice.bins)]
    columns += [Column("Rate", True, "mean of the bins that have faults"), Column("95%", False, "interval of the rate")]
    columns += [Column("False alarms", True, "harmless changes of all weights that are noticed")]
    columns += [Column("Not judged", True, "faults on which it was undecided or failed")]
    rows = tuple(_row(record) for record in result.judges)
    return Table("judges", f"Faults noticed by judge and by cost in {said.heading}", tuple(columns), rows)


def _row(record: JudgeRecord) -> TableRow:
    ends = NONE if record.interval is None else f"{percent(record.interval.low)} to {percent(record.interval.high)}"
    alarms, unjudged_ = record.false_alarms, record.undecided + record.broken
    shown = NONE if alarms is None else f"{alarms.noticed} of {alarms.changes}"
    return TableRow(
        (
            TableCell(record.judge),
            *(
                TableCell(f"{each.noticed:,} of {each.faults:,}", each.rate) if each.faults else TableCell(NONE)
                for each in record.bins
            ),
            TableCell(percent(record.rate), record.rate, share=record.rate),
            TableCell(ends),
            TableCell(shown, None if alarms is None else alarms.rate),
            TableCell(f"{unjudged_:,}", float(unjudged_)),
        )
    )


def _calibrated(result: Assessment, calibration: GateCalibration, place: int) -> Iterator[Block]:
    """The sentence of a gate, its curve, faults that pass by cost, and false alarms by source."""
    yield Text(calibration_sentence(calibration), "answer")
    if calibration.curve is not None:
        yield gate_curve(result, calibration, f"gate-{place}")
    yield _passing(result, calibration, place)
    if calibration.alarms:
        columns = (
            Column("What differs"),
            Column("Runs", True, "runs of the gate where nothing is wrong"),
            Column("Fail", True),
            Column("Rate", True),
            Column("95%", False, "interval of the rate"),
        )
        rows = tuple(_alarm_row(alarms) for alarms in calibration.alarms)
        yield Table(f"gate-alarms-{place}", "False alarms", columns, rows)


def _passing(result: Assessment, calibration: GateCalibration, place: int) -> Table:
    said, advice = phrases(result.notice), calibration.advice
    predicted = any(each.predicted is not None for each in calibration.bins)
    columns = [Column(f"Cost in {said.heading}"), Column("Faults", True), Column("Pass", True), Column("95%")]
    columns += [Column("Predicted", True, "mean chance to pass, computed from the cost of each fault")] * predicted
    columns += [] if advice is None else [Column(f"Pass {advice.gate}", True)]
    rows = []
    for at, each in enumerate(calibration.bins):
        ends = NONE if each.interval is None else f"{percent(each.interval.low)} to {percent(each.interval.high)}"
        cells = [TableCell(said.between(each.low, each.high), each.low), TableCell(f"{each.faults:,}", each.faults)]
        cells += [TableCell(percent(each.rate), each.rate, share=each.rate), TableCell(ends)]
        cells += [TableCell(percent(each.predicted), each.predicted)] * predicted
        cells += [] if advice is None else [TableCell(percent(advice.bins[at].rate), advice.bins[at].rate)]
        rows.append(TableRow(tuple(cells)))
    return Table(f"gate-passes-{place}", "Faults that pass", tuple(columns), tuple(rows))


def _alarm_row(alarms: GateAlarms) -> TableRow:
    ends = f"{percent(alarms.interval.low)} to {percent(alarms.interval.high)}"
    trials = count(alarms.trials, "run") if alarms.independent == alarms.trials else f"{alarms.trials:,} runs"
    dependent = "" if alarms.independent == alarms.trials else f", {alarms.independent:,} independent"
    return TableRow(
        (
            TableCell(alarms.source.value),
            TableCell(f"{trials}{dependent}", float(alarms.trials)),
            TableCell(f"{alarms.alarms:,}", float(alarms.alarms)),
            TableCell(percent(alarms.rate), alarms.rate),
            TableCell("could not fail" if alarms.trivial else ends),
        )
    )
