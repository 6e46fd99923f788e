"""The section about test inputs: which of them kill mutants, and which kill nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mutiny.reports.formatting import NONE, count, index_list, percent, several
from mutiny.reports.page.blocks import (
    Block,
    Chart,
    Column,
    Command,
    Fold,
    Section,
    Subsection,
    Table,
    TableCell,
    TableRow,
    Text,
)
from mutiny.reports.page.classes import by_class
from mutiny.reports.page.kill_counts import KillCounts, busiest_half, concentration, kill_counts_of, matrix_of
from mutiny.reports.page.pictures import Line, Lines
from mutiny.verbs.assess.muff.result import MuffAssessment

QUESTION = "Which tests kill the mutants?"
TOP = 25
"""Number of inputs in the table of those that kill most."""


def effective_tests_section(result: MuffAssessment, minimize: str = "") -> Section:
    """Kill matrix, inputs that kill most, and inputs that kill nothing.

    Args:
        result: Result of `assess` by MUFF.
        minimize: Command that searches for a smaller test set.
    """
    counts = kill_counts_of(result)
    blocks = _missing(result) if counts is None else _blocks(result, counts, minimize)
    return Section("tests", QUESTION, tuple(blocks))


def _missing(result: MuffAssessment) -> Iterator[Block]:
    if result.kills:
        yield Text("No mutant is killed by the training set, so no test can kill anything.", "missing")
        return
    yield Text(
        "This file does not say which inputs kill which mutants: a JSON result has no kill bits. The campaign file has "
        "them: mutiny report FILE.mutiny -o report.html",
        "missing",
    )


def _blocks(result: MuffAssessment, counts: KillCounts, minimize: str) -> Iterator[Block]:
    total = len(counts.kills)
    labels = result.labels if result.labels is not None and len(result.labels) == total else None
    yield Text(_answer(counts), "answer")
    yield Text(
        f"Counted over {count(len(counts.mutants), 'mutant')} that the training set kills, in "
        f"{count(counts.instances, 'instance')}. An input kills an instance if the original answers it correctly and "
        "the instance does not."
    )
    if counts.sampled:
        yield Text(
            f"{counts.sampled} of {len(counts.mutants)} verdicts were reached without evaluating every input. Where an "
            "input was not evaluated its answer is predicted, so these counts are estimates; assess --exact evaluates "
            "all.",
            "aside",
        )
    if counts.kills.any():
        yield _concentration(counts)
        matrix = matrix_of(counts, labels)
        shared = f" {total:,} inputs share {matrix.values.shape[1]} columns." if total > matrix.values.shape[1] else ""
        yield Chart(
            "matrix",
            matrix,
            "The darker the shade, the more instances of a mutant (row, the most drastic of an operator first) the "
            f"input (column) kills.{shared}",
            f"Kill matrix of {len(counts.mutants)} mutants and {total:,} inputs; "
            f"{percent(float(counts.idle.mean()))} of the inputs kill nothing. The tables below have the numbers.",
            wide=True,
        )
        yield Subsection("Inputs that kill most", (_top(counts, labels),))
    if minimize and counts.kills.any():
        why = "This command searches for a smaller test set that notices as many faults."
        yield Subsection("A smaller test set", (Command(minimize, "Find a smaller test set", why),))
    yield Subsection("Inputs that kill nothing", tuple(_idle(result, counts)))


def _answer(counts: KillCounts) -> str:
    total, working = len(counts.kills), int((~counts.idle).sum())
    if not working:
        return f"None: no test input kills any instance of {count(len(counts.mutants), 'mutant')}."
    half = busiest_half(counts.kills)
    return (
        f"{working:,} of {count(total, 'test input')} kill something; half of all kills come from "
        f"{count(half, 'input')} ({percent(half / total, 1)} of the set)."
    )


def _concentration(counts: KillCounts) -> Chart:
    points = concentration(counts.kills)
    tenth = next(y for x, y in points if x >= 0.1)
    even = Line("if all kill equally", ((0.0, 0.0), (1.0, 1.0)), "dotted", quiet=True)
    return Chart(
        "concentration",
        Lines(
            (Line("test inputs", points), even), "share of the inputs, busiest first", "share of all kills", shares="xy"
        ),
        "Share of all kills by the busiest inputs.",
        f"Share of all kills by share of inputs: the busiest tenth of the inputs does {percent(tenth)} of the kills.",
    )


def _top(counts: KillCounts, labels: npt.NDArray[np.int64] | None) -> Table:
    order = np.argsort(-counts.kills, kind="stable")[:TOP]
    rows = [
        TableRow(
            (
                TableCell(str(index), float(index)),
                TableCell(NONE) if labels is None else TableCell(str(labels[index]), float(labels[index])),
                TableCell(f"{counts.kills[index]:,}", float(counts.kills[index])),
                TableCell(
                    percent(counts.kills[index] / counts.instances, 1),
                    float(counts.kills[index]),
                    share=float(counts.kills[index] / counts.instances),
                ),
                TableCell(f"{counts.breadth[index]:,}", float(counts.breadth[index])),
            )
        )
        for index in order
        if counts.kills[index]
    ]
    columns = (
        Column("Input", hint="its index in the test set"),
        Column("Class", True),
        Column("Kills", True, f"instances, of {counts.instances:,}"),
        Column("Share", True, "of all instances"),
        Column("Mutants", True, f"of {len(counts.mutants):,}, those of which it kills some instance"),
    )
    return Table("busiest", f"The {count(len(rows), 'input')} that kill most", columns, tuple(rows))


def _idle(result: MuffAssessment, counts: KillCounts) -> Iterator[Block]:
    idle, total = np.flatnonzero(counts.idle), len(counts.kills)
    if not len(idle):
        yield Text("Every test input kills at least one instance.")
    else:
        hopeless = int((counts.hopeless & counts.idle).sum())
        why = f"; {hopeless:,} because every original answers wrongly already" if hopeless else ""
        yield Text(
            f"{len(idle):,} of {count(total, 'input')} ({percent(len(idle) / total)}) kill nothing{why}. Against other "
            "faults that may differ."
        )
        yield Fold("Their indices", (Text(index_list(idle.tolist())),))
    classes = by_class(result)
    if classes is None:
        return
    idle_classes = np.flatnonzero((classes.kills == 0) & (classes.inputs > 0)).tolist()
    if idle_classes:
        names = several(idle_classes, 20)
        yield Text(f"{'Class' if len(idle_classes) == 1 else 'Classes'} {names}: no input kills anything.")
    else:
        yield Text("Every class that has inputs kills something.")
