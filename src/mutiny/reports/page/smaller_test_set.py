"""A smaller test set that keeps the score: which tests it has, and how the page shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mutiny.core.results import Result
from mutiny.reports.formatting import count, index_list, percent
from mutiny.reports.page.blocks import Block, Fold, Text
from mutiny.reports.smaller_test_set_text import STAND_OUT, falls, held_out_sentence, kills_sentence
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.strengthen.kill_table import KillTable, is_exact
from mutiny.verbs.strengthen.result import Strengthening, SubsetScores
from mutiny.verbs.strengthen.subset import Subset, smallest_subset

LARGEST = 100_000_000
"""Maximum number of kill bits to search for a smaller set; with more, the page shows the command of `strengthen`."""
SEARCHED = "Found by a search; a smaller one may exist."


@dataclass(frozen=True)
class SmallerTestSet:
    """A smallest set of tests that keeps the score.

    Attributes:
        indices: Indices of its test inputs.
        of: Number of all test inputs.
        score: Score with these tests alone; ``None`` if there is none.
        full: Score with all tests.
        note: Caveats, such as whether it is proved to be smallest.
        keeps: Whether the score does not fall on mutants that it was not chosen for, as far as is known.
    """

    indices: tuple[int, ...]
    of: int
    score: float | None
    full: float | None
    note: str = ""
    keeps: bool = True


def smaller_test_set(assessment: Assessment | None, strengthening: Result | None = None) -> SmallerTestSet | None:
    """The set that `strengthen` found; otherwise one computed from the kill bits of an assessment, if all are known."""
    if isinstance(strengthening, Strengthening) and strengthening.subset is not None and len(strengthening.subset):
        return _measured(strengthening.subset, strengthening.smaller)
    return None if assessment is None else _computed(assessment)


def smaller_test_set_blocks(small: SmallerTestSet) -> Iterator[Block]:
    """Size and score of the set, and the indices of its tests."""
    size = f"{count(len(small.indices), 'input')} of {small.of:,} ({percent(len(small.indices) / small.of, 1)})"
    scores = ""
    if small.score is not None and small.full is not None:
        scores = f"{percent(small.score, 1)} with these alone, {percent(small.full, 1)} with all"
    effect = "score more" if (small.score or 0.0) > (small.full or 0.0) else "keep the score"
    claim = effect + (f": {scores}" if scores else "")
    if not small.keeps:
        claim = f"kill what all of them kill{f' ({scores})' * bool(scores)}, but score less on other mutants"
    yield Text(f"{size} {claim}. {small.note}".strip())
    yield Fold("Their indices", (Text(index_list(sorted(small.indices))),))


def _measured(subset: Subset, held_out: SubsetScores | None) -> SmallerTestSet:
    sentences = [kills_sentence(len(subset.kept), len(subset.more), subset.fresh)]
    sentences += [] if held_out is None else [held_out_sentence(held_out)]
    note = " ".join([*sentences, SEARCHED])
    indices = tuple(subset.indices.tolist())
    return SmallerTestSet(indices, subset.of, subset.score, subset.score_of_all, note, keeps=not falls(held_out))


def _computed(assessment: Assessment) -> SmallerTestSet | None:
    on_test = [bits for (_, _, split), bits in assessment.kills.items() if split == "test"]
    answers = sum(8 * bits.mutants.size for bits in on_test)
    if not on_test or answers > LARGEST or assessment.subject.task.kind != "classification":
        return None
    if not is_exact(assessment):
        return None
    subset = smallest_subset(KillTable.of(assessment), records=assessment.operators)
    if not len(subset):
        return None
    kills = f"They kill the same {count(len(subset.kept), 'mutant')}"
    kills += f", and {len(subset.more):,} more, for {STAND_OUT}" if subset.more else ""
    note = f"{kills}. They were chosen for these very mutants; others may need more. {SEARCHED}"
    return SmallerTestSet(tuple(subset.indices.tolist()), subset.of, subset.score, subset.score_of_all, note)
