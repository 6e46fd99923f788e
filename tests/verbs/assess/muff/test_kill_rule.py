import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mutiny.core.errors import BadInput
from mutiny.verbs.assess.muff.kill_rule import MEDIUM, TESTS, KillRule, Sample


def sample(originals, mutants, differences=(1, 0, -1), inputs=100):
    originals, mutants = np.asarray(originals, float), np.atleast_2d(np.asarray(mutants, float))
    return Sample(
        originals,
        mutants,
        np.round(originals * inputs).astype(int),
        np.round(mutants * inputs).astype(int),
        np.asarray(differences, np.int16),
    )


def reference_glm(originals, mutants):
    y = np.r_[originals, mutants]
    x = sm.add_constant(np.r_[np.zeros(len(originals)), np.ones(len(mutants))])
    return sm.GLM(y, x, family=sm.families.Gaussian()).fit().pvalues[1]


accuracy = st.floats(0.5, 1.0)


@given(st.lists(accuracy, min_size=4, max_size=8, unique=True), st.data())
@settings(max_examples=40, deadline=None)
def test_eq2_is_deepcrimes_rule_with_any_group_sizes(originals, data):
    m = len(originals)
    k = data.draw(st.integers(1, 4))
    mutants = np.array(data.draw(st.lists(accuracy, min_size=k * m, max_size=k * m, unique=True))).reshape(k, m)
    pooled = np.sqrt(((m - 1) * np.var(originals, ddof=1) + (k * m - 1) * np.var(mutants, ddof=1)) / (m + k * m - 2))
    d = (np.mean(originals) - mutants.mean()) / pooled
    p = reference_glm(originals, mutants.ravel())
    evidence = KillRule().resolve(m).judge(sample(originals, mutants), higher_is_better=True)
    assert evidence.p_value == pytest.approx(p, abs=1e-9)
    assert evidence.effect_size == pytest.approx(d, rel=1e-6, abs=1e-9)
    assert evidence.killed == (p < 0.05 and d >= 0.5)


def test_a_better_mutant_is_never_killed_whatever_the_rule():
    better = sample([0.8, 0.81, 0.79, 0.8, 0.82], [0.9, 0.91, 0.92, 0.9, 0.91], differences=[-1] * 100)
    for test in TESTS:
        assert not KillRule(test=test).resolve(5).judge(better, higher_is_better=True).killed, test


def test_test_and_effect_must_agree_on_the_direction():
    """More right answers but a larger loss, or better in most pairs but worse on average: significance is no kill."""
    losses = Sample(
        np.linspace(0.10, 0.12, 10),
        np.linspace(0.20, 0.22, 10)[None],
        np.full(10, 70),
        np.full((1, 10), 80),
        np.full(100, -1, np.int16),
    )
    assert KillRule(test="glm").resolve(10).judge(losses, higher_is_better=False).killed
    evidence = KillRule(test="fisher").resolve(10).judge(losses, higher_is_better=False)
    assert evidence.p_value < 1e-6
    assert evidence.effect_size > 0.5
    assert not evidence.killed
    better = np.r_[np.linspace(0.001, 0.019, 19), -5.0, -5.0, -5.0]  # 19 of 22 mutants are a little better
    pairs = sample(np.full(22, 0.9) + np.linspace(0, 1e-4, 22), (np.full(22, 0.9) + better)[None])
    assert not KillRule(test="wilcoxon", beta=0.0).resolve(22).judge(pairs, higher_is_better=True).killed
    assert not KillRule(test="mann-whitney", beta=0.0).resolve(22).judge(pairs, higher_is_better=True).killed


def test_lower_is_better_turns_the_direction_round():
    losses = sample([0.1, 0.12, 0.11, 0.1, 0.13], [0.5, 0.52, 0.49, 0.5, 0.51])
    for effect in ("cohen-d", "a12"):
        rule = KillRule(test="glm", effect=effect).resolve(5)
        assert rule.judge(losses, higher_is_better=False).killed
        assert not rule.judge(losses, higher_is_better=True).killed


@pytest.mark.parametrize(("mutant", "killed", "p"), [(0.9, False, 1.0), (0.8, True, 0.0), (0.95, False, 0.0)])
def test_no_spread_at_all_has_a_defined_answer(mutant, killed, p):
    evidence = KillRule().resolve(5).judge(sample([0.9] * 5, [mutant] * 5), higher_is_better=True)
    assert (evidence.killed, evidence.p_value) == (killed, p)


@given(st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=60, deadline=None)
def test_one_original_one_repetition_is_mcnemar(lost, won):
    differences = [1] * lost + [-1] * won + [0] * 30
    evidence = KillRule().resolve(1).judge(sample([0.9], [[0.8]], differences), higher_is_better=True)
    p = stats.binomtest(lost, lost + won).pvalue if lost + won else 1.0
    assert evidence.p_value == pytest.approx(p, rel=1e-6, abs=1e-12)
    g = lost / (lost + won) - 0.5 if lost + won else 0.0
    assert evidence.effect_size == pytest.approx(g)
    assert evidence.killed == (p < 0.05 and g >= 0.15)


def test_fisher_pools_correct_answers():
    s = sample([0.9, 0.92], [[0.5, 0.52], [0.51, 0.5]], differences=[0] * 100)
    table = [[182, 18], [203, 197]]
    assert KillRule(test="fisher").resolve(2).judge(s, True).p_value == pytest.approx(stats.fisher_exact(table)[1])


def test_paired_tests_compare_each_original_with_the_mean_of_its_own_mutants():
    s = sample([0.9, 0.92, 0.95, 0.91, 0.94], [[0.8, 0.9, 0.9, 0.9, 0.93], [0.84, 0.88, 0.91, 0.9, 0.9]])
    expected = stats.ttest_rel(s.originals, s.mutants.mean(axis=0)).pvalue
    assert KillRule(test="paired-t").resolve(5).judge(s, True).p_value == pytest.approx(expected)


def test_default_beta_is_a_medium_effect():
    for effect, beta in MEDIUM.items():
        test = "mcnemar" if effect == "cohen-g" else "glm"
        assert KillRule(test, effect=effect).resolve(10).beta == beta
    assert KillRule(beta=0.2).resolve(10).beta == 0.2


def test_resampled_inputs_change_the_histogram_only():
    s = sample([0.9], [[0.8]], [2, 0, -1, 1])
    values, counts = s.of_inputs(np.array([3, 0, 1, 0])).histogram
    assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == {-1: 1, 0: 0, 1: 0, 2: 3}


@pytest.mark.parametrize(
    "bad", [{"test": "t"}, {"alpha": 0}, {"alpha": 1.5}, {"effect": "r"}, {"beta": -1}, {"beta": float("nan")}]
)
def test_bad_rules_are_refused(bad):
    with pytest.raises(BadInput):
        KillRule(**bad)


def test_tests_between_trainings_need_trainings():
    with pytest.raises(BadInput, match="at least two originals"):
        KillRule(test="welch").resolve(1)
