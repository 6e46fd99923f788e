"""Every judge keeps the contract, and the contract refuses judges that do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
from torch import nn

from mutiny import JUDGES, Classification, Judge, PairedTest, Regression
from mutiny.testing.judges import check_judge
from mutiny.verbs.assess.judges import FunctionJudge, Gate, Judgement, SingleKillRule


def right_often(predict: Any, test: Any) -> bool:
    """A test as users write it."""
    return bool((predict(test).argmax(1).numpy() == test.targets).mean() >= 0.9)


def close_often(predict: Any, test: Any) -> bool:
    """A test of a regression."""
    return bool(abs(predict(test).numpy() - test.targets.reshape(-1, 1)).mean() <= 0.1)


EXAMPLES: dict[type[Judge], tuple[Judge, Judge]] = {
    PairedTest: (PairedTest(0.01), PairedTest()),
    SingleKillRule: (SingleKillRule(beta=0.2), SingleKillRule(test="mcnemar")),
    Gate: (Gate("accuracy >= 0.9 and log_loss <= 2"), Gate("mae <= 0.1")),
    FunctionJudge: (FunctionJudge(right_often), FunctionJudge(close_often)),
}
"""A judge of each class for classification, and one for regression."""


@pytest.fixture(scope="module")
def classifier() -> tuple[nn.Module, Any]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3)).eval()
    inputs = torch.randn(150, 4)
    with torch.no_grad():
        return net, (inputs, net(inputs).argmax(1))


@pytest.fixture(scope="module")
def regressor() -> tuple[nn.Module, Any]:
    torch.manual_seed(1)
    net = nn.Linear(4, 1).eval()
    inputs = torch.randn(150, 4)
    with torch.no_grad():
        return net, (inputs, net(inputs)[:, 0] + 0.01 * torch.randn(150))


@pytest.mark.parametrize("kind", JUDGES.builtin.values(), ids=lambda kind: kind.code)
def test_every_judge_of_classification_keeps_the_contract(kind, classifier):
    judge = EXAMPLES[kind][0]
    check_judge(judge, *classifier, Classification(3, "logits"), rebuilds=kind is not FunctionJudge)


@pytest.mark.parametrize("kind", JUDGES.builtin.values(), ids=lambda kind: kind.code)
def test_every_judge_of_regression_keeps_the_contract(kind, regressor):
    judge = EXAMPLES[kind][1]
    check_judge(judge, *regressor, Regression(0.05), rebuilds=kind is not FunctionJudge)


@dataclass(frozen=True)
class Broken(Judge):
    """Base of judges that break a promise."""

    code: ClassVar[str] = "broken"
    title: ClassVar[str] = "broken judge"
    source: ClassVar[str] = "a test"

    def judge(self, clean, faulty):
        """Notices any wrong answer, as a judge that keeps the contract here."""
        return Judgement.of(not faulty.correct.all())


class NoticesEverything(Broken):
    def judge(self, clean, faulty):
        return Judgement.of(True)


class NoticesNothing(Broken):
    def judge(self, clean, faulty):
        return Judgement.of(False)


class ReturnsABoolean(Broken):
    def judge(self, clean, faulty):
        return True


class RemembersCalls(Broken):
    calls: ClassVar[list[int]] = []

    def judge(self, clean, faulty):
        self.calls.append(1)
        return Judgement.of(len(self.calls) % 2 == 1)


class WritesIntoAnswers(Broken):
    def judge(self, clean, faulty):
        faulty.outputs[0] += 1
        return Judgement.of(not faulty.correct.all())


class HasNoTitle(Broken):
    title: ClassVar[str] = ""


BITTEN = {
    NoticesEverything: "it notices a network that is not changed",
    NoticesNothing: "it misses a network without weights",
    ReturnsABoolean: "it returned a bool instead of a Judgement",
    RemembersCalls: "and then",
    WritesIntoAnswers: "the judge changes the answers",
    HasNoTitle: "the title is empty",
}


@pytest.mark.parametrize(("kind", "message"), BITTEN.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_the_contract_refuses_a_judge_that_breaks_a_promise(kind, message, classifier):
    with pytest.raises(AssertionError, match=message):
        check_judge(kind(), *classifier, Classification(3, "logits"))


def test_the_contract_accepts_the_base_of_these_judges(classifier):
    check_judge(Broken(), *classifier, Classification(3, "logits"))
