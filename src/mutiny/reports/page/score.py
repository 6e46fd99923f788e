"""The section about the score and its interval, by operator and by class."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.core.records import OperatorRecord, Status, Verdict
from mutiny.reports.formatting import NONE, count, number, percent, several
from mutiny.reports.page.blocks import Block, Chart, Column, Notes, Section, Table, TableCell, TableRow, Text
from mutiny.reports.page.classes import classes_part
from mutiny.reports.page.mutants import on
from mutiny.reports.page.pictures import Scores
from mutiny.verbs.assess.muff.redundancy import TRIVIAL
from mutiny.verbs.assess.muff.result import Evaluation, MuffAssessment, MuffSettings

QUESTION = "How good is my test set, and how sure is that?"
WIDE = 0.3
"""Intervals wider than this are called wide."""


def score_section(result: MuffAssessment) -> Section:
    """Score with its interval, scores by operator, and shares by class."""
    blocks: list[Block] = [Text(_answer(result), "answer"), Text(basis_text(result))]
    if any(record.score is not None for record in result.operators):
        blocks.append(_chart(result))
    blocks.append(operators_table(result))
    blocks.extend(Text(line, "aside") for line in _remarks(result))
    blocks.append(classes_part(result))
    if result.notes:
        blocks.append(Notes(tuple(result.notes)))
    return Section("score", QUESTION, tuple(blocks))


def score_sentence(result: MuffAssessment) -> str:
    """The score in one sentence."""
    score = result.score
    if score.value is None:
        if any(record.status is Status.UNSTABLE for record in result.operators):
            return "There is no score: the test set has no stable verdict on any fault that the training set notices."
        return "There is no score: no operator has a stable mutant that the training set notices."
    all_scored = score.operators == score.tried
    scored = count(score.operators, "operator") if all_scored else f"{score.operators} of {score.tried} operators"
    if score.value >= 1:
        return f"Your test set notices every fault that the training set notices, over {scored}."
    return (
        f"Your test set notices {percent(score.value)} of the faults that the training set notices "
        f"(mean over {scored})."
    )


def interval_sentence(result: MuffAssessment) -> str:
    """The interval in a sentence; empty without a score."""
    interval = result.score.interval
    if interval is None:
        return "There is no interval: see the notes." if result.score.value is not None else ""
    resampled = "inputs" if "inputs" in interval.method else "originals"
    is_wide = interval.high - interval.low > WIDE
    warning = f" It is wide: other {resampled} may well give another score." if is_wide else ""
    ends = f"{percent(interval.low)} to {percent(interval.high)}"
    return f"{percent(interval.level)} interval: {ends}, by {interval.method}.{warning}"


def _answer(result: MuffAssessment) -> str:
    score = result.score
    if score.value is None:
        return score_sentence(result)
    interval, ends = score.interval, ""
    if interval is not None:
        ends = f", {percent(interval.level)} interval {percent(interval.low)} to {percent(interval.high)}"
    return f"Mutation score {percent(score.value)}{ends}."


def basis_text(result: MuffAssessment) -> str:
    """The operators, inputs, originals and answers that the score is based on."""
    return " ".join(_basis(result))


def _basis(result: MuffAssessment) -> Iterator[str]:
    subject, evaluation, interval = result.subject, Evaluation.of(result), result.score.interval
    if result.score.value is not None:
        yield f"The score is the mean over {result.score.operators} of {count(result.score.tried, 'operator')}"
        yield "without an interval." if interval is None else f"and the interval a {interval.method}."
    test = subject.splits.get("test")
    if test is not None:
        yield (
            f"{'Tried' if result.score.value is None else 'It is based'} on {count(test.inputs, 'test input')} and "
            f"{count(subject.originals, 'trained original')}, with a mean {subject.task.metric} of "
            f"{test.metric_mean:.4g} on the test set."
        )
    if subject.originals == 1:
        yield "With one original, it applies to this network only."
    screening = MuffSettings.of(result).screening
    if evaluation.evaluated < evaluation.pairs and screening is not None:
        yield (
            f"Screened: {percent(evaluation.evaluated / evaluation.pairs, 1)} of all answers were evaluated; each "
            f"verdict is that of all answers with {percent(screening.confidence, 1)} confidence."
        )


def weakest_sentence(result: MuffAssessment) -> str:
    """The operator that the test set is weakest against; empty if it misses nothing."""
    operators = result.weakest_first()
    if not operators:
        return ""
    worst = operators[0]
    train, test = (worst.sets[split].weakest_killed if split in worst.sets else None for split in ("train", "test"))
    start = f"It is weakest against {worst.label} ({worst.title}): the training set notices "
    if worst.strength is None or train is None:
        missed, noticed = worst.missed()
        several = f"{noticed} configurations, of which the test set misses {missed}."
        return start + (several if noticed > 1 else "it, the test set does not.")
    strengths = "no strength at all" if test is None else f"only {number(test)} and {worst.severer}"
    return f"{start}{worst.strength} {number(train)}, the test set {strengths}."


def _chart(result: MuffAssessment) -> Chart:
    interval = result.score.interval
    best_first = sorted(result.operators, key=lambda record: (record.score is None, -(record.score or 0.0)))
    shown = [record for record in best_first if record.status is Status.SCORED]
    ends = f", 95% interval {percent(interval.low)} to {percent(interval.high)}" if interval else ""
    scores = ", ".join(f"{record.label} {percent(record.score)}" for record in shown)
    shade = " The shaded band is the 95% interval of the mean." if interval else ""
    return Chart(
        "scores",
        Scores(
            tuple(record.label for record in shown),
            tuple(record.score for record in shown),
            result.score.value,
            None if interval is None else (interval.low, interval.high),
        ),
        f"Score of each operator that has one; the line is their mean.{shade}",
        f"Mutation score by operator: {scores}; mean {percent(result.score.value)}{ends}.",
    )


def operators_table(result: MuffAssessment) -> Table:
    """One row per operator."""
    hints = {
        "Train from": "the mildest strength that the training set notices; milder mutants count as equivalent",
        "Test from": "the same for the test set: the nearer to that of train, the better the test set",
        "Weak from": "the same for the weak set",
        "Score": "share of the strengths noticed on train that are noticed on test as well",
        "Sensitivity": "share of that score which is lost if only easy tests remain; near 100%, the score separates "
        "good tests from bad ones",
        "Probes": "mutants that the searches on all sets tried: killed, survived, unstable",
    }
    columns = [Column("Operator"), Column("Fault"), *(Column(title, True, hint) for title, hint in hints.items())]
    rows = tuple(_row(record) for record in result.operators)
    return Table("operators", "Scores by operator", tuple(columns), rows)


def _row(record: OperatorRecord) -> TableRow:
    searched = [m.verdict for m in record.mutants if m.searched]
    verdicts = (Verdict.KILLED, Verdict.SURVIVED, Verdict.UNSTABLE)
    counts = [searched.count(verdict) for verdict in verdicts]
    sensitivity = record.sensitivity
    return TableRow(
        (
            TableCell(record.label),
            TableCell(record.title),
            *(_weakest_killed(record, split) for split in ("train", "test", "weak")),
            TableCell(
                percent(record.score) if record.score is not None else _no_score(record),
                record.score,
                share=record.score,
            ),
            TableCell("below 0%" if (sensitivity or 0) < 0 else percent(sensitivity), sensitivity),
            TableCell(" / ".join(map(str, counts)), float(counts[0])),
        )
    )


def _no_score(record: OperatorRecord) -> str:
    words = {Status.INVALID: "does not apply", Status.FAILED: "failed", Status.UNSTABLE: "unstable"}
    return words.get(record.status, NONE)


def _weakest_killed(record: OperatorRecord, split: str) -> TableCell:
    summary = record.sets.get(split)
    if summary is None:
        return TableCell(NONE)
    if summary.weakest_killed is not None:
        return TableCell(number(summary.weakest_killed), summary.weakest_killed)
    if record.strength is None and summary.killed:
        return TableCell("killed" if summary.killed == 1 else f"{summary.killed} killed", float(summary.killed))
    if summary.unstable and not summary.survived and not summary.killed:
        return TableCell("unstable")
    return TableCell("none")


def _remarks(result: MuffAssessment) -> Iterator[str]:
    for record in result.operators:
        if record.status is not Status.SCORED and record.reason:
            yield f"{record.label} has no score: {record.reason}."
    judged = [mutant for record in result.operators for mutant in on(record, "test")]
    trivial = sum((mutant.triviality or 0) >= TRIVIAL for mutant in judged)
    if trivial:
        yield f"{trivial} of {len(judged)} mutants judged on test are trivial: nearly every input notices them."
    without = [r.label for r in result.operators if r.sensitivity is None and r.status is Status.SCORED]
    if without:
        yield f"No sensitivity for {several(without)}: the test set notices none of their mutants."
