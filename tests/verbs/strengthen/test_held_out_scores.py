"""Scores on fresh mutants: a slow loop, and numbers by hand."""

import numpy as np
import pytest
import torch
from scipy import stats

import mutiny
from mutiny.core.records import Verdict
from mutiny.faults.evaluation import Runner
from mutiny.faults.parsing import as_operators
from mutiny.subjects.inference.passes import Pace
from mutiny.verbs.assess.judge import Judge
from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.assess.search import Search
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.strengthen.context import StrengthenContext
from mutiny.verbs.strengthen.held_out_scores import Killed, gains, judged, scores_of
from mutiny.verbs.strengthen.mutant_pool import KillableRange
from verbs.strengthen.tables import weak_subject

pytestmark = pytest.mark.rounding


@pytest.mark.parametrize("originals", [1, 3])
def test_a_set_kills_what_a_judge_that_sees_only_it_kills(originals):
    subject, task = weak_subject(originals), mutiny.Classification(3, "logits")
    rule, search, operator = KillRule().resolve(originals), Search(), as_operators("WI(ratio=0.3)")[0]
    evidence = Evidence(subject.models, task, subject.pool, subject.train, pace=Pace(64))
    splits = {**subject.splits(), "pool": subject.pool}
    context = StrengthenContext(evidence, splits, rule, search, None, labels=subject.pool.targets)
    added = np.random.default_rng(0).permutation(200)[:40]
    sets = {"before": np.arange(60), "after": np.concatenate([np.arange(60), 60 + added])}
    counts = judged(context, KillableRange(operator, "WI", 0.5, 1.0), 7, 3, sets)
    x, y = (
        torch.cat([subject.test.inputs, subject.pool.inputs]),
        np.concatenate([subject.test.targets, subject.pool.targets]),
    )
    killed, killable = dict.fromkeys(sets, 0), 0
    for strength in (0.5 + 0.5 * (number + 0.5) / 3 for number in range(3)):
        parts = {name: mutiny.subjects.data.as_data((x[part], y[part]), "test") for name, part in sets.items()}
        runner = Runner(subject.models, task, {"train": subject.train, **parts}, subject.forward, 7, pace=Pace(64))
        judge = Judge(runner, operator, "WI", rule, search)
        if judge(strength, "train").record.verdict is Verdict.KILLED:
            killable += 1
            for name in sets:
                killed[name] += judge(strength, name).record.verdict is Verdict.KILLED
    assert counts.of == killable > 0
    assert counts.by == killed


def test_the_score_is_the_mean_over_operators_that_can_be_killed():
    each = [Killed(4, {"before": 1, "x": 4}), Killed(0, {"before": 0, "x": 0}), Killed(2, {"before": 1, "x": 1})]
    assert scores_of(each) == {"before": 0.375, "x": 0.75}
    assert scores_of(each[1:2]) is None


def test_gains_are_paired():
    trials = [
        {"before": 0.1, "strengthen 5": 0.5, "random 5": 0.4},
        {"before": 0.3, "strengthen 5": 0.6, "random 5": 0.3},
        {"before": 0.2, "strengthen 5": 0.7, "random 5": 0.3},
    ]
    ours, other = gains(trials, ["strengthen", "random"], [5])
    assert ours.ahead is None
    assert ours.gain.mean == pytest.approx(0.4)
    apart = np.array([0.1, 0.3, 0.4])
    low, high = stats.t.interval(0.95, 2, apart.mean(), stats.sem(apart))
    assert (other.ahead.interval.low, other.ahead.interval.high) == pytest.approx((low, high))
