"""The mutants of an assessment: survivors, the hardest killed one, and a table of all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mutiny.core.records import Basis, MutantRecord, OperatorRecord, Verdict
from mutiny.reports.formatting import NONE, count, number, p_value, percent
from mutiny.reports.page.blocks import Column, Fold, Table, TableCell, TableRow
from mutiny.verbs.assess.muff.result import MuffAssessment

MutantKey = tuple[str, float | None]
"""Identifies a mutant on every set: operator or configuration, and strength."""


def on(record: OperatorRecord, split: str, searched: bool = False) -> list[MutantRecord]:
    """The mutants of an operator that were judged on a set, in order, without duplicates.

    Args:
        record: Record of the operator.
        split: Set of inputs.
        searched: Return the steps of the set's own search instead, with duplicates.
    """
    judged = [mutant for mutant in record.mutants if mutant.guiding_set == split]
    if searched:
        return [mutant for mutant in judged if mutant.searched]
    return [mutant for mutant in judged if mutant.same_as is None]


def key_of(mutant: MutantRecord) -> MutantKey:
    """What identifies a mutant on every set."""
    return mutant.operator, mutant.strength


def mutant_name(mutant: MutantRecord, record: OperatorRecord) -> str:
    """The name of a mutant: its operator with the strength, or its configuration.

    >>> from mutiny.core.records import Status, Verdict
    >>> wi = OperatorRecord("WI", "weight inhibitor", "WI", {}, "factor", (0.0, 1.0), Status.SCORED)
    >>> mutant_name(MutantRecord("WI", 0.6584, "test", Verdict.KILLED), wi)
    'WI at factor 0.658'
    """
    if mutant.strength is None or record.strength is None:
        return mutant.operator
    return f"{mutant.operator} at {record.strength} {mutant.strength:.3g}"


def survivors_of(record: OperatorRecord) -> list[MutantRecord]:
    """Mutants that the training set kills and the test set does not, the most drastic first."""
    return sorted(record.survivors(), key=lambda mutant: -severity(mutant, record))


def hardest(record: OperatorRecord) -> MutantRecord | None:
    """The mildest mutant that the test set kills; ``None`` if it kills none, or if the operator has no strength."""
    killed = [m for m in on(record, "test") if m.verdict is Verdict.KILLED and m.strength is not None]
    return min(killed, key=lambda mutant: severity(mutant, record), default=None)


def severity(mutant: MutantRecord, record: OperatorRecord) -> float:
    """Position of a mutant's strength between the mildest (0) and the severest (1)."""
    if mutant.strength is None or record.bounds is None:
        return 0.0
    mild, severe = record.bounds
    return (mutant.strength - mild) / (severe - mild) if severe != mild else 0.0


def mutants_table(result: MuffAssessment) -> Fold:
    """The mutants that were judged on the test set, with their verdicts on the other sets."""
    judged = [pair for record in result.operators for pair in _rows(record)]
    rows = [row for _, row in sorted(judged, key=lambda pair: not pair[0])]
    sampled = any(mutant.basis is not Basis.EXACT for record in result.operators for mutant in on(record, "test"))
    columns = [
        Column("Mutant"),
        Column("Test", hint="verdict on the test set"),
        Column("Train", hint="verdict on the training set; mutants that survive there count as equivalent"),
        Column("Weak", hint="verdict on the weak set"),
        Column("Metric", True, "mean over instances on the test set"),
        Column("p", True, "p-value of the kill rule's test on the test set"),
        Column("Effect", True, "effect size on the test set; positive if the mutant is worse"),
        Column("Instances", True, "number of instances until the metric was stable"),
        Column("Trivial", True, "share of (instance, input) pairs that go from right to wrong"),
        Column("Basis", hint="exact: every input was evaluated; otherwise a sample, with bounds"),
    ][: None if sampled else -1]
    rows = rows if sampled else [TableRow(row.cells[:-1], row.verdict) for row in rows]
    title = f"All {count(len(rows), 'mutant')} judged on the test set"
    return Fold(title, (Table("mutants", "Mutants judged on the test set", tuple(columns), tuple(rows), filters=True),))


def _rows(record: OperatorRecord) -> Iterator[tuple[bool, TableRow]]:
    """For each mutant, whether it is missed, and its row."""
    verdicts = {split: {key_of(m): m for m in record.mutants if m.guiding_set == split} for split in ("train", "weak")}
    survivors = {key_of(mutant) for mutant in survivors_of(record)}
    order = sorted(on(record, "test"), key=lambda mutant: -severity(mutant, record))
    for mutant in order:
        others = [verdicts[split].get(key_of(mutant)) for split in ("train", "weak")]
        reason = f" ({mutant.reason})" if mutant.reason else ""
        yield (
            key_of(mutant) in survivors,
            TableRow(
                (
                    TableCell(
                        f"{mutant_name(mutant, record)}{reason}", f"{mutant.operator} {severity(mutant, record):.9f}"
                    ),
                    _verdict(mutant),
                    *map(_verdict, others),
                    TableCell(metric_text(mutant.metric_mean), mutant.metric_mean),
                    TableCell(p_value(mutant.p_value), mutant.p_value),
                    TableCell(_effect(mutant), mutant.effect_size),
                    TableCell(str(mutant.instances), float(mutant.instances)),
                    TableCell(percent(mutant.triviality, 1), mutant.triviality),
                    TableCell(mutant.basis.value),
                ),
                mutant.verdict.value,
            ),
        )


def metric_text(value: float | None) -> str:
    """A metric with four digits.

    >>> metric_text(0.98218), metric_text(None)
    ('0.9822', '–')
    """
    return NONE if value is None or not np.isfinite(value) else f"{value:.4g}"


def _effect(mutant: MutantRecord) -> str:
    if mutant.effect_size is None and mutant.verdict is Verdict.KILLED:
        return "infinite"
    return "infinite" if mutant.effect_size == float("inf") else number(mutant.effect_size)


def _verdict(mutant: MutantRecord | None) -> TableCell:
    return TableCell("not judged") if mutant is None else TableCell(mutant.verdict.value, verdict=mutant.verdict.value)
