"""Judges by themselves: compared with scipy and slow loops, and with judges that fail."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from scipy.stats import binomtest

import mutiny
from mutiny.core.errors import BadInput
from mutiny.core.records import JudgeOutcome
from mutiny.faults.evaluation import Runner
from mutiny.models import Patch, WeightEdit
from mutiny.subjects.data import as_data
from mutiny.verbs.assess.judges import FunctionJudge, Gate, SingleKillRule
from mutiny.verbs.assess.judges.answers import answering
from mutiny.verbs.assess.judges.base import Judge, Judgement
from verbs.assess.found import points, separator

TEST = points(300, seed=1)


@pytest.fixture
def runner():
    task = mutiny.Classification(3, "logits")
    return Runner([separator()], task, {"test": as_data(TEST, "test")}, lambda net, x: net(x), 0, 64)


def turned(size):
    """A patch that turns weights of the first class."""
    return Patch((WeightEdit("weight", np.arange(3), torch.tensor([1.0 - size, -0.1 + size, 0.3 * size])),), "")


def judged(runner, judge, patch):
    with answering(runner, Patch(()), 0, "test") as clean:
        _ = clean.outputs
    with answering(runner, patch, 0, "test") as faulty:
        broken = int((clean.correct & ~faulty.correct).sum())
        repaired = int((~clean.correct & faulty.correct).sum())
        return judge.decide(clean, faulty), broken, repaired


@pytest.mark.parametrize("size", [0.0, 0.2, 0.4, 0.6, 1.0])
def test_the_paired_test_is_the_exact_test_of_mcnemar(runner, size):
    judgement, broken, repaired = judged(runner, mutiny.PairedTest(0.05), turned(size))
    both = broken + repaired
    wanted = binomtest(broken, both, 0.5, "greater").pvalue if both else 1.0
    assert judgement.p_value == pytest.approx(wanted, abs=1e-12)
    assert judgement.outcome == ("noticed" if wanted < 0.05 else "missed")


@pytest.mark.parametrize("size", [0.2, 0.4, 0.6, 1.0])
def test_the_kill_rule_needs_significance_and_an_effect(runner, size):
    judgement, broken, repaired = judged(runner, SingleKillRule(beta=0.3), turned(size))
    wanted = binomtest(broken, broken + repaired, 0.5).pvalue
    effect = broken / (broken + repaired) - 0.5
    assert judgement.p_value == pytest.approx(wanted, abs=1e-9)
    assert judgement.outcome == ("noticed" if wanted < 0.05 and effect >= 0.3 else "missed")


def test_a_kill_rule_that_compares_trainings_is_refused():
    with pytest.raises(BadInput, match="expected mcnemar or fisher, because a fault has one original"):
        SingleKillRule("glm")


@pytest.mark.parametrize("size", [0.0, 0.3, 1.0])
def test_a_gate_compares_the_metric_of_the_faulty_network(runner, size):
    judgement, broken, repaired = judged(runner, Gate("drop <= 3pt"), turned(size))
    assert judgement.values == pytest.approx(((broken - repaired) / 300,))
    assert judgement.outcome == ("missed" if (broken - repaired) / 300 <= 0.03 else "noticed")


def test_a_function_sees_the_fault_and_returns_whether_the_network_is_acceptable(runner):
    seen = []

    def acceptable(predict, test):
        outputs = predict(test)
        assert torch.equal(predict(test.first(5)), outputs[:5])
        seen.append((outputs.argmax(1).numpy() == test.targets).mean())
        return seen[-1] >= 0.8

    fine, _, _ = judged(runner, FunctionJudge(acceptable), Patch(()))
    bad, broken, repaired = judged(runner, FunctionJudge(acceptable), turned(2.0))
    assert (fine.outcome, bad.outcome) == ("missed", "noticed")
    assert seen[0] - seen[1] == pytest.approx((broken - repaired) / 300)


def test_an_assertion_that_fails_notices_the_fault(runner):
    def strict(predict, test):
        assert (predict(test).argmax(1).numpy() == test.targets).mean() > 2, "too few"
        return True

    judgement, _, _ = judged(runner, FunctionJudge(strict), turned(1.0))
    assert judgement.outcome is JudgeOutcome.NOTICED
    assert judgement.reason.startswith("AssertionError: too few")


def test_a_function_draws_the_same_random_numbers_for_every_fault(runner):
    drawn = []

    def random(predict, test):
        drawn.append((torch.rand(1).item(), np.random.rand()))  # noqa: NPY002  as in the tests of users
        return True

    state = torch.random.get_rng_state()
    for size in (0.2, 0.4):
        judged(runner, FunctionJudge(random), turned(size))
    assert drawn[0] == drawn[1]
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (lambda predict, test: None, "it returned None: expected True if the network is acceptable"),
        (lambda predict, test: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda predict, test: predict("no such file.npz"), "BadInput"),
        (lambda predict: True, "TypeError"),
        (lambda predict, test: exit(3), "SystemExit: 3"),
    ],
    ids=["no answer", "error", "wrong inputs", "wrong arguments", "exit"],
)
def test_a_function_that_fails_is_broken_with_a_reason(runner, body, told):
    judgement, _, _ = judged(runner, FunctionJudge(body, "mine"), turned(1.0))
    assert judgement.outcome is JudgeOutcome.BROKEN
    assert told in judgement.reason


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (lambda predict, test: False, "mine=False for original 2: expected a judge that accepts the originals"),
        (lambda predict, test: 1 / 0, "mine=ZeroDivisionError: division by zero: expected a function that runs on"),
    ],
    ids=["fails", "error"],
)
def test_a_function_that_refuses_the_original_is_refused(runner, body, told):
    with answering(runner, Patch(()), 0, "test") as clean, pytest.raises(BadInput, match=re.escape(told)):
        FunctionJudge(body, "mine").check(clean, "original 2")


def test_a_function_that_changes_its_mind_is_refused(runner):
    answers = iter([True, False])
    flaky = FunctionJudge(lambda predict, test: next(answers), "flaky")
    with answering(runner, Patch(()), 0, "test") as clean, pytest.raises(BadInput, match="the same answer twice"):
        flaky.check(clean, "original 1")


def test_only_the_network_that_is_judged_can_be_asked_about_other_inputs(runner):
    @dataclass(frozen=True)
    class Asks(Judge):
        code: ClassVar[str] = "asks"
        title: ClassVar[str] = "asks the original"
        source: ClassVar[str] = "a test"

        def judge(self, clean: Any, faulty: Any) -> Judgement:
            clean.predict(TEST[0])
            return Judgement.of(True)

    judgement, _, _ = judged(runner, Asks(), turned(1.0))
    assert judgement.outcome is JudgeOutcome.BROKEN
    assert "a network that is not in use now" in judgement.reason


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), torch.OutOfMemoryError()])
def test_interrupts_and_lack_of_memory_are_not_the_judge(runner, error):
    def stops(predict, test):
        raise error

    with pytest.raises(type(error)):
        judged(runner, FunctionJudge(stops), turned(1.0))


def test_the_model_is_as_before_after_a_judge_that_fails(runner):
    before = runner.models[0].weight.clone()
    judged(runner, FunctionJudge(lambda predict, test: 1 / 0), turned(1.0))
    assert torch.equal(runner.models[0].weight, before)
