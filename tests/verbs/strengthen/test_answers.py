"""Expected changes are means over the labels that are believed."""

import numpy as np
import pytest
from scipy.stats import norm, wilcoxon

import mutiny
from mutiny.verbs.strengthen.answers import changed, expected_change, known_change, signed_ranks


def test_expected_breaks_and_repairs_are_shares_of_labels():
    rng = np.random.default_rng(0)
    belief = rng.dirichlet(np.ones(4), 5).astype(np.float32)
    before, after = np.array([0, 1, 2, 3, 0]), np.array([1, 2, 3, 0, -1])
    mean, square = expected_change(mutiny.Classification(4), before, after, belief, 0.0)
    for row in range(5):
        broken = sum(p for label, p in enumerate(belief[row]) if label == before[row])
        repaired = sum(p for label, p in enumerate(belief[row]) if label == after[row])
        assert mean[row] == pytest.approx(broken - repaired, abs=1e-6)
        assert square[row] == pytest.approx(broken + repaired, abs=1e-6)


@pytest.mark.parametrize("metric", ["mse", "mae"])
def test_signs_are_those_of_noisy_targets(metric):
    """With one output, the loss grows exactly if the target is nearer to the original."""
    rng = np.random.default_rng(1)
    task, spread = mutiny.Regression(0.1, metric), 0.5
    before, after, belief = (rng.normal(size=(8, 1)) for _ in range(3))
    noise = spread**2 if metric == "mse" else spread * np.sqrt(2 / np.pi)
    mean, square = expected_change(task, before, after, belief.astype(np.float32), noise)
    targets = belief + spread * rng.normal(size=(40000, 8, 1))
    signs = np.mean([np.sign(known_change(task, before, after, target)) for target in targets], axis=0)
    np.testing.assert_allclose(mean / np.sqrt(square), signs, atol=0.02)
    assert sorted(np.sqrt(square)) == pytest.approx(np.arange(1, 9) / 8)


def test_signed_ranks_give_the_statistic_of_wilcoxon():
    values = np.random.default_rng(2).normal(0.2, 1, 60)
    ranks = signed_ranks(values)
    z = ranks.sum() / np.sqrt(np.square(ranks).sum())
    expected = wilcoxon(values, alternative="greater", method="approx")
    assert norm.sf(z) == pytest.approx(expected.pvalue, rel=1e-6)


def test_answers_that_are_not_finite_stay_finite_changes():
    task = mutiny.Regression(0.1)
    before, after = np.zeros((2, 1)), np.array([[np.nan], [np.inf]])
    mean, square = expected_change(task, before, after, np.zeros((2, 1), np.float32), 0.1)
    assert np.isfinite([mean, square]).all()
    assert (mean > 0).all()
    assert changed(before, after).tolist() == [0, 1]
