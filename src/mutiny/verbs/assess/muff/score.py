"""Mutation scores, their confidence interval, and sensitivity. MUFF, eqs. 1, 3 and 4."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.core.random import generator_for
from mutiny.core.records import MutantRecord, Verdict
from mutiny.core.stats import Interval, percentile_interval
from mutiny.models.layers import Indices
from mutiny.verbs.assess.muff.kill_rule import Judged, KillRule, Sample

RESAMPLES = 500
FEWEST_ORIGINALS = 5
"""Fewest originals to resample; with fewer, too many draws repeat one original and have no spread."""

Draw = Callable[[Sample], Sample]
Mutants = Mapping[str, Mapping[Any, Judged]]
"""Verdicts by set of inputs, then by strength or configuration."""


def killed_classes(
    right: npt.NDArray[np.bool_], mutant_right: npt.NDArray[np.bool_], labels: npt.NDArray[np.int64], classes: int
) -> int:
    """Number of true classes with at least one input that went from right to wrong. MUFF, eq. 1.

    Args:
        right: Correctness of the original, ``(n,)``.
        mutant_right: Correctness of one mutant instance, ``(n,)``.
        labels: True classes, ``(n,)``.
        classes: Number of classes of the task. A class without inputs is never killed.
    """
    counts = np.bincount(labels[right & ~mutant_right], minlength=classes)
    return int((counts > 0).sum())


def set_score(
    killed_by_test: Collection[Hashable],
    killed_by_train: Collection[Hashable],
    unstable_on_test: Collection[Hashable] = (),
) -> float | None:
    """Share of the configurations killed by train that the test set kills too. MUFF, eq. 3.

    Configurations on which the test set has no stable verdict do not count, neither as killed nor as missed. ``None``
    if none is left, because then no configuration is known to be killable.

    >>> set_score({0.5, 0.25}, {0.5, 0.25, 0.125, 0.0625})
    0.5
    >>> set_score({0.5}, {0.5, 0.25}, unstable_on_test={0.25})
    1.0
    """
    train = set(killed_by_train) - set(unstable_on_test)
    return len(train & set(killed_by_test)) / len(train) if train else None


def interval_score(
    weakest_test: float | None, weakest_train: float | None, upper: float, unstable_on_test: bool = False
) -> float | None:
    """Eq. 3 for a strength, if each set kills everything from its weakest killed strength up to the upper bound.

    Args:
        weakest_test: Weakest strength that the test set kills.
        weakest_train: Weakest strength that the training set kills.
        upper: Upper bound of the strength.
        unstable_on_test: Whether the test set has no stable verdict on a strength that counts as killed by train. Then
            a test set that kills nothing has no score.

    >>> round(interval_score(0.5, 0.3, upper=1.0), 2)  # the paper's example
    0.71
    >>> interval_score(None, 0.3, upper=1.0), interval_score(None, 0.3, upper=1.0, unstable_on_test=True)
    (0.0, None)
    """
    if weakest_train is None or (weakest_test is None and unstable_on_test):
        return None
    if weakest_test is None:
        return 0.0
    width = upper - weakest_train
    return 1.0 if width <= 0 else max(0.0, upper - max(weakest_test, weakest_train)) / width


def why_unstable(on_test: Collection[MutantRecord]) -> str:
    """Reason why an operator has no score although the training set kills mutants.

    Args:
        on_test: Verdicts of the test set on mutants that count as killed by the training set.
    """
    unstable = [mutant for mutant in on_test if mutant.verdict is Verdict.UNSTABLE]
    if len(unstable) == len(on_test):
        start = "the test set's verdicts are unstable"
    else:
        start = f"the test set kills no mutant, and {len(unstable)} of its {len(on_test)} verdicts are unstable"
    return f"{start} ({unstable[0].reason}): no verdict, so no score"


def sensitivity(strong: float | None, weak: float | None, weak_killed_any: bool) -> tuple[float | None, str]:
    """Relative loss of score from the strong test set to the weak one. MUFF, eq. 4 and section V-B.

    It is 1.0 if train and the strong set kill mutants and the weak set kills none.

    Args:
        strong: Score of the test set.
        weak: Score of the weak set; ``None`` if there is no weak set, or if its verdicts are unstable.
        weak_killed_any: Whether the weak set kills any mutant.

    Returns:
        The value, and the reason if there is none.

    >>> sensitivity(0.8, 0.4, weak_killed_any=True)[0]
    0.5
    >>> sensitivity(None, None, weak_killed_any=False)
    (None, 'no stable mutant is killed by the training set')
    """
    if strong is None:
        return None, "no stable mutant is killed by the training set"
    if strong == 0:
        return None, "the test set kills no mutant, so there is nothing to lose"
    if weak is None:
        return None, "there is no weak set" if weak_killed_any else "the weak set's verdicts are unstable"
    if not weak_killed_any:
        return 1.0, ""
    return (strong - weak) / strong, ""


def missed_bar(value: float | None, bar: float) -> str:
    """Message about a score below a bar; empty if the score reaches it.

    >>> missed_bar(0.79999, 0.8), missed_bar(None, 0.5), missed_bar(0.8, 0.8)
    ('the score is below the bar: 79.999% < 80.000%', 'there is no score, so it is not at least 50%', '')
    """
    if value is None:
        return f"there is no score, so it is not at least {100 * bar:.4g}%"
    return "" if value >= bar else "the score is below the bar: {} < {}".format(*apart(value, bar))


def apart(value: float, bar: float, digits: int = 0) -> tuple[str, str]:
    """Two shares as text, with as many digits as it takes to distinguish them.

    >>> apart(0.7995, 0.8, 1), apart(0.414, 0.8), apart(0.8, 0.8)
    (('79.95%', '80.00%'), ('41%', '80%'), ('80%', '80%'))
    """
    pairs = [(f"{value:.{more}%}", f"{bar:.{more}%}") for more in range(digits, 16)]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])


def score_interval(
    operators: Sequence[tuple[Mutants, float | None]], rule: KillRule, higher_is_better: bool, seed: int
) -> Interval | None:
    """A 95% percentile bootstrap interval of the overall score, given the mutants that the training set kills.

    Resamples the unit that the rule compares: originals with all their mutants, or inputs if the rule is a test over
    inputs. Each resample repeats every verdict of the test set on a stable mutant. The mutants that train kills define
    which faults count, so they stay the same; so do the mutants that were searched and are stable. A resample that
    kills none of them has the score 0.

    Args:
        operators: Mutants of each scored operator by set and strength, and the upper bound of its strength, ``None`` if
            it has no strength.
        rule: Resolved kill rule.
        higher_is_better: Whether a higher metric is better.
        seed: Seed of the campaign.

    Returns:
        ``None`` if there is nothing to resample, or fewer than five originals.
    """
    if not operators:
        return None
    rng = generator_for(seed, "score interval")
    by_input = rule.test == "mcnemar"
    first = next(iter(operators[0][0]["test"].values())).sample
    if not by_input and len(first.originals) < FEWEST_ORIGINALS:
        return None
    count = first.inputs if by_input else len(first.originals)
    draws = (rng.integers(count, size=count) for _ in range(RESAMPLES))

    def score(draw: Draw) -> float:
        return float(np.mean([_score(mutants, upper, rule, higher_is_better, draw) for mutants, upper in operators]))

    if by_input:
        scores = [score(_draw_inputs(chosen)) for chosen in draws]
    else:  # few originals have few samples, if their order does not matter
        samples = [tuple(sorted(chosen.tolist())) for chosen in draws]
        known = {sample: score(_draw_originals(np.array(sample))) for sample in dict.fromkeys(samples)}
        scores = [known[sample] for sample in samples]
    interval = percentile_interval(np.array(scores), 0.95)
    unit = "inputs" if by_input else "originals"
    return Interval(interval.low, interval.high, 0.95, f"bootstrap over {unit}")


def _draw_originals(chosen: Indices) -> Draw:
    return lambda sample: sample.of_originals(chosen)


def _draw_inputs(chosen: Indices) -> Draw:
    weights = np.bincount(chosen, minlength=len(chosen))
    return lambda sample: sample.of_inputs(weights)


def _score(mutants: Mutants, upper: float | None, rule: KillRule, higher_is_better: bool, draw: Draw) -> float:
    train = {strength for strength, judged in mutants["train"].items() if judged.record.verdict is Verdict.KILLED}
    stable = [s for s, judged in mutants["test"].items() if judged.record.verdict in (Verdict.KILLED, Verdict.SURVIVED)]

    def killed(strength: Any) -> bool:
        return rule.judge(draw(mutants["test"][strength].sample), higher_is_better).killed

    if upper is None:
        unstable = mutants["test"].keys() - set(stable)
        return set_score({strength for strength in stable if killed(strength)}, train, unstable) or 0.0
    downwards = sorted((strength for strength in stable if strength is not None), reverse=True)
    weakest = [*takewhile(killed, downwards)][-1:]  # as in the search, kills below a survivor do not count
    established = min(strength for strength in train if strength is not None)
    return interval_score(weakest[0] if weakest else None, established, upper) or 0.0
