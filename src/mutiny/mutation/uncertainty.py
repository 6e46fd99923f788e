"""How far a score can be trusted: the whole judgement repeated on resampled originals or inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mutiny.mutation.judge import Judged
from mutiny.mutation.kill import KillRule, Sample
from mutiny.mutation.score import interval_score, set_score
from mutiny.random import generator_for
from mutiny.records import Verdict
from mutiny.stats import Interval, percentile_interval

RESAMPLES = 200

Draw = Callable[[Sample], Sample]
Mutants = Mapping[str, Mapping[float | None, Judged]]


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
        ``None`` if there is nothing to resample.
    """
    if not operators:
        return None
    rng = generator_for(seed, "score interval")
    by_input = rule.test == "mcnemar"
    first = next(iter(operators[0][0]["test"].values())).sample
    if not by_input and len(first.originals) == 1:
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
    test = {
        strength: rule.judge(draw(judged.sample), higher_is_better).killed
        for strength, judged in mutants["test"].items()
        if judged.record.verdict in (Verdict.KILLED, Verdict.SURVIVED)
    }
    if upper is None:
        return set_score({strength for strength, dead in test.items() if dead}, train) or 0.0
    established = min(strength for strength in train if strength is not None)
    return interval_score(_weakest(test), established, upper) or 0.0


def _weakest(killed: Mapping[float | None, bool]) -> float | None:
    """The smallest strength from which on everything is killed: a lucky kill below a survivor does not count.

    >>> _weakest({0.9: True, 0.5: True, 0.3: False, 0.1: True})
    0.5
    """
    lowest = None
    for strength in sorted((s for s in killed if s is not None), reverse=True):
        if not killed[strength]:
            break
        lowest = strength
    return lowest
