"""Shares of mutants that the test inputs of each class notice: MUFF, eq. 1, by class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.core.records import KillBits, MutantRecord, OperatorRecord, Verdict
from mutiny.reports.formatting import count, percent
from mutiny.reports.page.blocks import Block, Chart, Column, Subsection, Table, TableCell, TableRow, Text
from mutiny.reports.page.mutants import key_of, on
from mutiny.reports.page.pictures import Ranges
from mutiny.verbs.assess.muff.result import MuffAssessment

Counts = npt.NDArray[np.int64]
SHOWN = 40
"""Maximum number of classes in a chart; the table has all."""


@dataclass(frozen=True, eq=False)
class ByClass:
    """Counts by class.

    Attributes:
        inputs: Test inputs, ``(classes,)``.
        right: Right answers to them, summed over originals, ``(classes,)``.
        noticed: Mutant instances that get an input of the class wrong which their original gets right,
            ``(originals, classes)``.
        instances: Mutant instances of each original, ``(originals,)``.
        kills: (instance, input) pairs that go from right to wrong, ``(classes,)``.
        mutants: Number of mutants.
    """

    inputs: Counts
    right: Counts
    noticed: Counts
    instances: Counts
    kills: Counts
    mutants: int

    @property
    def share(self) -> npt.NDArray[np.float64]:
        """Share of all instances that each class notices, ``(classes,)``."""
        shares: npt.NDArray[np.float64] = self.noticed.sum(axis=0) / max(1, int(self.instances.sum()))
        return shares


def killable(result: MuffAssessment) -> Iterator[tuple[OperatorRecord, MutantRecord, KillBits]]:
    """The mutants that the training set kills and that were judged on the test set, with their kill bits there."""
    for record in result.operators:
        by_train = {key_of(mutant) for mutant in on(record, "train") if mutant.verdict is Verdict.KILLED}
        for mutant in on(record, "test"):
            bits = result.kills.get((mutant.operator, mutant.strength, "test"))
            if bits is not None and key_of(mutant) in by_train:
                yield record, mutant, bits


def by_class(result: MuffAssessment) -> ByClass | None:
    """Counts over all killable mutants; ``None`` without classes or kill bits."""
    classes, labels = result.subject.task.classes, result.labels
    all_bits = [bits for _, _, bits in killable(result)]
    if classes is None or labels is None or not all_bits or any(bits.inputs != len(labels) for bits in all_bits):
        return None
    originals = max(len(bits.originals) for bits in all_bits)
    fullest = next(bits for bits in all_bits if len(bits.originals) == originals)
    right = np.unpackbits(fullest.originals, axis=-1, count=fullest.inputs).sum(axis=0, dtype=np.int64)
    noticed, kills = np.zeros((originals, classes), np.int64), np.zeros(classes, np.int64)
    instances = np.zeros(originals, np.int64)
    for bits in all_bits:
        for repetition in bits.packed:
            rows = np.unpackbits(repetition, axis=-1, count=bits.inputs)
            for original, row in enumerate(rows):
                per_class = np.bincount(labels, weights=row, minlength=classes).astype(np.int64)
                noticed[original] += per_class > 0
                kills += per_class
                instances[original] += 1
    return ByClass(
        inputs=np.bincount(labels, minlength=classes),
        right=np.bincount(labels, weights=right, minlength=classes).astype(np.int64),
        noticed=noticed,
        instances=instances,
        kills=kills,
        mutants=len(all_bits),
    )


def classes_part(result: MuffAssessment) -> Subsection:
    """Chart and table by class."""
    return Subsection("By class", tuple(_blocks(result)))


def _blocks(result: MuffAssessment) -> Iterator[Block]:
    if result.subject.task.classes is None:
        yield Text("A regression has no classes.", "missing")
        return
    counts = by_class(result)
    if counts is None:
        yield Text(_why_not(result), "missing")
        return
    originals, total = len(counts.instances), int(counts.instances.sum())
    yield Text(
        f"A class notices a mutant if at least one of its inputs goes from right to wrong (MUFF, eq. 1). Based on "
        f"{count(counts.mutants, 'mutant')} that the training set kills, in {count(total, 'instance')}."
    )
    rates = counts.noticed / np.maximum(1, counts.instances)[:, None]
    shown = [label for label in range(len(counts.inputs)) if counts.inputs[label]]
    if len(shown) <= SHOWN:
        shares = ", ".join(f"{label}: {percent(float(counts.share[label]))}" for label in shown)
        span = " The bar goes from the original with the least to that with the most." if originals > 1 else ""
        yield Chart(
            "by-class",
            Ranges(
                tuple(f"class {label}" for label in shown),
                tuple(counts.share[shown].tolist()),
                tuple(rates.min(axis=0)[shown].tolist()),
                tuple(rates.max(axis=0)[shown].tolist()),
                "share of mutant instances that the class notices",
            ),
            f"Mutant instances that each class notices.{span}",
            f"Share of mutant instances noticed by class: {shares}.",
        )
    yield Table(
        "classes",
        "Kills by class of the test inputs",
        (
            Column("Class"),
            Column("Test inputs", True),
            Column("Right", True, "share of right answers to the inputs of the class, over all originals"),
            Column(
                "Noticed",
                True,
                f"of {total:,} mutant instances, those of which an input of the class goes from right to wrong",
            ),
            Column("Share", True, "noticed, as a share of all instances"),
            Column("Per input", True, "mean share of the instances that one input of the class notices"),
        ),
        tuple(_row(counts, label, originals, total) for label in range(len(counts.inputs))),
    )


def _row(counts: ByClass, label: int, originals: int, total: int) -> TableRow:
    inputs, noticed = int(counts.inputs[label]), int(counts.noticed[:, label].sum())
    right = float(counts.right[label]) / (inputs * originals) if inputs else None
    each = float(counts.kills[label]) / (inputs * total) if inputs else None
    share = noticed / total
    return TableRow(
        (
            TableCell(str(label), float(label)),
            TableCell(f"{inputs:,}", float(inputs)),
            TableCell(percent(right, 1), right),
            TableCell(f"{noticed:,}", float(noticed)),
            TableCell(percent(share), share, share=share),
            TableCell(percent(each, 1), each),
        )
    )


def _why_not(result: MuffAssessment) -> str:
    if not result.kills:
        return (
            "This file does not say which class notices what: a JSON result has no kill bits. The campaign file has "
            "them: mutiny report FILE.mutiny -o report.html"
        )
    if not any(True for _ in killable(result)):
        return "No mutant is killed by the training set, so no class has anything to notice."
    return (
        "The classes of the test inputs are not in this file: it was written by an older version of mutiny. Assess "
        "again with --no-store, or into another --store, to have them."
    )
