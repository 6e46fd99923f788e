"""The section about survivors: faults that the training set notices and the test set does not."""

from __future__ import annotations

from mutiny.core.records import MutantRecord, OperatorRecord, Status, Verdict
from mutiny.core.results import AssessedSubject
from mutiny.reports.formatting import MINUS, NONE, count, number, several
from mutiny.reports.page.blocks import Block, Column, Section, Subsection, Table, TableCell, TableRow, Text
from mutiny.reports.page.mutants import hardest, key_of, mutants_table, on, severity, survivors_of
from mutiny.reports.page.strength_curves import strength_curves
from mutiny.verbs.assess.muff.result import MuffAssessment

QUESTION = "Which mutants are missed?"
SETS = ("train", "test")


def survivors_section(result: MuffAssessment) -> Section:
    """Survivors and hardest killed mutants by operator, all mutants, and charts by strength."""
    subject = result.subject
    blocks: list[Block] = [Text(_answer(result), "answer")]
    rows = [_blind_spot(record, subject) for record in result.operators if record.status is Status.SCORED]
    if rows:
        blocks.append(_table(rows, subject))
    blocks.append(mutants_table(result))
    blocks.append(Subsection("Strength by strength", tuple(strength_curves(result))))
    return Section("survivors", QUESTION, tuple(blocks))


def _answer(result: MuffAssessment) -> str:
    survivors = {record.label: len(survived) for record in result.operators if (survived := survivors_of(record))}
    killable = [m for record in result.operators for m in on(record, "train") if m.verdict is Verdict.KILLED]
    if not killable:
        return "Unknown: the training set kills no mutant, so there is nothing that the test set could miss."
    mutants = count(len(killable), "mutant")
    if not survivors:
        return f"None of those that were tried: the test set kills all {mutants} that the training set kills."
    by_operator = several([f"{label} {number}" for label, number in survivors.items()], 8)
    return f"{sum(survivors.values())} of {mutants} that the training set kills survive on the test set: {by_operator}."


def _blind_spot(record: OperatorRecord, subject: AssessedSubject) -> TableRow:
    train, test = (record.sets[split].weakest_killed if split in record.sets else None for split in SETS)
    survivors, hard = survivors_of(record), hardest(record)
    if not survivors:
        spot = "none"
    elif record.strength is None:
        spot = count(len(survivors), "configuration")
    elif test is None:
        spot = f"{number(train)} and {record.severer}"
    else:
        spot = f"{number(train)} to {number(test)}"
    worst = survivors[0] if survivors else None
    return TableRow(
        (
            TableCell(record.label),
            TableCell(record.strength or NONE),
            TableCell(spot, float(len(survivors))),
            TableCell(NONE if worst is None else _strength(worst), None if worst is None else severity(worst, record)),
            *(_change(worst, record, split, subject) for split in ("test", "train")),
            TableCell(NONE if hard is None else _strength(hard), None if hard is None else hard.strength),
            _change(hard, record, "test", subject),
        )
    )


def _strength(mutant: MutantRecord) -> str:
    return mutant.operator if mutant.strength is None else number(mutant.strength)


def _change(mutant: MutantRecord | None, record: OperatorRecord, split: str, subject: AssessedSubject) -> TableCell:
    """Difference between the metric of a mutant and of the originals on a set."""
    if mutant is None or split not in subject.splits:
        return TableCell(NONE)
    judged = [m for m in record.mutants if m.guiding_set == split and key_of(m) == key_of(mutant)]
    if not judged or judged[0].metric_mean is None:
        return TableCell(NONE)
    change = judged[0].metric_mean - subject.splits[split].metric_mean
    return TableCell(change_text(change, subject.task.metric), change)


def change_text(change: float, metric: str) -> str:
    """A change of the metric; in points if it is accuracy.

    >>> change_text(-0.0123, "accuracy"), change_text(0.25, "mse")
    ('−1.23 pts', '+0.25')
    """
    text = f"{100 * change:+.2f} pts" if metric == "accuracy" else f"{change:+.3g}"
    return text.replace("-", MINUS)


def _table(rows: list[TableRow], subject: AssessedSubject) -> Table:
    metric = subject.task.metric
    columns = (
        Column("Operator"),
        Column("Strength"),
        Column("Blind spot", True, "strengths that the training set notices and the test set does not"),
        Column("Worst survivor", True, "the most drastic mutant that train kills and test does not"),
        Column("on test", True, f"difference of its mean {metric} on the test set from that of the originals"),
        Column("on train", True, f"difference of its mean {metric} on the training set from that of the originals"),
        Column("Hardest killed", True, "the mildest mutant that the test set kills"),
        Column(f"its {metric}", True, "difference on the test set from that of the originals"),
    )
    return Table("spots", "Blind spots by operator", columns, tuple(rows))
