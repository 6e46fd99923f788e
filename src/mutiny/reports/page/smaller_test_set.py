"""A smaller test set that keeps the score, from results that exist already."""

from __future__ import annotations

from collections.abc import Mapping

from mutiny.core.results import Result
from mutiny.reports.formatting import count
from mutiny.reports.page.effective_tests import SmallerTestSet
from mutiny.reports.smaller_test_set_text import STAND_OUT, falls, held_out_told, kills_told
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.strengthen.kill_table import KillTable, is_exact
from mutiny.verbs.strengthen.result import Strengthening, SubsetScores
from mutiny.verbs.strengthen.subset import Subset, smallest_subset

LARGEST = 100_000_000
"""Answers of mutants that a page looks at, at most; with more, `strengthen` is asked."""
SEARCHED = "Found by a search; a smaller one may exist."


def subset_of(results: Mapping[str, Result]) -> SmallerTestSet | None:
    """What `strengthen` found; otherwise what the kill bits of an assessment tell, if they are complete."""
    asked, assessed = results.get("strengthen"), results.get("assess")
    if isinstance(asked, Strengthening) and asked.subset is not None and len(asked.subset):
        return _measured(asked.subset, asked.smaller)
    return _computed(assessed) if isinstance(assessed, Assessment) else None


def _measured(part: Subset, held: SubsetScores | None) -> SmallerTestSet:
    told = [kills_told(len(part.kept), len(part.more), part.fresh)]
    told += [] if held is None else [held_out_told(held)]
    note = " ".join([*told, SEARCHED])
    return SmallerTestSet(
        tuple(part.indices.tolist()), part.of, part.score, part.score_of_all, note, keeps=not falls(held)
    )


def _computed(result: Assessment) -> SmallerTestSet | None:
    on_test = [bits for (_, _, split), bits in result.kills.items() if split == "test"]
    answers = sum(8 * bits.mutants.size for bits in on_test)
    if not on_test or answers > LARGEST or result.subject.task.kind != "classification" or not is_exact(result):
        return None
    small = smallest_subset(KillTable.of(result), records=result.operators)
    if not len(small):
        return None
    note = f"They kill the same {count(len(small.kept), 'mutant')}"
    note += f", and {len(small.more):,} more, for {STAND_OUT}" if small.more else ""
    return SmallerTestSet(
        tuple(small.indices.tolist()),
        small.of,
        small.score,
        small.score_of_all,
        f"{note}. They were chosen for these very mutants; others may need more. {SEARCHED}",
    )
