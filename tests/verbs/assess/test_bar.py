"""A bar for the notice rate is passed, missed or undecided: the interval decides, not the rate."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutiny.core.errors import BadInput
from mutiny.core.stats import Interval
from mutiny.verbs.assess.bar import BarOutcome, check_bar, compare_with_bar
from mutiny.verbs.assess.notice import Notice, ReferenceRecord


def notice(low, rate, high, **more):
    return Notice(rate, Interval(low, high, 0.95, ""), (), **more)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_the_three_outcomes(first, second, third, bar):
    low, rate, high = sorted((first, second, third))
    compared = compare_with_bar(notice(low, rate, high), bar)
    expected = "passed" if low >= bar else "missed" if high < bar else "undecided"
    assert compared.outcome == expected
    assert compared.fails(strict=False) == (expected == "missed")
    assert compared.fails(strict=True) == (expected != "passed")
    assert compared.bar == bar


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_higher_bar_is_never_easier(first, second):
    lower, higher = sorted((first, second))
    order = [BarOutcome.PASSED, BarOutcome.UNDECIDED, BarOutcome.MISSED]
    easy, hard = (compare_with_bar(notice(0.4, 0.6, 0.7), bar).outcome for bar in (lower, higher))
    assert order.index(easy) <= order.index(hard)


def test_sentences_say_the_bar_the_rate_and_what_would_decide():
    passed, missed, undecided = (compare_with_bar(notice(0.58, 0.79, 0.91), bar).sentence for bar in (0.5, 0.95, 0.8))
    assert passed == "the notice rate is at least 50%: 79%, 95% interval 58% to 91%"
    assert missed == "the notice rate is below 95%: 79%, 95% interval 58% to 91%"
    assert undecided.startswith("cannot tell whether the notice rate is at least 80%: 79%, 95% interval 58% to 91%; ")
    assert undecided.endswith("more originals narrow the interval")
    single = compare_with_bar(notice(0.58, 0.79, 0.91, resampled="random choices"), 0.8).sentence
    assert single.endswith("more seeds narrow the interval")


SMALL = ReferenceRecord("validation", 269, 0.98)  # 5 to 20 points too low
ALONE = {"reference": ReferenceRecord("unlabeled", 2000, 0.9), "resampled": "random choices"}  # 7 to 15


def test_a_biased_rate_misses_only_a_bar_that_the_bias_cannot_explain():
    own = notice(0.47, 0.53, 0.58, **ALONE)
    bars = {bar: compare_with_bar(own, bar) for bar in (0.4, 0.5, 0.6, 0.72, 0.74)}
    outcomes = [compared.outcome for compared in bars.values()]
    assert outcomes == ["passed", "undecided", "undecided", "undecided", "missed"]
    assert bars[0.6].sentence == (
        "cannot tell whether the notice rate is at least 60%: 53%, 95% interval 47% to 58%, but it may be up to 15 "
        "points too low, by how costs were measured; give 2,000 validation inputs"
    )
    assert bars[0.5].sentence.endswith("; more seeds narrow the interval")
    assert not bars[0.6].fails(strict=False)
    assert bars[0.6].fails(strict=True)


def test_no_bias_makes_a_rate_higher_than_one():
    compared = compare_with_bar(notice(0.9, 0.96, 0.98, reference=SMALL), 0.99)
    assert compared.outcome is BarOutcome.UNDECIDED
    assert "may be up to 4 points too low" in compared.sentence


@pytest.mark.parametrize("bar", [0.3, 0.55, 0.9])
def test_costs_on_memorized_inputs_decide_nothing(bar):
    compared = compare_with_bar(notice(0.47, 0.53, 0.58, reference=ReferenceRecord("train", 3000, 0.99, 12.0)), bar)
    assert compared.outcome is BarOutcome.UNDECIDED
    assert compared.sentence.endswith("so it may be too low or too high; give validation=(inputs, targets)")


def test_without_an_interval_or_a_rate_nothing_is_decided():
    for some in (Notice(0.9, None, ()), Notice(None, None, ())):
        compared = compare_with_bar(some, 0.5)
        assert compared.outcome is BarOutcome.UNDECIDED
        assert (compared.fails(strict=False), compared.fails(strict=True)) == (False, True)
    assert "without an interval" in compare_with_bar(Notice(0.9, None, ()), 0.5).sentence
    assert "no notice rate" in compare_with_bar(Notice(None, None, ()), 0.5).sentence


@pytest.mark.parametrize("bar", [-0.1, 1.5, 80, math.nan])
def test_a_bar_that_is_no_share_is_refused(bar):
    with pytest.raises(BadInput, match=r"at_least=.*: expected a share between 0 and 1"):
        check_bar(bar)


@pytest.mark.parametrize("bar", ["0.8", True, [0.5], None])
def test_a_bar_that_is_no_number_is_refused(bar):
    with pytest.raises(BadInput, match="at_least"):
        check_bar(bar)


def test_bars_that_are_fine():
    for bar in (0, 0.0, 0.5, 1):
        check_bar(bar)
