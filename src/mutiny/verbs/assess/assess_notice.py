"""`assess` by the notice rate."""

from __future__ import annotations

from collections.abc import Iterable

from mutiny.campaigns.run import Runtime, run
from mutiny.core.checks import check_whole
from mutiny.faults.parsing import Fault, operators_by_label
from mutiny.subjects import Subject
from mutiny.subjects.given import as_given
from mutiny.verbs.assess.judges.parsing import as_judges
from mutiny.verbs.assess.reference import with_folds
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.verb import Assess, default_seeds


def assess_notice(
    subject: Subject,
    operators: str | Iterable[str | Fault] | None,
    originals: int,
    exact: bool,
    runtime: Runtime,
    *,
    seeds: int | None = None,
    judge: object = None,
) -> Assessment:
    """The share of faults of known cost that the test set notices.

    Args:
        subject: Subject to test.
        operators: Operators, as in `assess`.
        originals: Number of originals.
        exact: Evaluate every fault on every input.
        runtime: Arguments that all verbs share.
        seeds: Random choices for each operator and original; see `default_seeds`.
        judge: Judges, as in `as_judges`.
    """
    judges = as_judges(judge)
    check_whole("seeds", 1 if seeds is None else seeds)
    wanted = operators_by_label(operators)
    subject = with_folds(subject)
    subject.check()
    verb = Assess(
        wanted,
        judges,
        default_seeds(originals) if seeds is None else seeds,
        originals,
        exact=exact,
        validation=subject.validation,
        pool=subject.pool,
    )
    return run(verb, as_given(subject, None, None, None, None, "data", pool=False), runtime)
