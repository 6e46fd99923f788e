"""Samples of answers against populations of which every answer is known."""

import numpy as np
import pytest
import torch

from mutiny.core.stats.notice import mcnemar_worse
from mutiny.faults.evaluation.answer_sample import AllAnswers, AnswerSample
from mutiny.faults.evaluation.change_chance import KnownInputs
from mutiny.subjects.inference.passes import CleanPass, Outcome
from mutiny.subjects.tasks import Classification

TASK = Classification(3, "logits")


def answered(logits, labels):
    """The clean pass of an original with these outputs."""
    right = logits.argmax(axis=1) == labels
    return CleanPass(Outcome.of(right, right.astype(float)), right.astype(float), None, torch.from_numpy(logits))


def population(rng, inputs=4000, noise=0.5, hit=0.0, freedom=8.0):
    """Labels, outputs of an original, and those of a fault: a linear map, and noise; one class may be hit alone."""
    labels = rng.integers(0, 3, inputs)
    logits = rng.normal(0, 1.2, (inputs, 3))
    logits[np.arange(inputs), labels] += 4.0
    faulty = logits @ (np.eye(3) + rng.normal(0, 0.03, (3, 3))) + noise * rng.standard_t(freedom, (inputs, 3))
    faulty[labels == 0, 0] -= hit
    return labels, logits.astype(np.float32), faulty.astype(np.float32)


def sample(labels, logits, faulty, rng, asked=None):
    """A sample, and the change of every answer."""
    clean = answered(logits, labels)
    change = (clean.shares - (faulty.argmax(axis=1) == labels)).astype(np.float32)

    def evaluate(positions):
        if asked is not None:
            asked.extend(positions.tolist())
        return change[positions], torch.from_numpy(faulty[positions])

    known = KnownInputs.of(clean, TASK, torch.from_numpy(labels), rng.random(len(labels)))
    return AnswerSample(known, evaluate, rng), change


def never(broken, repaired):
    return False


@pytest.mark.parametrize("hit", [0.0, 2.0])
def test_a_question_that_is_never_settled_asks_for_every_input_once(hit):
    rng, asked = np.random.default_rng(1), []
    answers, change = sample(*population(rng, inputs=1500, hit=hit), rng, asked)
    assert not answers.complete
    answers.until(never)
    assert answers.complete
    assert sorted(asked) == list(range(len(change)))
    assert answers.estimate() == ((change > 0).sum(), (change < 0).sum())
    whole, part = AllAnswers(change), answers.changed()
    assert answers.mean == pytest.approx(whole.mean)
    assert answers.error == pytest.approx(whole.error)
    for ours, reference in zip(part, whole.changed(), strict=True):
        np.testing.assert_allclose(ours, reference, rtol=1e-5)


@pytest.mark.parametrize(("hit", "freedom", "error"), [(0.0, 8.0, 0.1), (0.0, 2.5, 0.15), (2.5, 8.0, 0.1)])
def test_estimates_are_right_on_average(hit, freedom, error):
    """Also for faults that hit one class, and, less precisely, with errors of heavier tails than expected."""
    truths, estimates, moved = [], [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        answers, change = sample(*population(rng, hit=hit, freedom=freedom), rng)
        answers.grow(answers.strata.sizes // 10 + 5)
        truths.append([(change > 0).sum(), (change < 0).sum()])
        estimates.append(answers.estimate())
        moved.append(answers.changed())
    costs = [np.subtract(*np.mean(counts, axis=0)) for counts in (estimates, truths)]
    assert costs[0] == pytest.approx(costs[1], rel=error)
    for part, estimate in zip(moved, estimates, strict=True):
        broken, repaired = (float(part.weight[sign * part.change > 0].sum()) for sign in (1, -1))
        assert (broken, repaired) == pytest.approx(estimate, rel=1e-4)
        assert (np.diff(part.positions) > 0).all()


def test_predictions_contain_the_truth_as_often_as_they_should():
    inside = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        answers, change = sample(*population(rng, noise=float(rng.uniform(0.2, 1))), rng)
        answers.grow(np.minimum(answers.strata.sizes, 20))
        broken, repaired = answers.predictions()
        low, high = np.quantile(broken - repaired, [0.025, 0.975])
        inside.append(low <= change.sum() <= high)
    assert np.mean(inside) >= 0.9


def test_verdicts_are_those_of_all_inputs_and_need_fewer():
    same, evaluated = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        noise, hit = float(rng.uniform(0.1, 0.6)), float(rng.choice([0.0, 1.5]))
        answers, change = sample(*population(rng, noise=noise, hit=hit), rng)

        def settled(broken, repaired):
            noticed = mcnemar_worse(broken, repaired) < 0.05
            return bool(noticed.all() or not noticed.any())

        answers.until(settled)
        counts = np.rint(answers.estimate()).astype(int)
        truth = mcnemar_worse((change > 0).sum(), (change < 0).sum()) < 0.05
        same.append((mcnemar_worse(*counts) < 0.05) == truth)
        evaluated.append(answers.evaluated / len(change))
    assert np.mean(same) > 0.97
    assert np.mean(evaluated) < 0.3


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_outputs_that_are_not_finite(broken):
    rng = np.random.default_rng(0)
    labels, logits, faulty = population(rng, inputs=1200)
    faulty[labels == 1] = broken
    answers, change = sample(labels, logits, faulty, rng)
    first = answers.estimate()
    assert np.isfinite(first).all()
    answers.until(never)
    assert answers.estimate() == ((change > 0).sum(), (change < 0).sum())


def test_a_fault_that_leaves_every_output_as_it_is_costs_nothing():
    rng = np.random.default_rng(0)
    labels, logits, _ = population(rng)
    answers, _ = sample(labels, logits, logits, rng)
    answers.until(lambda broken, repaired: bool((broken - repaired < 10).all()))
    assert answers.mean == pytest.approx(0, abs=1e-3)
    assert answers.evaluated < len(labels) / 5
