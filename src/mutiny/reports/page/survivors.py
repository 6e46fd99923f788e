"""The section about survivors: faults that the training set notices and the test set does not."""

from __future__ import annotations

from mutiny.core.records import MutantRecord, OperatorRecord, Status, Verdict
from mutiny.core.subject_records import AssessedSubject
from mutiny.reports.formatting import MINUS, NONE, count, number, several
from mutiny.reports.page.blocks import Block, Column, Section, Subsection, Table, TableCell, TableRow, Text
from mutiny.reports.page.mutants import hardest, key_of, mutants_table, on, severity, survivors_of
from mutiny.reports.page.strength_curves import strength_curves
from mutiny.verbs.assess.result import Assessment

QUESTION = "What would slip through?"
SETS = ("train", "test")


def survivors_section(result: Assessment) -> Section:
    """Survivors, hardest killed mutants, and each operator's strengths and search."""
    subject = result.subject
    blocks: list[Block] = [Text(_answer(result), "answer")]
    rows = [_spot(record, subject) for record in result.operators if record.status is Status.SCORED]
    if rows:
        blocks.append(_spots(rows, subject))
    blocks.append(mutants_table(result))
    blocks.append(Subsection("Strength by strength", tuple(strength_curves(result))))
    return Section("survivors", QUESTION, tuple(blocks))


def _answer(result: Assessment) -> str:
    missed = {record.label: found for record in result.operators if (found := survivors_of(record))}
    judged = [m for record in result.operators for m in on(record, "train") if m.verdict is Verdict.KILLED]
    if not judged:
        return "Unknown: the training set kills no mutant, so there is nothing that the test set could miss."
    if not missed:
        return f"Nothing that was tried: the test set kills all {count(len(judged), 'mutant')} that training kills."
    total = sum(map(len, missed.values()))
    return (
        f"{total} of {count(len(judged), 'mutant')} that the training set kills survive on the test set: "
        f"{several([f'{label} {len(found)}' for label, found in missed.items()], 8)}."
    )


def _spot(record: OperatorRecord, subject: AssessedSubject) -> TableRow:
    train, test = (record.sets[split].weakest_killed if split in record.sets else None for split in SETS)
    missed, hard = survivors_of(record), hardest(record)
    if record.strength is None:
        spot = f"{count(len(missed), 'configuration')}" if missed else "none"
    elif test is None and missed:
        spot = f"{number(train)} and {record.severer}"
    elif missed:
        spot = f"{number(train)} to {number(test)}"
    else:
        spot = "none"
    worst = missed[0] if missed else None
    return TableRow(
        (
            TableCell(record.label),
            TableCell(record.strength or NONE),
            TableCell(spot, float(len(missed))),
            TableCell(NONE if worst is None else _which(worst), None if worst is None else severity(worst, record)),
            *(_fall(worst, record, split, subject) for split in ("test", "train")),
            TableCell(NONE if hard is None else _which(hard), None if hard is None else hard.strength),
            _fall(hard, record, "test", subject),
        )
    )


def _which(mutant: MutantRecord) -> str:
    return mutant.operator if mutant.strength is None else number(mutant.strength)


def _fall(mutant: MutantRecord | None, record: OperatorRecord, split: str, subject: AssessedSubject) -> TableCell:
    """By how much the metric of a mutant differs from the originals' on a set."""
    if mutant is None or split not in subject.splits:
        return TableCell(NONE)
    there = [m for m in record.mutants if m.guiding_set == split and key_of(m) == key_of(mutant)]
    if not there or there[0].metric_mean is None:
        return TableCell(NONE)
    change = there[0].metric_mean - subject.splits[split].metric_mean
    return TableCell(change_text(change, subject.task.metric), change)


def change_text(change: float, metric: str) -> str:
    """A change of the metric; of accuracy in points.

    >>> change_text(-0.0123, "accuracy"), change_text(0.25, "mse")
    ('−1.23 pts', '+0.25')
    """
    text = f"{100 * change:+.2f} pts" if metric == "accuracy" else f"{change:+.3g}"
    return text.replace("-", MINUS)


def _spots(rows: list[TableRow], subject: AssessedSubject) -> Table:
    metric = subject.task.metric
    columns = (
        Column("Operator"),
        Column("Strength"),
        Column("Blind spot", True, "strengths that the training set notices and the test set does not"),
        Column("Worst survivor", True, "the most drastic mutant that train kills and test does not"),
        Column("on test", True, f"how its mean {metric} on the test set differs from the originals'"),
        Column("on train", True, f"how its mean {metric} on the training set differs from the originals'"),
        Column("Hardest killed", True, "the mildest mutant that the test set kills"),
        Column(f"its {metric}", True, "how that differs on the test set from the originals'"),
    )
    return Table("spots", "Blind spots by operator", columns, tuple(rows))
