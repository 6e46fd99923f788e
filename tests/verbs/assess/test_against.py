"""Two test sets on the same faults: the noise of the faults cancels, and a weaker set shows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import mutiny
from mutiny.core.errors import BadInput
from mutiny.verbs.assess.against import compare_test_sets, why_incomparable
from verbs.assess.found import fault, points, rate_spelled_out, separator, subject

EDGES = (0.5, 1, 2, 4, 8)
ARGUMENTS = {"operators": "GF,WI", "seeds": 1, "batch_size": 512}


@pytest.fixture(scope="module")
def large():
    return mutiny.assess(subject(originals=8), **ARGUMENTS)


@pytest.fixture(scope="module")
def small():
    x, y = points(300, seed=1)
    return mutiny.assess(subject(originals=8, test=(x[:60], y[:60])), **ARGUMENTS)


def test_both_sides_are_the_rates_of_the_whole_assessments(large, small):
    comparison = compare_test_sets(large.faults, small)
    assert comparison.faults == large.notice.faults == small.notice.faults
    assert comparison.before == pytest.approx(large.notice.rate)
    assert comparison.after == pytest.approx(small.notice.rate)
    assert comparison.difference == pytest.approx(small.notice.rate - large.notice.rate)


def test_removed_inputs_lower_the_rate_and_added_ones_raise_it(large, small):
    worse, better = compare_test_sets(large.faults, small), compare_test_sets(small.faults, large)
    assert worse.difference < -0.1
    assert worse.interval.high < 0
    assert "on the same" in worse.sentence
    assert ": worse." in worse.sentence
    assert ": better." in better.sentence
    assert (worse.gained, worse.lost) == (better.lost, better.gained)
    assert worse.lost > worse.gained
    assert better.interval.low == pytest.approx(-worse.interval.high)


def test_a_test_set_against_itself_has_no_clear_change(large):
    comparison = compare_test_sets(large.faults, large)
    assert (comparison.difference, comparison.gained, comparison.lost) == (0, 0, 0)
    assert comparison.interval.low < 0 < comparison.interval.high
    assert comparison.interval.high < 0.1
    assert "no clear change" in comparison.sentence


def test_the_order_of_faults_and_a_file_in_between_do_not_matter(large, small):
    read = mutiny.Assessment.from_json(large.to_json())
    assert compare_test_sets(read.faults[::-1], small) == compare_test_sets(large.faults, small)


def records(rows):
    return tuple(
        fault(cost, noticed=noticed, original=original, seed=seed).record for cost, noticed, original, seed in rows
    )


def compared(large, before, after):
    rows = [(cost, original, seed) for cost in (0.7, 1.5, 3.0, 6.0) for original in range(4) for seed in range(3)]
    old, new = (
        records([(cost, bool(hits(cost, original, seed)), original, seed) for cost, original, seed in rows])
        for hits in (before, after)
    )
    return compare_test_sets(old, replace(large, faults=new)), old, new


def test_counts_rates_and_interval_are_those_of_a_loop(large):
    comparison, old, new = compared(
        large, lambda cost, original, seed: cost > 2, lambda cost, original, seed: cost > 5 or original == seed
    )
    costs = [record.cost for record in old]
    before, after = (rate_spelled_out(costs, [record.noticed for record in some], EDGES) for some in (old, new))
    assert (comparison.before, comparison.after) == pytest.approx((before, after))
    pairs = [(a.noticed, b.noticed) for a, b in zip(old, new, strict=True)]
    assert comparison.gained == pairs.count((False, True))
    assert comparison.lost == pairs.count((True, False))
    differences = []
    for left_out in range(4):
        kept = [place for place, record in enumerate(old) if record.original != left_out]
        sides = [
            rate_spelled_out([costs[k] for k in kept], [some[k].noticed for k in kept], EDGES) for some in (old, new)
        ]
        differences.append(sides[1] - sides[0])
    half = stats.t.ppf(0.975, 3) * np.sqrt(3 / 4 * np.sum((np.array(differences) - np.mean(differences)) ** 2))
    center = comparison.difference
    assert comparison.interval.low <= center - half + 1e-12
    assert comparison.interval.high >= center + half - 1e-12


def test_originals_that_agree_by_chance_leave_room_for_doubt(large):
    """Each original gains one fault of twelve: the jackknife alone would be sure of it."""
    comparison, *_ = compared(large, lambda *_: False, lambda cost, original, seed: cost < 1 and seed == 0)
    assert comparison.gained == 4
    assert comparison.interval.low < comparison.difference < comparison.interval.high


def test_several_faults_of_one_random_choice_are_told_apart_by_their_cost(large):
    """Operators without a strength draw several faults for each seed."""
    old = [fault(cost, noticed=cost == 3.0, strength=None, parameter=None).record for cost in (1.5, 3.0, 3.0)]
    new = [fault(cost, noticed=cost == 1.5, strength=None, parameter=None).record for cost in (3.0, 1.5, 3.0)]
    comparison = compare_test_sets(old, replace(large, faults=tuple(new)))
    assert (comparison.faults, comparison.gained, comparison.lost) == (3, 1, 2)
    assert comparison.interval is None
    assert "no clear change" in comparison.sentence


def test_faults_of_another_cost_are_other_faults(large):
    old = [fault(cost, original=0).record for cost in (1.5, 3.0)]
    new = [fault(1.51, original=0).record, fault(5.0, original=0).record]
    assert compare_test_sets(old, replace(large, faults=tuple(new))).faults == 1


def test_assessments_without_a_common_fault_are_refused(large):
    other = mutiny.assess(subject(originals=8), "GF", seed=1, seeds=1, batch_size=512)
    with pytest.raises(
        BadInput, match=r"against=an assessment without a common fault: .*same subject, seed and operators"
    ):
        compare_test_sets(other.faults, large)
    with pytest.raises(BadInput, match="against"):
        compare_test_sets([], large)


def test_faults_of_other_networks_that_look_the_same_by_chance_are_not_compared(large):
    """The first strengths of a search are the same for all networks, and so may be some costs."""
    other = mutiny.assess(subject(models=[separator(seed) for seed in range(20, 28)]), **ARGUMENTS)
    with pytest.raises(
        BadInput, match=r"against=an assessment with(out a common fault| only \d+ of \d+ faults in common)"
    ):
        compare_test_sets(other.faults, large)
    rows = [fault(1.0 + 0.1 * number, strength=0.05 * number).record for number in range(10)]
    later = replace(large, faults=tuple(rows))
    with pytest.raises(BadInput, match="only 4 of 10 faults in common"):
        compare_test_sets(rows[:4], later)
    assert compare_test_sets(rows[:5], later).faults == 5


def test_operators_and_originals_of_one_side_only_do_not_matter(large):
    fewer = [fault for fault in large.faults if fault.operator == "GF"]
    comparison = compare_test_sets(fewer, large)
    assert comparison.faults == large.notice.operators["GF"].faults
    assert comparison.before == comparison.after == pytest.approx(large.notice.operators["GF"].rate)
    first = [fault for fault in large.faults if fault.original < 2]
    assert compare_test_sets(first, large).faults == sum(0.5 <= fault.cost < 8 for fault in first)


def test_what_differs_besides_the_test_set_is_named(large, small):
    assert why_incomparable(large, small) == ""
    inputs = mutiny.assess(subject(originals=8, reference=700), **ARGUMENTS)
    told = "its costs were measured on other inputs: 600 validation inputs there, 700 validation inputs here"
    assert why_incomparable(large, inputs) == told
    same_size = mutiny.assess(subject(originals=8, validation=points(600, seed=5)), **ARGUMENTS)
    assert why_incomparable(large, same_size) == "its costs were measured on other inputs"
    assert why_incomparable(small, same_size).endswith("on other inputs, or it is of other networks")
    networks = mutiny.assess(subject(models=[separator(seed) for seed in range(20, 28)]), **ARGUMENTS)
    fewer = mutiny.assess(subject(originals=2), **ARGUMENTS)
    assert why_incomparable(large, networks) == why_incomparable(large, fewer) == "it is of other networks"
    alone = mutiny.assess(subject(originals=2, validation=None), "GF", seeds=1, batch_size=512)
    assert why_incomparable(alone, large) == "it has no notice rate"


def test_an_assessment_without_a_rate_cannot_be_compared(large):
    alone = mutiny.assess(subject(originals=2, validation=None), "GF", seeds=1, batch_size=512)
    with pytest.raises(BadInput, match=r"against=.*: expected a notice rate .* This assessment has none"):
        compare_test_sets(large.faults, alone)
