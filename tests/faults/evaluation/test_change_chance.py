"""Predicted probabilities of changed answers."""

import numpy as np
import pytest
import torch

from mutiny.faults.evaluation.change_chance import KnownInputs
from mutiny.faults.evaluation.prediction import leverages, linear_map
from mutiny.subjects.inference.passes import CleanPass, Outcome
from mutiny.subjects.tasks import Classification

from .test_answer_sample import TASK, answered, population


def known(labels, logits, task=TASK):
    return KnownInputs.of(answered(logits, labels), task, torch.from_numpy(labels), np.arange(len(labels), dtype=float))


@pytest.mark.parametrize("hit", [0.0, 2.5])
def test_probabilities_are_those_that_are_observed(hit):
    """In groups of about equal probability, about as many answers change as expected, also if a fault hits one class.

    Rather fewer than more of the improbable ones do, because tails and errors are taken to be larger than they seem.
    """
    expected, observed = np.zeros(4), np.zeros(4)
    for seed in range(15):
        rng = np.random.default_rng(seed)
        labels, logits, faulty = population(rng, hit=hit)
        seen = rng.permutation(len(labels))[:200]
        chance = known(labels, logits).chances(seen, torch.from_numpy(faulty[seen]))
        changed = (logits.argmax(axis=1) == labels) != (faulty.argmax(axis=1) == labels)
        place = np.searchsorted([0.01, 0.1, 0.5], chance)
        expected += np.bincount(place, weights=chance, minlength=4)
        observed += np.bincount(place, weights=changed, minlength=4)
    ratio = observed / expected
    assert (ratio[:2] < 1.2).all()
    assert (ratio[1:] > 0.3).all()
    assert (ratio[2:] < 1.6).all()


def test_errors_in_one_class_are_not_expected_in_others():
    """A fault that disturbs one class: its inputs are in doubt, and those of other classes are not."""
    rng = np.random.default_rng(0)
    labels, logits, _ = population(rng)
    faulty = (logits + rng.normal(0, 1, logits.shape) * np.where(labels == 0, 3.0, 0.05)[:, None]).astype(np.float32)
    seen = rng.permutation(len(labels))[:200]
    chance = known(labels, logits).chances(seen, torch.from_numpy(faulty[seen]))
    changed = (logits.argmax(axis=1) == labels) != (faulty.argmax(axis=1) == labels)
    expected, observed = (np.array([part[labels == each].mean() for each in range(3)]) for part in (chance, changed))
    assert expected[0] == pytest.approx(observed[0], rel=0.5)
    assert (expected[1:] < expected[0] / 5).all()


def test_few_outputs_do_not_make_predictions_too_sure():
    """With few inputs, the map fits their noise too; leverages make up for it."""
    few, many = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        labels, logits, faulty = population(rng, inputs=1500)
        inputs, order = known(labels, logits), rng.permutation(len(labels))
        for found, count in ((few, 18), (many, 1000)):
            seen = order[:count]
            found.append(np.median(inputs.chances(seen, torch.from_numpy(faulty[seen]))))
    assert np.median(few) > 1.3 * np.median(many)


def test_a_leverage_is_how_much_an_answer_moves_its_own_prediction():
    rng = np.random.default_rng(0)
    _, logits, faulty = population(rng, inputs=60)
    clean, answers, seen = torch.from_numpy(logits), torch.from_numpy(faulty), np.arange(60)
    found = leverages(clean, answers)
    assert ((found > 0) & (found < 1)).all()
    before = linear_map(clean, [(seen, answers)])
    for place in range(0, 60, 7):
        moved = answers.clone()
        moved[place, 1] += 1
        after = linear_map(clean, [(seen, moved)])
        assert float(after[place, 1] - before[place, 1]) == pytest.approx(found[place], abs=1e-4)


def test_answers_that_are_not_finite_have_no_leverage():
    clean = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    answers = clean.clone()
    answers[7] = torch.nan
    found = leverages(clean, answers)
    assert found[7] == 0
    assert not leverages(clean, torch.full_like(clean, torch.inf)).any()


def test_a_single_logit():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 2000)
    logits = (rng.normal(0, 1, 2000) + 4 * labels - 2).astype(np.float32)[:, None]
    faulty = (0.8 * logits + rng.normal(0, 0.3, (2000, 1))).astype(np.float32)
    right, after = ((values[:, 0] > 0) == labels for values in (logits, faulty))
    clean = CleanPass(Outcome.of(right, right.astype(float)), right.astype(float), None, torch.from_numpy(logits))
    inputs = KnownInputs.of(clean, Classification(2, "logits"), torch.from_numpy(labels), rng.random(2000))
    chance = inputs.chances(np.arange(200), torch.from_numpy(faulty[:200]))
    assert 1 <= chance.sum() / (right != after).sum() <= 2.5
    assert chance[right != after].mean() > 10 * chance[right == after].mean()
