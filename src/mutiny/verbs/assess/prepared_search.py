"""A search for faults that is ready to be used: its reference set is chosen, its clean passes are run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mutiny.campaigns.session import Session
from mutiny.subjects.data import Data
from mutiny.subjects.inference.passes import Pace
from mutiny.verbs.assess.clean_passes import run_clean_passes, settled_runner
from mutiny.verbs.assess.cost_unit import unit_of
from mutiny.verbs.assess.distinct_tests import DistinctTests
from mutiny.verbs.assess.expected_labels import expect_labels
from mutiny.verbs.assess.fault_search import TEST, FaultSearch
from mutiny.verbs.assess.judges.base import Judge
from mutiny.verbs.assess.judges.judging import Judging
from mutiny.verbs.assess.reference import Reference, reference_of
from mutiny.verbs.assess.sampling import sampled_splits


def prepared_search(
    session: Session,
    alpha: float,
    pace: Pace | None,
    *,
    exact: bool = False,
    others: Mapping[str, Data] | None = None,
    judges: Sequence[Judge] = (),
) -> FaultSearch:
    """A search for faults of the subject of a session; clean passes are jobs.

    Copies of tests are left out of the test set, and tests out of the reference set.

    Args:
        session: Call of a verb on a subject.
        alpha: Significance level at which the test set notices a fault.
        pace: Batch size and memory layout, if they are known.
        exact: Evaluate every fault on every input.
        others: Further sets of inputs by name, on which faults are run.
        judges: Judges besides the paired test.
    """
    subject = session.given.subject
    assert subject is not None
    count = len(session.models)
    distinct = DistinctTests.of(subject.test)
    tests = distinct.part_of(subject.test)
    reference = reference_of(subject, count, tests) or Reference("none", {TEST: tests})
    splits = {**reference.sets, **reference.trained, TEST: tests, **(others or {})}
    runner = settled_runner(session, splits, pace)
    if reference.kind == "unlabeled":
        session.progress.stage("expected labels", 1)
        expect_labels(runner, reference)
        session.progress.step("expected labels")
    passes = [(number, split) for number in range(count) for split in {*reference.splits(number), TEST}]
    session.progress.stage("clean passes", len(passes))
    run_clean_passes(session, runner, sorted(passes))
    sampled = frozenset[str]() if exact else sampled_splits(runner)
    judging = Judging(tuple(judges), TEST)
    return FaultSearch(runner, reference, unit_of(runner.task), alpha, sampled, distinct, judging)
