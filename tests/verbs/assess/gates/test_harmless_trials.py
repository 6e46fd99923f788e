"""False alarms by source, against closed forms and against drawing inputs one by one."""

import numpy as np
import pytest
from scipy import stats as reference

from mutiny.core.stats import clopper_pearson
from mutiny.core.stats.gate_errors import accuracy_pass_chance, drop_pass_chance, least_count, most_count
from mutiny.verbs.assess.gates.alarm_interval import alarms_of
from mutiny.verbs.assess.gates.grammar import parse_gate
from mutiny.verbs.assess.gates.harmless_trials import harmless_variants, other_test_sets, retrained_originals
from verbs.assess.gates.gate_cases import classified, counted, random_answers


def changed(clean, broken, repaired):
    """The answers of a network that breaks the first right answers and repairs the first wrong ones."""
    predicted = clean.predicted.copy()
    right, wrong = np.flatnonzero(clean.correct)[:broken], np.flatnonzero(~clean.correct)[:repaired]
    predicted[right] = 1 - clean.targets[right]
    predicted[wrong] = clean.targets[wrong]
    return classified(predicted, clean.targets, 2)


def test_false_alarms_of_a_bound_on_accuracy_over_test_sets_are_binomial():
    clean = counted(955, 1000)
    trials = other_test_sets(parse_gate("accuracy >= 0.95"), [(clean, clean)], resamples=4000)
    chance = float(accuracy_pass_chance(0.955, 1000, least_count(0.95, 1000)))
    assert reference.binomtest(int(trials.passed.sum()), 4000, chance).pvalue > 1e-6
    assert not trials.trivial
    assert reference.kstest((trials.values * 1000 - 955) / np.sqrt(1000 * 0.955 * 0.045), "norm").statistic < 0.06


def test_false_alarms_of_a_drop_over_test_sets_are_those_of_the_exact_sum():
    clean = counted(900, 1000)
    variant = changed(clean, 12, 10)
    trials = other_test_sets(parse_gate("drop <= 0.5pt"), [(clean, variant)], resamples=4000)
    chance = float(drop_pass_chance(0.012, 0.010, 1000, most_count(0.005, 1000)))
    assert reference.binomtest(int(trials.passed.sum()), 4000, chance).pvalue > 1e-6


def test_a_resample_says_what_the_drawn_inputs_say():
    clean, tested = random_answers(0), random_answers(1)
    tested = classified(tested.predicted, clean.targets, 4, tested.probabilities)
    gate = parse_gate("drop(f1(macro)) <= 60pt")
    trials = other_test_sets(gate, [(clean, tested)], resamples=5, seed=3)
    from mutiny.core.random import generator_for

    rng = generator_for(3, "test sets for a gate")
    for value in trials.values:
        drawn = rng.integers(0, 200, 200)
        before, after = (classified(each.predicted[drawn], clean.targets[drawn], 4) for each in (clean, tested))
        assert gate.value(before, after) == pytest.approx(value)


def test_resamples_depend_on_the_seed_only():
    pairs = [(counted(90, 100), counted(90, 100))]
    gate = parse_gate("accuracy >= 0.9")
    first, again, other = (other_test_sets(gate, pairs, 50, seed).values.tolist() for seed in (0, 0, 1))
    assert first == again != other


def test_a_drop_from_a_network_to_itself_is_trivial():
    clean = counted(90, 100)
    assert other_test_sets(parse_gate("drop <= 0pt"), [(clean, clean)], 20).trivial
    assert other_test_sets(parse_gate("drop <= 0pt"), [(clean, clean)], 20).passed.all()
    assert not other_test_sets(parse_gate("drop <= 0pt and accuracy > .9"), [(clean, clean)], 20).trivial
    assert not other_test_sets(parse_gate("drop <= 0pt"), [(clean, counted(90, 100))], 20).trivial


def test_each_original_is_compared_with_each_other_one_if_the_gate_looks_at_both():
    originals = [counted(right, 100) for right in (90, 92, 95)]
    paired = retrained_originals(parse_gate("drop <= 2pt"), originals)
    assert sorted(paired.values.round(4)) == [-0.05, -0.03, -0.02, 0.02, 0.03, 0.05]
    assert (paired.passed.sum(), paired.independent) == (4, 1)
    alone = retrained_originals(parse_gate("accuracy >= 92%"), originals)
    assert alone.values.tolist() == [0.9, 0.92, 0.95]
    assert (alone.passed.tolist(), alone.independent) == ([False, True, True], 3)


def test_one_original_has_no_other_to_be_compared_with():
    trials = retrained_originals(parse_gate("drop <= 2pt"), [counted(90, 100)])
    alarms = alarms_of(trials, trials.passed)
    assert (alarms.trials, alarms.rate, alarms.interval.low, alarms.interval.high) == (0, None, 0, 1)


def test_variants_are_compared_with_their_own_network():
    clean = counted(90, 100)
    trials = harmless_variants(parse_gate("drop <= 1pt"), [(clean, counted(right, 100)) for right in (90, 89, 88)])
    alarms = alarms_of(trials, trials.passed)
    exact = clopper_pearson(1, 3)
    assert (alarms.alarms, alarms.rate) == (1, 1 / 3)
    assert (alarms.interval.low, alarms.interval.high) == pytest.approx((exact.low, exact.high))


def test_the_interval_of_dependent_trials_is_that_of_fewer_independent_ones():
    originals = [counted(right, 1000) for right in np.random.default_rng(0).binomial(1000, 0.95, 10)]
    trials = retrained_originals(parse_gate("drop <= 1pt"), originals)
    alarms = alarms_of(trials, trials.passed)
    assert (alarms.trials, alarms.independent) == (90, 5)
    naive = clopper_pearson(alarms.alarms, 90)
    assert alarms.interval.low < naive.low
    assert alarms.interval.high > naive.high


def test_the_interval_over_pairs_of_originals_covers_the_rate_of_new_pairs():
    # True rate for accuracies that are normal with sd 1: P(difference > 1.5), the difference with sd sqrt(2).
    rng, truth, covered = np.random.default_rng(2), reference.norm.sf(1.5 / np.sqrt(2)), 0
    for _ in range(300):
        means = rng.normal(size=8)
        pairs = [(i, j) for i in range(8) for j in range(8) if i != j]
        passed = np.array([means[i] - means[j] <= 1.5 for i, j in pairs])
        trials = retrained_originals(parse_gate("drop <= 0pt"), [])
        trials = type(trials)(trials.source, passed, np.zeros(len(passed)), 4)
        interval = alarms_of(trials, passed).interval
        covered += interval.low <= truth <= interval.high
    assert covered >= 285
