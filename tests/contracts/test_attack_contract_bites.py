"""The contract suite notices attacks that break their promises."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from mutiny.core.random import generator_for
from mutiny.subjects.data.balls import Ball
from mutiny.testing import attacks
from mutiny.testing.attacks import check_attack
from mutiny.verbs.attack.attack import attack as run_attack
from mutiny.verbs.attack.base import Attack, Attacked, cross_entropy


@dataclass(frozen=True)
class Steps(Attack):
    """A correct attack, which the tests break: steps along the gradient from a random start."""

    code: ClassVar[str] = "steps"
    title: ClassVar[str] = "steps"
    source: ClassVar[str] = "here"
    count: int = 2

    def attacked(self, ensemble, batch, eps):
        ball = Ball(batch.inputs, eps, "linf", batch.low, batch.high)
        now = ball.near(batch.inputs + 0.1 * eps * self.noise(batch))
        for _ in range(self.count):
            slope = ensemble.slope(now, lambda outputs: cross_entropy(outputs, batch.labels))
            now = ball.near(now + 0.4 * eps * slope.direction.sign())
        return Attacked(ball.inside(now), len(now) * self.count * len(ensemble))

    def noise(self, batch):
        rows = [
            generator_for(batch.seed, batch.first + row).random(batch.inputs.shape[1:])
            for row in range(len(batch.inputs))
        ]
        return torch.from_numpy(np.stack(rows)).to(batch.inputs)

    def times(self, budget):
        return replace(self, count=self.count * budget)


class ChangesTheModel(Steps):
    def attacked(self, ensemble, batch, eps):
        ensemble.model[0].bias.data.add_(1)
        return super().attacked(ensemble, batch, eps)


class LeavesGradients(Steps):
    def attacked(self, ensemble, batch, eps):
        next(ensemble.outputs(batch.inputs)).sum().backward()
        return super().attacked(ensemble, batch, eps)


class KeepsItsHookAfterAnError(Steps):
    def attacked(self, ensemble, batch, eps):
        hook = ensemble.model[0].register_forward_hook(lambda *_: None)
        found = super().attacked(ensemble, batch, eps)
        hook.remove()
        return found


class WritesIntoInputs(Steps):
    def attacked(self, ensemble, batch, eps):
        found = super().attacked(ensemble, batch, eps)
        batch.inputs.copy_(found.inputs)
        return found


class WritesIntoLabels(Steps):
    def attacked(self, ensemble, batch, eps):
        found = super().attacked(ensemble, batch, eps)
        batch.labels.add_(1)
        return found


class WantsGradientsOfInputs(Steps):
    def attacked(self, ensemble, batch, eps):
        batch.inputs.requires_grad_()
        return super().attacked(ensemble, batch._replace(inputs=batch.inputs.detach()), eps)


class DrawsFromTheGlobalGenerator(Steps):
    def noise(self, batch):
        return torch.rand(batch.inputs.shape)


class DrawsFromTheClock(Steps):
    def noise(self, batch):
        return torch.from_numpy(np.random.default_rng().random(tuple(batch.inputs.shape))).to(batch.inputs)


class DrawsByBatch(Steps):
    def noise(self, batch):
        return torch.from_numpy(generator_for(batch.seed).random(tuple(batch.inputs.shape))).to(batch.inputs)


class LeavesTheBall(Steps):
    def attacked(self, ensemble, batch, eps):
        return super().attacked(ensemble, batch, 1.5 * eps)


class LeavesTheRange(Steps):
    def attacked(self, ensemble, batch, eps):
        return super().attacked(ensemble, batch._replace(high=batch.high + 1), eps)


class GivesNoNumbers(Steps):
    def attacked(self, ensemble, batch, eps):
        found = super().attacked(ensemble, batch, eps)
        return found._replace(inputs=found.inputs / 0)


class GivesOtherPrecision(Steps):
    def attacked(self, ensemble, batch, eps):
        found = super().attacked(ensemble, batch, eps)
        return found._replace(inputs=found.inputs.to(torch.half))


class LosesAnInput(Steps):
    def attacked(self, ensemble, batch, eps):
        found = super().attacked(ensemble, batch, eps)
        return found._replace(inputs=found.inputs[1:])


class CountsTheModelOnly(Steps):
    def attacked(self, ensemble, batch, eps):
        found = super().attacked(ensemble, batch, eps)
        return found._replace(passes=found.passes // len(ensemble))


class CountsParts(Steps):
    def attacked(self, ensemble, batch, eps):
        found = super().attacked(ensemble, batch, eps)
        return found._replace(passes=found.passes + 0.5)


class TakesMoreThanItsBudget(Steps):
    def times(self, budget):
        return replace(self, count=self.count * budget**2)


class GrowsWithoutABudget(Steps):
    def times(self, budget):
        return replace(self, count=self.count * (budget + 1))


class KnowsSomeBudgets(Steps):
    def times(self, budget):
        return self if budget == 1 else None


class HasOneLossForAll(Steps):
    def rising(self, labels):
        return lambda outputs: cross_entropy(outputs, labels).mean()


class HasALossWithoutGradient(Steps):
    def rising(self, labels):
        return lambda outputs: cross_entropy(outputs, labels).detach()


class DoesNothing(Steps):
    def attacked(self, ensemble, batch, eps):
        return Attacked(batch.inputs.clone(), 0)


class HasNoTitle(Steps):
    title = ""


@dataclass(frozen=True)
class HidesAParameter(Steps):
    secret: float = field(default=0.5, compare=True)

    def __str__(self):
        return f"{self.code}(count={self.count})"


def check(attack):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model, inputs = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).eval(), torch.rand(12, 6)
    check_attack(attack, model, inputs, eps=0.5)


def test_a_correct_attack_passes():
    check(Steps())


@pytest.mark.parametrize(
    ("attack", "sentence"),
    [
        (ChangesTheModel(), r"0\.bias of the model is not as before after an attack"),
        (LeavesGradients(), r"of the model is not as before after an attack"),
        (KeepsItsHookAfterAnError(), "of the model is not as before after an error in forward pass 1"),
        (WritesIntoInputs(), "the inputs are not as before"),
        (WritesIntoLabels(), "the labels are not as before"),
        (WantsGradientsOfInputs(), "the inputs require gradients"),
        (DrawsFromTheGlobalGenerator(), "a global random generator is not as before"),
        (DrawsFromTheClock(), "the same seed gives different results"),
        (DrawsByBatch(), "depend on the batch"),
        (LeavesTheBall(), "further than eps=0.5"),
        (LeavesTheRange(), "leave the range"),
        (GivesNoNumbers(), "not finite"),
        (GivesOtherPrecision(), "dtype of inputs is torch.float16"),
        (LosesAnInput(), "shape of inputs is"),
        (CountsTheModelOnly(), r"made \d+ passes, reports \d+"),
        (CountsParts(), "not a whole number"),
        (TakesMoreThanItsBudget(), r"times\(3\) takes \d+ passes"),
        (GrowsWithoutABudget(), r"times\(1\) is "),
        (KnowsSomeBudgets(), "None for some budgets only"),
        (HasOneLossForAll(), r"the loss has shape \(\)"),
        (HasALossWithoutGradient(), "cannot be differentiated"),
        (DoesNothing(), "no correct answer is lost"),
        (HasNoTitle(), "the title is empty"),
        (HidesAParameter(secret=0.7), "rebuilds"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Attack) else "",
)
def test_a_broken_attack_fails(attack, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check(attack)


def test_a_verb_that_calls_every_input_fooled_fails(monkeypatch):
    def boastful(*args, **settings):
        result = run_attack(*args, **settings)
        (level,) = result.levels
        ways = {name: replace(way, fooled=np.ones_like(way.fooled)) for name, way in level.ways.items()}
        return replace(result, levels=(replace(level, ways=ways),))

    monkeypatch.setattr(attacks, "run_attack", boastful)
    with pytest.raises(AssertionError, match="answers rightly count as fooled"):
        check(Steps())
