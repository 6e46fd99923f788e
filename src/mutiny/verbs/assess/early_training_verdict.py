"""Early verdicts on faulty programs, which the remaining trainings cannot change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.assess.kill_rule import KillRule, Sample


def surely_killed(sample: Sample, total: int, rule: KillRule, task: Task) -> bool:
    """Whether a mutant will be killed whatever the accuracy of the missing instances turns out to be.

    For DeepCrime's rule only (glm with Cohen's d, as many instances as originals). With the group sizes fixed, that
    rule says "killed" if Cohen's d is at least some positive bound. The accuracies that reach the bound form a convex
    set, because d is an affine function of them divided by a convex one; so if every combination of 0 and 1 for the
    missing accuracies lies in the set, everything between does. Only how many of them are 1 matters.

    A survivor is never certain: one more instance might always fail. Nor is a loss, which has no largest value.

    Args:
        sample: all originals, and the instances so far.
        total: how many instances there would be.
        rule: the resolved kill rule.
        task: whose metric it is.

    >>> rule, none = KillRule().resolve(originals=20), np.zeros(0, np.int64)
    >>> good, bad = np.linspace(0.97, 0.99, 20), np.full((1, 5), 0.1)
    >>> far = Sample(good, bad, none, none, np.zeros(1, np.int16))
    >>> surely_killed(far, 20, rule, Classification(10)), surely_killed(replace(far, mutants=bad + 0.8), 20, rule,
    ... Classification(10))
    (True, False)
    """
    if (rule.test, rule.effect) != ("glm", "cohen-d") or not isinstance(task, Classification):
        return False
    seen = sample.mutants.ravel()
    if len(sample.originals) != total or not np.isfinite(seen).all():
        return False
    missing = total - len(seen)
    ends = (np.r_[seen, np.ones(ones), np.zeros(missing - ones)] for ones in range(missing, -1, -1))
    return all(rule.judge(replace(sample, mutants=end[None]), task.higher_is_better).killed for end in ends)
