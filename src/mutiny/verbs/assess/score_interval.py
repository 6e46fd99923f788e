"""Confidence interval of a score, from verdicts repeated on resampled originals or inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from mutiny.core.random import generator_for
from mutiny.core.records import Verdict
from mutiny.core.stats import Interval, percentile_interval
from mutiny.verbs.assess.judge import Judged
from mutiny.verbs.assess.kill_rule import KillRule, Sample
from mutiny.verbs.assess.score import interval_score, set_score

RESAMPLES = 500
FEWEST_ORIGINALS = 5
"""Fewest originals to resample; with fewer, too many draws repeat one original and have no spread."""

Draw = Callable[[Sample], Sample]
Mutants = Mapping[str, Mapping[Any, Judged]]
"""By set of inputs and strength, or by configuration."""


def score_interval(
    operators: Sequence[tuple[Mutants, float | None]], rule: KillRule, higher_is_better: bool, seed: int
) -> Interval | None:
    """A 95% percentile bootstrap interval of the overall score, given what the training set kills.

    What the rule compares is what is resampled: originals (with all their mutants), or inputs if the rule is a test
    over inputs. Every verdict of the test set on a stable mutant is then taken anew. What train kills defines which
    faults count and stays, as do the mutants that were searched and are stable.

    Args:
        operators: for each scored operator its mutants by set and strength, and the upper bound of its strength
            (``None``: it has no strength).
        rule: the resolved kill rule.
        higher_is_better: the metric's direction.
        seed: of the campaign.

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
    scores = []
    for _ in range(RESAMPLES):
        draw = _draw_inputs(first.inputs, rng) if by_input else _draw_originals(len(first.originals), rng)
        scores.append(np.mean([_score(mutants, upper, rule, higher_is_better, draw) for mutants, upper in operators]))
    interval = percentile_interval(np.array(scores), 0.95)
    unit = "inputs" if by_input else "originals"
    return Interval(interval.low, interval.high, 0.95, f"bootstrap over {unit}")


def _draw_originals(count: int, rng: np.random.Generator) -> Draw:
    chosen = rng.integers(count, size=count)
    return lambda sample: sample.of_originals(chosen)


def _draw_inputs(count: int, rng: np.random.Generator) -> Draw:
    weights = np.bincount(rng.integers(count, size=count), minlength=count)
    return lambda sample: sample.of_inputs(weights)


def _score(mutants: Mutants, upper: float | None, rule: KillRule, higher_is_better: bool, draw: Draw) -> float:
    train = {strength for strength, judged in mutants["train"].items() if judged.record.verdict is Verdict.KILLED}
    stable = [s for s, judged in mutants["test"].items() if judged.record.verdict in (Verdict.KILLED, Verdict.SURVIVED)]

    def killed(strength: Any) -> bool:
        return rule.judge(draw(mutants["test"][strength].sample), higher_is_better).killed

    if upper is None:
        return set_score({strength for strength in stable if killed(strength)}, train) or 0.0
    downwards = sorted((strength for strength in stable if strength is not None), reverse=True)
    weakest = [*takewhile(killed, downwards)][-1:]  # the search knows no kill below a survivor, nor does a resample
    established = min(strength for strength in train if strength is not None)
    return interval_score(weakest[0] if weakest else None, established, upper) or 0.0
