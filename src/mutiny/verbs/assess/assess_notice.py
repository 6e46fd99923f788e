"""`assess` by the notice rate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mutiny.campaigns.run import Runtime, run
from mutiny.core.checks import check_whole, is_number
from mutiny.core.errors import BadInput
from mutiny.faults.parsing import Fault, operators_by_label
from mutiny.subjects import Subject
from mutiny.subjects.given import as_given
from mutiny.verbs.assess.judges.base import Judge
from mutiny.verbs.assess.judges.gate import Gate
from mutiny.verbs.assess.judges.parsing import as_judges
from mutiny.verbs.assess.reference import with_folds
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.verb import FALSE_ALARMS, MOST_CHOICES, Assess, default_seeds


def assess_notice(
    subject: Subject,
    operators: str | Iterable[str | Fault] | None,
    originals: int,
    exact: bool,
    runtime: Runtime,
    *,
    seeds: int | None = None,
    judge: object = None,
    false_alarms: float | None = None,
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
        false_alarms: Largest rate of false alarms of the advised bounds of gates; 1% by default.
    """
    judges = as_judges(judge)
    check_whole("seeds", 1 if seeds is None else seeds, most=MOST_CHOICES)
    if false_alarms is not None:
        check_false_alarms(false_alarms, judges)
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
        false_alarms=FALSE_ALARMS if false_alarms is None else false_alarms,
    )
    return run(verb, as_given(subject, None, None, None, None, "data", pool=False), runtime)


def check_false_alarms(rate: float, judges: Sequence[Judge]) -> None:
    """Raises `BadInput` unless the rate is a share, and there is a gate that it is for."""
    if not (is_number(rate) and 0 < rate < 1):
        fix = f"Write {rate / 100:g} for {rate:g}%." if is_number(rate) and 1 <= rate < 100 else ""
        raise BadInput("false_alarms", repr(rate), "a share between 0 and 1", fix)
    if not any(isinstance(judge, Gate) for judge in judges):
        raise BadInput("false_alarms", repr(rate), "a gate among the judges", "Add one, or leave this out.")
