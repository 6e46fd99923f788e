"""A verdict that is called certain early is the verdict, whatever comes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mutiny import Classification, Regression
from mutiny.verbs.assess.muff.early_verdict import surely_killed
from mutiny.verbs.assess.muff.kill_rule import KillRule, Sample

TASK = Classification(10)


def sample(originals, seen):
    none = np.zeros(0, np.int64)
    return Sample(np.array(originals), np.array([seen]), none, none, np.zeros(1, np.int16))


def completed(partial, rest):
    return replace(partial, mutants=np.r_[partial.mutants[0], rest][None])


@settings(max_examples=50, deadline=None)
@given(data=st.data(), total=st.integers(2, 20), seed=st.integers(0, 2**32 - 1))
def test_whatever_comes_kills_what_was_surely_killed(data, total, seed):
    rule, rng = KillRule().resolve(total), np.random.default_rng(seed)
    seen = data.draw(st.integers(1, total - 1))
    level, spread = data.draw(st.floats(0, 1)), data.draw(st.floats(0, 0.3))
    partial = sample(rng.uniform(0.8, 1, total), np.clip(rng.normal(level, spread, seen), 0, 1))
    missing = total - seen
    alike = rng.uniform(size=(8, 1)) * np.ones(missing)
    rests = np.concatenate([rng.uniform(size=(8, missing)), rng.integers(2, size=(8, missing)), alike])
    killed = [rule.judge(completed(partial, rest), True).killed for rest in rests]
    if surely_killed(partial, total, rule, TASK):
        assert all(killed)
    ends = [np.repeat([1.0, 0.0], [ones, missing - ones]) for ones in range(missing + 1)]
    all_ends = all(rule.judge(completed(partial, end), True).killed for end in ends)
    assert surely_killed(partial, total, rule, TASK) == all_ends  # not one kill is missed


def test_five_ruined_instances_of_twenty_are_enough():
    originals = np.linspace(0.97, 0.99, 20)
    rule = KillRule().resolve(20)
    assert surely_killed(sample(originals, [0.1] * 5), 20, rule, TASK)
    assert not surely_killed(sample(originals, [0.9] * 5), 20, rule, TASK)
    assert surely_killed(sample(originals, [0.9] * 19), 20, rule, TASK)


@pytest.mark.parametrize("test", ["welch", "mann-whitney", "wilcoxon", "paired-t", "fisher", "mcnemar"])
def test_other_rules_wait_for_all_instances(test):
    rule = KillRule(test).resolve(20)
    assert not surely_killed(sample(np.linspace(0.97, 0.99, 20), [0.1] * 10), 20, rule, TASK)


def test_a_loss_has_no_worst_value():
    partial = sample(np.linspace(0.1, 0.2, 20), [9.0] * 10)
    assert not surely_killed(partial, 20, KillRule().resolve(20), Regression(0.1))


def test_a_metric_that_is_no_number_waits():
    partial = sample(np.linspace(0.97, 0.99, 20), [0.1, np.nan, 0.1])
    assert not surely_killed(partial, 20, KillRule().resolve(20), TASK)
