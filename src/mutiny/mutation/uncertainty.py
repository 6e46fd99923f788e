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

Draw = Callable[[Sample, str], Sample]
Mutants = Mapping[str, Mapping[float | None, Judged]]


def score_interval(
    operators: Sequence[tuple[Mutants, float | None]], rule: KillRule, higher_is_better: bool, seed: int
) -> Interval | None:
    """A 95% percentile bootstrap interval of the overall score.

    What the rule compares is what is resampled: originals (with all their mutants), or inputs if the rule is a test
    over inputs. Every verdict on a stable mutant is then taken anew; which mutants were searched
    and are stable stays. Resamples in which train kills nothing have no score and do not count.

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
    first = next(iter(operators[0][0]["train"].values())).sample
    if not by_input and len(first.originals) == 1:
        return None
    scores = []
    for _ in range(RESAMPLES):
        draw = _draw_inputs(operators, rng) if by_input else _draw_originals(len(first.originals), rng)
        values = [_score(mutants, upper, rule, higher_is_better, draw) for mutants, upper in operators]
        known = [value for value in values if value is not None]
        if known:
            scores.append(float(np.mean(known)))
    if not scores:
        return None
    interval = percentile_interval(np.array(scores), 0.95)
    unit = "inputs" if by_input else "originals"
    return Interval(interval.low, interval.high, 0.95, f"bootstrap over {unit}")


def _draw_originals(count: int, rng: np.random.Generator) -> Draw:
    chosen = rng.integers(count, size=count)
    return lambda sample, _split: sample.of_originals(chosen)


def _draw_inputs(operators: Sequence[tuple[Mutants, float | None]], rng: np.random.Generator) -> Draw:
    sizes = {split: next(iter(m.values())).sample.inputs for split, m in operators[0][0].items() if m}
    weights = {s: np.bincount(rng.integers(n, size=n), minlength=n) for s, n in sorted(sizes.items())}
    return lambda sample, split: sample.of_inputs(weights[split])


def _score(mutants: Mutants, upper: float | None, rule: KillRule, higher_is_better: bool, draw: Draw) -> float | None:
    killed = {
        split: {
            strength: rule.judge(draw(judged.sample, split), higher_is_better).killed
            for strength, judged in mutants[split].items()
            if judged.record.verdict in (Verdict.KILLED, Verdict.SURVIVED)
        }
        for split in ("train", "test")
    }
    if upper is None:
        return set_score(*({s for s, dead in killed[split].items() if dead} for split in ("test", "train")))
    weakest = {split: _weakest(found) for split, found in killed.items()}
    return interval_score(weakest["test"], weakest["train"], upper)


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
