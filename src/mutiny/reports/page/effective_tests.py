"""Which tests kill the mutants?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.reports.formatting import NONE, count, percent, runs, several
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
from mutiny.verbs.assess.result import Assessment

QUESTION = "Which tests kill the mutants?"
TOP = 25
"""Inputs in the table of those that do most."""
LISTED = 1000
"""Indices that are written out, at most."""


@dataclass(frozen=True)
class SmallerTestSet:
    """A smallest set of tests that keeps the score.

    Attributes:
        indices: of the test inputs.
        of: how many there are in all.
        score: with these alone; ``None`` if there is none.
        full: with all of them.
        note: what a careful reader should know, such as whether it is proved to be smallest.
        keeps: whether the score does not fall on mutants for which it was not chosen, as far as is known.
    """

    indices: tuple[int, ...]
    of: int
    score: float | None
    full: float | None
    note: str = ""
    keeps: bool = True


def effective_tests_section(result: Assessment, subset: SmallerTestSet | None = None, minimize: str = "") -> Section:
    """Kill matrix, what does most, a smallest subset if one is known, and what does nothing.

    Args:
        result: what was found.
        subset: a smallest set of tests.
        minimize: the command that looks for one.
    """
    work = kill_counts_of(result)
    blocks = _nothing(result) if work is None else _blocks(result, work, subset, minimize)
    return Section("tests", QUESTION, tuple(blocks))


def _nothing(result: Assessment) -> Iterator[Block]:
    if result.kills:
        yield Text("No mutant is killed by the training set, so no test can kill anything.", "missing")
        return
    yield Text(
        "This file does not say which inputs kill which mutants: a JSON result has no kill bits. The campaign file has "
        "them: mutiny report FILE.mutiny -o report.html",
        "missing",
    )


def _blocks(result: Assessment, work: KillCounts, subset: SmallerTestSet | None, minimize: str) -> Iterator[Block]:
    total = len(work.kills)
    labels = result.labels if result.labels is not None and len(result.labels) == total else None
    yield Text(_answer(work), "answer")
    yield Text(
        f"Counted over {count(len(work.mutants), 'mutant')} that the training set kills, in "
        f"{count(work.instances, 'instance')}. An input kills an instance if the original answers it correctly and the "
        "instance does not."
    )
    if work.sampled:
        yield Text(
            f"{work.sampled} of {len(work.mutants)} verdicts were reached without evaluating every input. Where an "
            "input was not evaluated its answer is predicted, so these counts are estimates; assess --exact evaluates "
            "all.",
            "aside",
        )
    if work.kills.any():
        yield _concentration(work)
        matrix = matrix_of(work, labels)
        shared = f" {total:,} inputs share {matrix.values.shape[1]} columns." if total > matrix.values.shape[1] else ""
        yield Chart(
            "matrix",
            matrix,
            f"The darker the shade, the more instances of a mutant (row) the input (column) kills.{shared}",
            f"Kill matrix of {len(work.mutants)} mutants and {total:,} inputs; {percent(float(work.idle.mean()))} of "
            "the inputs kill nothing. The tables below have the numbers.",
            wide=True,
        )
        yield Subsection("Inputs that kill most", (_top(work, labels),))
    if subset is not None:
        yield Subsection("A smallest set of tests", tuple(_subset(subset)))
    elif minimize and work.kills.any():
        told = "This command searches for a smaller test set with the same score."
        yield Subsection("A smallest set of tests", (Command(minimize, "Find a smallest set of tests", told),))
    yield Subsection("Inputs that kill nothing", tuple(_idle(result, work)))


def _answer(work: KillCounts) -> str:
    total, working = len(work.kills), int((~work.idle).sum())
    if not working:
        return f"None: no test input kills any instance of {count(len(work.mutants), 'mutant')}."
    half = busiest_half(work.kills)
    return (
        f"{working:,} of {count(total, 'test input')} kill something; half of all kills come from "
        f"{count(half, 'input')} ({percent(half / total, 1)} of the set)."
    )


def _concentration(work: KillCounts) -> Chart:
    points = concentration(work.kills)
    tenth = next(y for x, y in points if x >= 0.1)
    even = Line("if all inputs killed equally", ((0.0, 0.0), (1.0, 1.0)), "dotted", quiet=True)
    return Chart(
        "concentration",
        Lines(
            (Line("test inputs", points), even), "share of the inputs, busiest first", "share of all kills", shares="xy"
        ),
        "Share of all kills by the busiest inputs.",
        f"Share of all kills by share of inputs: the busiest tenth of the inputs does {percent(tenth)} of the kills.",
    )


def _top(work: KillCounts, labels: npt.NDArray[np.int64] | None) -> Table:
    order = np.argsort(-work.kills, kind="stable")[:TOP]
    rows = [
        TableRow(
            (
                TableCell(str(at), float(at)),
                TableCell(NONE if labels is None else str(labels[at]), None if labels is None else float(labels[at])),
                TableCell(f"{work.kills[at]:,}", float(work.kills[at])),
                TableCell(
                    percent(work.kills[at] / work.instances, 1),
                    float(work.kills[at]),
                    share=float(work.kills[at] / work.instances),
                ),
                TableCell(f"{work.breadth[at]:,}", float(work.breadth[at])),
            )
        )
        for at in order
        if work.kills[at]
    ]
    columns = (
        Column("Input", hint="its index in the test set"),
        Column("Class", True),
        Column("Kills", True, f"instances, of {work.instances:,}"),
        Column("Share", True, "of all instances"),
        Column("Mutants", True, f"of {len(work.mutants):,}, those of which it kills some instance"),
    )
    return Table("busiest", f"The {count(len(rows), 'input')} that kill most", columns, tuple(rows))


def _subset(subset: SmallerTestSet) -> Iterator[Block]:
    size = f"{count(len(subset.indices), 'input')} of {subset.of:,} ({percent(len(subset.indices) / subset.of, 1)})"
    scores = ""
    if subset.score is not None and subset.full is not None:
        scores = f"{percent(subset.score, 1)} with these alone, {percent(subset.full, 1)} with all"
    kept = "score more" if (subset.score or 0.0) > (subset.full or 0.0) else "keep the score"
    told = kept + (f": {scores}" if scores else "")
    if not subset.keeps:
        told = f"kill what all of them kill{f' ({scores})' * bool(scores)}, but score less on other mutants"
    yield Text(f"{size} {told}. {subset.note}".strip())
    yield Fold("Their indices", (Text(_listed(sorted(subset.indices))),))


def _idle(result: Assessment, work: KillCounts) -> Iterator[Block]:
    idle, total = np.flatnonzero(work.idle), len(work.kills)
    if not len(idle):
        yield Text("Every test input kills at least one instance.")
    else:
        hopeless = int((work.hopeless & work.idle).sum())
        why = f"; {hopeless:,} because every original answers wrongly already" if hopeless else ""
        yield Text(
            f"{len(idle):,} of {count(total, 'input')} ({percent(len(idle) / total)}) kill nothing{why}. Against other "
            "faults that may differ."
        )
        yield Fold("Their indices", (Text(_listed(idle.tolist())),))
    found = by_class(result)
    if found is None:
        return
    quiet = np.flatnonzero((found.kills == 0) & (found.inputs > 0)).tolist()
    if quiet:
        names = several(quiet, 20)
        yield Text(f"{'Class' if len(quiet) == 1 else 'Classes'} {names}: no input kills anything.")
    else:
        yield Text("Every class that has inputs kills something.")


def _listed(indices: list[int]) -> str:
    more = f" and {len(indices) - LISTED:,} more" if len(indices) > LISTED else ""
    return runs(indices[:LISTED]) + more
