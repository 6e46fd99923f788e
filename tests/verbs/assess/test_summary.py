"""From faults to the notice rate: against loops spelled out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mutiny
from mutiny.core.stats.notice import notice_interval
from mutiny.faults import GaussianFuzzing, WeightInhibitor
from mutiny.verbs.assess.cost_unit import unit_of
from mutiny.verbs.assess.notice import ReferenceRecord
from mutiny.verbs.assess.summary import notice_of
from verbs.assess.found import changing, fault, rate_spelled_out

UNIT, LOSS = unit_of(mutiny.Classification(3)), unit_of(mutiny.Regression(tolerance=0.1))
OPERATORS = {"WI": WeightInhibitor(), "GF": GaussianFuzzing()}
REFERENCE = ReferenceRecord("validation", 500, 0.9)
FAULT = st.tuples(
    st.floats(0.01, 12),  # cost
    st.booleans(),  # noticed
    st.sampled_from(["WI", "GF"]),
    st.integers(0, 3),  # original
    st.integers(0, 2),  # seed
    st.one_of(st.none(), st.integers(0, 12)),  # class
)


def summarized(faults, harmless=(), reasons=None, failed=None, reference=REFERENCE, unit=UNIT, inputs=100):
    by_label = {label: [each for each in faults if each.record.operator == label] for label in OPERATORS}
    return notice_of(by_label, reasons or {}, failed or {}, harmless, OPERATORS, reference, unit, 0.05, inputs, 0)


def made(drawn):
    return [
        fault(cost, 6, 1, noticed=noticed, operator=operator, original=original, seed=seed, hits=hits)
        for cost, noticed, operator, original, seed, hits in drawn
    ]


def expected_rate(drawn):
    return rate_spelled_out([one[0] for one in drawn], [one[1] for one in drawn], UNIT.edges)


@settings(deadline=None, max_examples=20)
@given(st.lists(FAULT, max_size=25))
def test_rates_overall_by_operator_and_by_class_are_those_of_a_loop(drawn):
    notice = summarized(made(drawn))
    assert notice.rate == pytest.approx(expected_rate(drawn))
    inside = [one for one in drawn if 0.5 <= one[0] < 8]
    assert (notice.faults, notice.noticed) == (len(inside), sum(one[1] for one in inside))
    for label, rate in notice.operators.items():
        mine = [one for one in drawn if one[2] == label]
        assert rate.rate == pytest.approx(expected_rate(mine))
        assert rate.harmless == sum(one[0] < 0.5 for one in mine)
        assert rate.drastic == sum(one[0] >= 8 for one in mine)
        assert rate.missed_drastic == sum(one[0] >= 8 and not one[1] for one in mine)
        assert rate.title == OPERATORS[label].title
    hit = sorted({one[5] for one in drawn if one[5] is not None})
    assert [*notice.classes] == [str(number) for number in hit]
    for number in hit:
        mine = [one for one in drawn if one[5] == number]
        assert notice.classes[str(number)].rate == pytest.approx(expected_rate(mine))


@settings(deadline=None, max_examples=20)
@given(st.lists(FAULT, max_size=25))
def test_intervals_are_over_originals_or_over_random_choices_of_one_original(drawn):
    notice = summarized(made(drawn))
    several = len({one[3] for one in drawn}) > 1
    assert notice.resampled == ("originals" if several else "random choices")
    costs, noticed = [one[0] for one in drawn], [one[1] for one in drawn]
    expected = notice_interval(costs, noticed, [one[3] if several else one[4] for one in drawn])
    assert notice.interval == expected
    if expected is None:
        assert notice.interval_other_inputs is None
    else:
        assert notice.interval_other_inputs.low <= expected.low
        assert notice.interval_other_inputs.high >= expected.high


def test_other_inputs_widen_the_interval_where_verdicts_hang_on_few_answers():
    """Five broken answers of a hundred are just enough; thirty are enough in any resample."""
    close, clear = (
        summarized(
            [fault(1.5, broken, original=number % 4, seed=number, noticed=number % 3 > 0) for number in range(24)]
        )
        for broken in (5, 30)
    )
    assert close.interval == clear.interval

    def width(interval):
        return interval.high - interval.low

    assert width(clear.interval_other_inputs) == pytest.approx(width(clear.interval), rel=1e-6)
    assert width(close.interval_other_inputs) > 1.2 * width(close.interval)


def test_a_loss_has_an_interval_for_other_inputs_as_well():
    rng = np.random.default_rng(0)
    faults = [
        changing(12.0 + number, range(100), rng.normal(0.25, 1, 100), original=number % 4, noticed=number % 3 > 0)
        for number in range(24)
    ]
    notice = summarized(faults, unit=LOSS)
    first, second = notice.interval, notice.interval_other_inputs
    assert second.low < first.low < notice.rate < first.high < second.high


def test_what_is_tolerated_decides_the_interval_for_other_inputs_of_a_loss():
    """All losses grow by about 1: far more than 0.1, far less than 10, and sometimes more than 0.9."""
    rng = np.random.default_rng(0)
    changes = rng.normal(1, 0.5, (24, 100))
    intervals = []
    for tolerated in (0.1, 0.9, 10.0):
        faults = [
            changing(12.0 + n, range(100), row, original=n % 4, noticed=n % 3 > 0, tolerated=tolerated)
            for n, row in enumerate(changes)
        ]
        notice = summarized(faults, unit=LOSS)
        intervals.append((notice.interval, notice.interval_other_inputs))
    first, *widths = (each.high - each.low for each in (intervals[0][0], *(other for _, other in intervals)))
    assert [widths[0], widths[2]] == pytest.approx([first, first], rel=1e-6)
    assert widths[1] > 1.02 * first


def test_without_a_reference_set_there_is_a_plan_but_no_rate():
    faults = [fault(1.5, 8, 2, original=number % 3, noticed=True, hits=1) for number in range(12)]
    notice = summarized(faults, reference=ReferenceRecord("none", 100, 0.9))
    assert (notice.rate, notice.interval, notice.interval_other_inputs, notice.bins) == (None, None, None, ())
    assert {(rate.rate, rate.interval) for rate in notice.operators.values()} == {(None, None)}
    assert notice.classes == {}
    assert all(size.inputs for size in notice.plan)


def test_false_alarms_are_harmless_changes_that_are_noticed():
    harmless = [fault(0.01, 1, 1, noticed=number == 3) for number in range(20)]
    alarms = summarized([], harmless).false_alarms
    assert (alarms.changes, alarms.noticed, alarms.rate) == (20, 1, 0.05)
    assert summarized([]).false_alarms is None


def test_operators_without_faults_say_why():
    notice = summarized([fault(1.5, 8)], reasons={"GF": "nothing to change"})
    assert (notice.operators["GF"].reason, notice.operators["GF"].failed) == ("nothing to change", False)
    assert notice.operators["GF"].rate is None
    failed = summarized([fault(1.5, 8)], reasons={"GF": "nothing"}, failed={"GF": "ran out of memory"})
    assert (failed.operators["GF"].reason, failed.operators["GF"].failed) == ("ran out of memory", True)
    assert not failed.operators["WI"].failed


def test_no_fault_at_all():
    notice = summarized([])
    assert (notice.rate, notice.interval, notice.interval_other_inputs) == (None, None, None)
    assert [each.faults for each in notice.bins] == [0, 0, 0, 0]
    assert [size.inputs for size in notice.plan] == [None, None, None]
