"""A smallest set of tests that keeps the score, from what was found already."""

from __future__ import annotations

from collections.abc import Mapping

from mutiny.mutation.assessment import Assessment
from mutiny.reports.page.documents import Document
from mutiny.reports.page.facts import subject_of
from mutiny.reports.page.strengthened import Part, Strengthened
from mutiny.reports.page.tests import Subset
from mutiny.reports.page.words import count, percent
from mutiny.strengthening.kill_table import KillTable, is_exact
from mutiny.strengthening.subset import smallest_subset

LARGEST = 100_000_000
"""Answers of mutants that a page looks at, at most; with more, `strengthen` is asked."""
SEARCHED = "Found by a search; a smaller one may exist."


def subset_of(results: Mapping[str, Assessment | Document]) -> Subset | None:
    """What `strengthen` found; otherwise what the kill bits of an assessment tell, if they are complete."""
    asked, assessed = results.get("strengthen"), results.get("assess")
    if isinstance(asked, Strengthened) and asked.subset is not None and asked.subset.indices:
        return _measured(asked.subset)
    return _computed(assessed) if isinstance(assessed, Assessment) else None


def _measured(part: Part) -> Subset:
    note = f"They kill {count(len(part.kills), 'mutant')} of the assessment and {part.kills_fresh:,} of other seeds."
    if part.held_out is not None:
        held = part.held_out
        note += (
            f" On mutants that nothing was chosen for they score {percent(held.subset.mean, 1)}, all tests "
            f"{percent(held.all.mean, 1)}, as many random tests {percent(held.random.mean, 1)}."
        )
    return Subset(part.indices, part.of, part.score, part.score_of_all, f"{note} {SEARCHED}")


def _computed(result: Assessment) -> Subset | None:
    on_test = [bits for (_, _, split), bits in result.kills.items() if split == "test"]
    answers = sum(8 * bits.mutants.size for bits in on_test)
    if not on_test or answers > LARGEST or subject_of(result).task.kind != "classification" or not is_exact(result):
        return None
    small = smallest_subset(KillTable.of(result), records=result.operators)
    if not len(small):
        return None
    note = f"They kill the same {count(len(small.kept), 'mutant')}"
    note += (
        f", and {len(small.more):,} more, for few inputs that disagree stand out more than many" if small.more else ""
    )
    return Subset(
        tuple(small.indices.tolist()), small.of, small.score, small.score_of_all,
        f"{note}. They were chosen for these very mutants; others may need more. {SEARCHED}",
    )  # fmt: skip
