"""Samples of answers against populations of which every answer is known."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from mutiny.core.stats.notice import mcnemar_worse
from mutiny.faults.evaluation.answer_sample import AllAnswers, AnswerSample, Strata
from mutiny.subjects.inference.passes import CleanPass, Outcome
from mutiny.subjects.tasks import Classification

TASK = Classification(2, "logits")


def clean(margin):
    """The clean pass of an original whose true class is 0, with these margins."""
    logits = torch.tensor(np.stack([margin, np.zeros_like(margin)], axis=1), dtype=torch.float32)
    right = margin > 0
    return CleanPass(Outcome.of(right, right.astype(float)), right.astype(float), None, logits)


def population(rng, inputs=5000, rate=0.05):
    """Margins of all inputs, and how a fault changes their answers: the less sure, the more often."""
    margin = rng.normal(2.0, 1.5, inputs)
    flipped = rng.random(inputs) < rate * np.exp(-1.2 * np.abs(margin)) / 0.25
    return margin, np.where(flipped, np.where(margin > 0, 1.0, -1.0), 0.0).astype(np.float32)


def strata(margin, rng):
    labels = torch.zeros(len(margin), dtype=torch.int64)
    return Strata.of(clean(margin), TASK, labels, rng.random(len(margin)))


def sample(margin, change, rng, asked=None):
    def answer(positions):
        if asked is not None:
            asked.extend(positions.tolist())
        return change[positions]

    return AnswerSample(strata(margin, rng), answer, rng)


def test_strata_hold_each_input_once_the_least_sure_first():
    rng = np.random.default_rng(0)
    margin, _ = population(rng)
    found = strata(margin, rng)
    assert sorted(np.concatenate(found.members).tolist()) == list(range(len(margin)))
    right = [group for group, is_right in zip(found.members, found.right, strict=True) if is_right]
    for less, more in pairwise(right):
        assert margin[less].max() <= margin[more].min()
    for group, is_right in zip(found.members, found.right, strict=True):
        assert ((margin[group] > 0) == is_right).all()


@pytest.mark.parametrize("margin", [np.full(40, 1.0), np.full(40, -1.0), np.linspace(0.1, 1, 3)])
def test_strata_of_one_kind_of_answers_or_of_few_inputs(margin):
    found = strata(margin, np.random.default_rng(0))
    assert found.sizes.sum() == len(margin)
    assert all(found.sizes)


def test_a_question_that_is_never_settled_asks_for_every_input_once():
    rng, asked = np.random.default_rng(1), []
    margin, change = population(rng, inputs=1500)
    answers = sample(margin, change, rng, asked)
    assert not answers.complete
    answers.until(lambda broken, repaired: False)
    assert answers.complete
    assert sorted(asked) == list(range(len(margin)))
    assert answers.estimate() == ((change > 0).sum(), (change < 0).sum())
    whole, part = AllAnswers(change), answers.changed()
    assert answers.mean == pytest.approx(whole.mean)
    for ours, reference in zip(part, whole.changed(), strict=True):
        np.testing.assert_array_equal(ours, reference)


def test_estimates_are_right_on_average_and_weights_add_up():
    truths, estimates = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        margin, change = population(rng)
        answers = sample(margin, change, rng)
        answers.grow(np.full(len(answers.drawn), 200))
        truths.append(change.sum())
        estimates.append(len(change) * answers.mean)
        part = answers.changed()
        by_hand = sum(
            answers.strata.sizes[k] / answers.drawn[k] * change[group[: answers.drawn[k]]].sum()
            for k, group in enumerate(answers.strata.members)
        )
        assert (part.change * part.weight).sum() == pytest.approx(by_hand, rel=1e-4)
    assert np.mean(estimates) == pytest.approx(np.mean(truths), rel=0.1)


def test_verdicts_are_those_of_all_inputs_and_need_fewer():
    same, evaluated = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        margin, change = population(rng, rate=float(rng.uniform(0.001, 0.03)))
        answers = sample(margin, change, rng)

        def settled(broken, repaired):
            noticed = mcnemar_worse(broken, repaired) < 0.05
            return bool(noticed.all() or not noticed.any())

        answers.until(settled)
        counts = np.rint(answers.estimate()).astype(int)
        truth = mcnemar_worse((change > 0).sum(), (change < 0).sum()) < 0.05
        same.append((mcnemar_worse(*counts) < 0.05) == truth)
        evaluated.append(answers.evaluated / len(change))
    assert np.mean(same) > 0.98
    assert np.mean(evaluated) < 0.7  # most of these faults are close to the border
