"""Verdicts of a comparison against statsmodels, tests by hand, and the enumeration of all tables."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.weightstats import ttost_paired

from mutiny.core.errors import BadInput
from mutiny.core.stats.comparison import ComparisonVerdict, check_alpha, compare_answers, compare_scores
from mutiny.core.stats.comparison_power import inputs_to_compare, inputs_to_compare_scores, verdict_chances

TABLES = [(0, 0, 10), (1, 0, 10), (0, 3, 3), (9, 2, 60), (2, 9, 60), (10, 0, 10), (4, 4, 8), (190, 70, 10_000)]
VERDICTS = [*ComparisonVerdict]


@pytest.mark.parametrize(("broken", "repaired", "n"), TABLES)
def test_the_p_values_are_those_of_statsmodels(broken, repaired, n):
    found = compare_answers(broken, repaired, n, 0.01)
    two_sided = mcnemar([[0, broken], [repaired, 0]], exact=True).pvalue
    assert min(1, 2 * min(found.p_worse, found.p_better)) == pytest.approx(two_sided)
    tail = stats.binomtest(broken, broken + repaired, 0.5, "greater").pvalue if broken + repaired else 1
    assert found.p_worse == pytest.approx(tail)


def score_test(wins, losses, n, difference):
    """Tango's statistic, with the likelihood maximized by search over the rate of losses."""

    def unlikely(loss):
        win, same = loss + difference, 1 - 2 * loss - difference
        terms = [(wins, win), (losses, loss), (n - wins - losses, same)]
        return -sum(count * math.log(max(rate, 1e-300)) for count, rate in terms if count)

    low, high = max(0.0, -difference), (1 - difference) / 2
    rates = np.linspace(low, high, 2001)
    start = min(rates, key=unlikely)
    step = (high - low) / 2000
    bounds = max(low, start - step), min(high, start + step)
    loss = optimize.minimize_scalar(unlikely, bounds=bounds, method="bounded", options={"xatol": 1e-13}).x
    return (wins - losses - n * difference) / math.sqrt(max(1e-300, n * (2 * loss + difference * (1 - difference))))


@pytest.mark.parametrize(("broken", "repaired", "n"), [(2, 1, 80), (0, 0, 60), (5, 9, 200), (3, 3, 40), (12, 2, 150)])
@pytest.mark.parametrize("margin", [0.02, 0.05, 0.12])
def test_equivalence_is_that_of_two_one_sided_tests_by_hand(broken, repaired, n, margin):
    level = stats.norm.isf(0.05)
    below = score_test(repaired, broken, n, -margin) > level  # not a loss of the margin
    above = score_test(repaired, broken, n, margin) < -level
    found = compare_answers(broken, repaired, n, margin)
    if found.interval.low > -margin:
        assert below
    if found.interval.high < margin:
        assert above
    # The interval is widened to the exact one where answers differ, which the score test alone is not.
    share = stats.binomtest(repaired, broken + repaired).proportion_ci(0.9) if broken + repaired else None
    exact = [(2 * end - 1) * (broken + repaired) / n for end in share] if share else [0, 0]
    assert (found.interval.low > -margin) == (below and exact[0] > -margin)
    assert (found.interval.high < margin) == (above and exact[1] < margin)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 500), st.sampled_from([0.01, 0.05, 0.2]))
def test_verdict_and_interval_agree_and_swapping_both_swaps_them(broken, repaired, more, alpha):
    n = max(1, broken + repaired + more)
    found, other = compare_answers(broken, repaired, n, 0.02, alpha), compare_answers(repaired, broken, n, 0.02, alpha)
    assert (found.p_worse < alpha) == (found.interval.high < 0)
    assert (found.p_better < alpha) == (found.interval.low > 0)
    assert found.interval.low <= found.value <= found.interval.high
    assert (found.p_worse, found.p_better) == (other.p_better, other.p_worse)
    assert found.interval.low == pytest.approx(-other.interval.high, abs=1e-9)
    if found.verdict is ComparisonVerdict.WORSE:
        assert found.interval.high < 0
        assert found.interval.low <= -0.02


