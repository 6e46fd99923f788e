"""From the answers of both networks to the verdict and everything that is said about the difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mutiny.core.errors import BadInput
from mutiny.core.stats import Interval
from mutiny.core.stats.comparison import ComparisonVerdict, PairedComparison, compare_answers, compare_scores
from mutiny.core.stats.comparison_power import InputsNeeded, inputs_to_compare, inputs_to_compare_scores
from mutiny.verbs.compare.changes import ChangedInput, ConfusionChange, confusion_changes, most_changed
from mutiny.verbs.compare.groups import GroupChange, group_changes
from mutiny.verbs.compare.margin import ComparisonMargin
from mutiny.verbs.compare.pairs import Pairs
from mutiny.verbs.compare.result import Difference, Flips
from mutiny.verbs.compare.sentences import POINTS, assumption_text, margin_text

USUAL_POINTS, USUAL_SHARE = ComparisonMargin(0.5, "points"), ComparisonMargin(1.0, "percent")
"""Default margins of answers and of scores."""


@dataclass(frozen=True)
class Judgment:
    """The part of a `Comparison` that follows from the answers alone; its fields are those of the result."""

    verdict: ComparisonVerdict
    difference: Difference
    p_value: float
    p_better: float
    flips: Flips
    inputs_needed: int | None
    assumption: str
    margin: float
    alpha: float
    unit: str
    higher_is_better: bool
    means: Mapping[str, float]
    groups: tuple[GroupChange, ...]
    changed: tuple[ChangedInput, ...]
    confusions: tuple[ConfusionChange, ...]


def judged(
    pairs: Pairs, margin: ComparisonMargin | None, alpha: float, metric: str, higher_is_better: bool, identical: bool
) -> Judgment:
    """Compares the answers of both networks.

    Args:
        pairs: Answers of A and B.
        margin: Tolerated loss; ``None`` for the default.
        alpha: Level of the one-sided tests.
        metric: Name of the scores.
        higher_is_better: Whether higher scores are better.
        identical: Whether both are the same network, so that nothing has to be estimated.
    """
    n, sign = len(pairs), 1 if higher_is_better else -1
    gains, needed = sign * pairs.differences, InputsNeeded(None)
    broken, repaired = int((gains < 0).sum()), int((gains > 0).sum())
    if pairs.a.scores is None:
        unit, tolerated = POINTS, (margin or USUAL_POINTS).of_accuracy()
        found = compare_answers(broken, repaired, n, tolerated / 100, alpha)
        if found.verdict is ComparisonVerdict.CANNOT_TELL:
            needed = inputs_to_compare(broken, repaired, n, tolerated / 100, alpha)
        difference = _scaled(found, 100)
    else:
        if n < 2:
            raise BadInput("a", "one row", "at least two rows with scores", "The spread of one score is unknown.")
        unit, tolerated = metric, (margin or USUAL_SHARE).of_scores(pairs.a.mean)
        found = compare_scores(gains, tolerated, alpha)
        if found.verdict is ComparisonVerdict.CANNOT_TELL:
            spread = float(np.std(gains, ddof=1))
            needed = inputs_to_compare_scores(spread, -found.value, n, tolerated, alpha)
        difference = _scaled(found, sign)
    verdict = found.verdict
    if identical:
        verdict, needed = ComparisonVerdict.EQUIVALENT, InputsNeeded(None)
        difference = Difference(0.0, Interval(0.0, 0.0, 1 - 2 * alpha, "the same network"))
    open_question = verdict is ComparisonVerdict.CANNOT_TELL
    return Judgment(
        verdict=verdict,
        difference=difference,
        p_value=found.p_worse,
        p_better=found.p_better,
        flips=Flips(broken, repaired, _both_wrong(pairs)),
        inputs_needed=needed.inputs,
        assumption=assumption_text(needed.observed, margin_text(tolerated, unit)) if open_question else "",
        margin=tolerated,
        alpha=alpha,
        unit=unit,
        higher_is_better=higher_is_better,
        means={"a": pairs.a.mean, "b": pairs.b.mean},
        groups=group_changes(pairs, sign),
        changed=most_changed(pairs, sign),
        confusions=confusion_changes(pairs),
    )


def _scaled(found: PairedComparison, factor: float) -> Difference:
    """The difference in another unit, or with the other sign."""
    ends = sorted((factor * found.interval.low, factor * found.interval.high))
    return Difference(
        factor * found.value + 0.0, Interval(ends[0], ends[1], found.interval.level, found.interval.method)
    )


def _both_wrong(pairs: Pairs) -> int | None:
    """Inputs that both get wrong in different ways."""
    a, b = pairs.a, pairs.b
    if a.said is None or b.said is None or a.correct is None or b.correct is None:
        return None
    different = np.array([mine != theirs for mine, theirs in zip(a.said, b.said, strict=True)], bool)
    return int((different & ~a.correct & ~b.correct).sum())