def test_a_significant_loss_below_the_margin_is_tolerated():
    found = compare_answers(40, 15, 10_000, 0.005)
    assert found.p_worse < 0.05
    assert found.verdict is ComparisonVerdict.EQUIVALENT


@settings(deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=6, max_size=30), st.floats(0.1, 4))
def test_scores_are_equivalent_if_statsmodels_says_so(gains, margin):
    values = np.array(gains)
    if values.std() < 1e-3:
        return
    found = compare_scores(values, margin)
    p_value = ttost_paired(values, np.zeros(len(values)), -margin, margin)[0]
    inside = -margin < found.interval.low and found.interval.high < margin
    if abs(p_value - 0.05) > 1e-9:
        assert inside == (p_value < 0.05)
    one_sided = stats.ttest_1samp(values, 0, alternative="less").pvalue
    assert found.p_worse == pytest.approx(max(one_sided, 0.5 ** len(values)))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_few_equal_differences_prove_nothing(n):
    found = compare_scores([-1.0] * n, 0.1)
    assert found.verdict is ComparisonVerdict.CANNOT_TELL
    assert found.interval.high == 0
    assert compare_scores([-1.0] * 5, 0.1).verdict is ComparisonVerdict.WORSE
    assert compare_scores([0.0] * 5, 0.1).verdict is ComparisonVerdict.EQUIVALENT


@pytest.mark.parametrize(
    ("n", "broken", "repaired", "margin"), [(40, 0.1, 0.03, 0.05), (25, 0.2, 0.2, 0.15), (9, 0.4, 0.6, 0.3)]
)
def test_the_chance_of_each_verdict_is_that_of_all_tables(n, broken, repaired, margin):
    chances = dict.fromkeys(VERDICTS, 0.0)
    for worse, better in itertools.product(range(n + 1), repeat=2):
        if worse + better <= n:
            law = stats.multinomial.pmf(
                [worse, better, n - worse - better], n, [broken, repaired, 1 - broken - repaired]
            )
            chances[compare_answers(worse, better, n, margin).verdict] += float(law)
    found = verdict_chances(n, broken, repaired, margin)
    assert [found[verdict] for verdict in VERDICTS] == pytest.approx(
        [chances[verdict] for verdict in VERDICTS], abs=1e-9
    )


def test_the_planned_number_of_inputs_tells_four_times_in_five():
    needed = inputs_to_compare(20, 20, 1000, 0.01)
    assert not needed.observed
    for lost in (0.0, 0.01):
        chances = verdict_chances(needed.inputs, (0.04 + lost) / 2, (0.04 - lost) / 2, 0.01)
        undecided = chances[ComparisonVerdict.CANNOT_TELL]
        right = chances[ComparisonVerdict.WORSE] if lost else 1 - undecided - chances[ComparisonVerdict.WORSE]
        assert 0.8 <= right < 0.9


def test_with_enough_inputs_the_plan_is_for_the_loss_that_was_seen():
    needed = inputs_to_compare(192, 168, 10_000, 0.005)
    assert compare_answers(192, 168, 10_000, 0.005).verdict is ComparisonVerdict.CANNOT_TELL
    assert needed.observed
    assert needed.inputs > 10_000
    chances = verdict_chances(needed.inputs, 0.0192, 0.0168, 0.005)
    assert chances[ComparisonVerdict.CANNOT_TELL] <= 0.2


def test_no_plan_takes_forever():
    assert inputs_to_compare(5, 5, 20, 1e-6).inputs is None
    assert inputs_to_compare(0, 0, 10, 0.005).inputs > 1000
    assert inputs_to_compare_scores(1.0, 0.0, 10, 1e-9).inputs is None


def test_the_plan_for_scores_has_the_power_of_the_noncentral_t():
    needed = inputs_to_compare_scores(1.0, 0.0, 10, 0.3).inputs
    power = stats.nct.sf(stats.t.isf(0.05, needed - 1), needed - 1, 0.3 * math.sqrt(needed))
    assert 0.79 < power < 0.83


@pytest.mark.parametrize("alpha", [0, 0.5, 1, -1, "x", True, math.nan])
def test_a_level_without_an_interval_is_refused(alpha):
    with pytest.raises(BadInput, match=r"a probability above 0 and below 0\.5"):
        check_alpha(alpha)
