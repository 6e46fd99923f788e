"""The planned number of inputs notices a cost four times in five: measured, with faults whose behavior is known."""

import math

import numpy as np
import pytest
from scipy import stats

import mutiny
from mutiny.core.stats.notice import mcnemar_worse, mean_worse
from mutiny.verbs.assess.cost_unit import unit_of
from mutiny.verbs.assess.set_sizes import planned_sizes
from verbs.assess.found import changing, fault

ACCURACY, LOSS = unit_of(mutiny.Classification(3)), unit_of(mutiny.Regression(tolerance=0.1))
INPUTS = 4000


def classifier_faults(rng, repairs, seen=1.0, count=120, inputs=INPUTS, variation=0.0):
    """Faults that cost 1/2 to 8 points; on the test set they change ``seen`` times as many answers as elsewhere.

    With a variation, this factor differs from fault to fault and has that standard deviation, relative to its mean.
    """
    for number in range(count):
        cost = math.exp(rng.uniform(math.log(0.5), math.log(8)))
        factor = rng.gamma(variation**-2, variation**2) if variation else 1.0
        broken = min(0.4, factor * seen * cost / 100 / (1 - repairs))
        counts = rng.multinomial(inputs, [broken, broken * repairs, 1 - broken * (1 + repairs)])
        change = np.repeat([1.0, -1.0], counts[:2])
        positions = rng.choice(inputs, len(change), replace=False)
        yield changing(cost, positions, change, original=number % 10, seed=number)


def plan_of(faults, unit=ACCURACY, inputs=INPUTS, alpha=0.05):
    units = [each.record.original for each in faults]
    return {size.cost: size for size in planned_sizes(faults, units, inputs, unit, alpha)}


@pytest.mark.parametrize(("repairs", "seen"), [(0.1, 1.0), (0.23, 1.0), (0.1, 0.4), (0.4, 1.5)])
def test_the_planned_number_of_inputs_has_the_promised_power(repairs, seen):
    rng = np.random.default_rng(int(100 * repairs + 10 * seen))
    plan = plan_of([*classifier_faults(rng, repairs, seen)])
    assert set(plan) == {2.0, 1.0, 0.5}
    for cost, size in plan.items():
        broken = seen * cost / 100 / (1 - repairs)
        counts = rng.multinomial(size.inputs, [broken, broken * repairs, 1 - broken * (1 + repairs)], 4000)
        power = (mcnemar_worse(counts[:, 0], counts[:, 1]) < 0.05).mean()
        assert 0.7 < power < 0.9  # the changed answers of 120 faults tell the rates to within some percent
        assert size.low <= size.inputs <= size.high


@pytest.mark.parametrize("variation", [0.3, 0.6])
def test_faults_that_differ_are_noticed_as_often_as_promised_on_average(variation):
    rng = np.random.default_rng(int(10 * variation))
    plan = plan_of([*classifier_faults(rng, 0.1, count=400, inputs=20_000, variation=variation)], inputs=20_000)
    for cost, size in plan.items():
        broken = cost / 100 / 0.9 * rng.gamma(variation**-2, variation**2, 4000)
        drawn = np.array([rng.multinomial(size.inputs, [one, one / 10, 1 - 1.1 * one]) for one in broken])
        assert 0.74 < (mcnemar_worse(drawn[:, 0], drawn[:, 1]) < 0.05).mean() < 0.86


def test_plans_are_those_of_the_literature_for_faults_that_repair_little():
    """2 points 415 to 540 inputs, 1 point 830 to 1,070, 0.5 points 1,670 to 2,160, with 10 to 23% repairs."""
    faults = [fault(cost, round(cost * 1000 / 0.9), round(cost * 100 / 0.9)) for cost in np.tile([0.5, 1, 2, 4], 5)]
    plan = plan_of(faults, inputs=100_000)
    assert [plan[cost].inputs for cost in (2.0, 1.0, 0.5)] == pytest.approx([415, 830, 1670], rel=0.02)


def test_easy_test_inputs_need_more_of_them():
    rng = np.random.default_rng(1)
    hard, easy = (plan_of([*classifier_faults(rng, 0.1, seen)]) for seen in (1.0, 0.25))
    for cost in hard:
        assert 3 < easy[cost].inputs / hard[cost].inputs < 5.5


def test_smaller_costs_need_more_inputs_and_a_stricter_test_too():
    faults = [*classifier_faults(np.random.default_rng(2), 0.15)]
    plan, strict = plan_of(faults), plan_of(faults, alpha=0.01)
    assert plan[2.0].inputs < plan[1.0].inputs < plan[0.5].inputs
    assert all(strict[cost].inputs > plan[cost].inputs for cost in plan)


def test_the_interval_covers_the_number_that_many_faults_tell():
    """Of ten originals each, which differ in how many of their answers change."""
    rng = np.random.default_rng(4)
    truth = plan_of([*classifier_faults(rng, 0.15, count=1000)])[1.0].inputs
    covered = []
    for _ in range(25):
        faults = [*classifier_faults(rng, 0.15, count=60)]
        size = plan_of(faults)[1.0]
        covered.append(size.low <= truth <= size.high)
    assert np.mean(covered) >= 0.8


def loss_faults(rng, spread, seen=1.0, count=80, inputs=INPUTS):
    """Faults that raise a loss of 1 by 5 to 80 percent, and that of each input by another amount."""
    for number in range(count):
        cost = math.exp(rng.uniform(math.log(5), math.log(80)))
        change = cost / 100 * rng.normal(seen, spread, inputs)
        yield changing(cost, np.arange(inputs), change, original=number % 8, seed=number, tolerated=0.01)


@pytest.mark.parametrize(("spread", "seen"), [(0.5, 1.0), (3.0, 1.0), (3.0, 0.7), (6.0, 1.0)])
def test_the_planned_number_of_inputs_has_the_promised_power_for_a_loss(spread, seen):
    rng = np.random.default_rng(int(10 * spread + seen))
    plan = plan_of([*loss_faults(rng, spread, seen)], LOSS)
    assert set(plan) == {20.0, 10.0, 5.0}
    for cost, size in plan.items():
        drawn = cost / 100 * rng.normal(seen, spread, (400, size.inputs))
        power = np.mean([mean_worse(change, 0.01) < 0.05 for change in drawn])
        assert 0.7 < power < 0.9
        assert size.low <= size.inputs <= size.high
        effect = (seen * cost - 1) / (cost * spread)  # 1% of growth is tolerated
        assert size.inputs == pytest.approx(planned_by_scipy(effect), rel=0.2, abs=1)


def planned_by_scipy(effect):
    """Fewest inputs with a power of 80%, by the noncentral t distribution."""
    size = 2
    while stats.nct.sf(stats.t.ppf(0.95, size - 1), size - 1, effect * math.sqrt(size)) < 0.8:
        size += 1
    return size


def test_a_cost_that_grows_the_loss_of_the_tests_by_less_than_tolerated_has_no_plan():
    """On these easy tests a loss grows by a tenth of what it grows elsewhere: 20% become 2%, and 5% a half."""
    plan = plan_of([*loss_faults(np.random.default_rng(0), 0.3, seen=0.1)], LOSS)
    assert plan[20.0].inputs > 10
    assert plan[5.0].inputs is None


def test_losses_that_all_grow_alike_are_noticed_by_the_fewest_inputs_or_never():
    faults = [changing(cost, range(99), [cost / 300] * 99, tolerated=0.03) for cost in np.tile([5.0, 10.0, 20.0], 8)]
    assert [size.inputs for size in plan_of(faults, LOSS, 99).values()] == [2, 2, None]


def test_plans_that_nobody_can_carry_out_are_none():
    """5% of cost exceed what is tolerated by nearly nothing."""
    growths = [0.05, -0.05] * 49
    faults = [changing(5.0, range(98), np.add(growths, 0.01), tolerated=0.01 - 1e-8) for _ in range(12)]
    assert plan_of(faults, LOSS, 98)[5.0].inputs is None


def test_sampled_answers_count_as_many_as_they_stand_for():
    plain = [fault(1.5, 20, 4, original=number % 3) for number in range(12)]
    sampled = [
        changing(1.5, range(6), [1, 1, 1, 1, -1, -1], weight=[5, 5, 5, 5, 2, 2], original=number % 3)
        for number in range(12)
    ]
    assert plan_of(plain) == plan_of(sampled)


def test_nothing_is_planned_without_faults_or_by_faults_that_cost_the_tests_nothing():
    assert [size.inputs for size in plan_of([]).values()] == [None] * 3
    harmless = [fault(0.1, 3, 1) for _ in range(20)]
    assert [size.inputs for size in plan_of(harmless).values()] == [None] * 3
    unseen = [fault(1.5, 3, 3) for _ in range(20)]
    assert [size.inputs for size in plan_of(unseen).values()] == [None] * 3
    assert [size.low for size in plan_of(unseen).values()] == [None] * 3


def test_one_unit_has_no_interval():
    size = plan_of([fault(1.5, 20, 4) for _ in range(12)])[1.0]
    assert size.inputs > 100
    assert (size.low, size.high) == (None, None)


@pytest.mark.parametrize(("few", "broken"), [(2, 90), (20, 1)])
def test_few_faults_or_answers_near_a_cost_are_helped_by_all_others(few, broken):
    """What they say about half a point is another rate than that of 30 faults at 6 points."""
    near = [fault(0.5, broken, 0, original=number % 5) for number in range(few)]
    many = [fault(6.0, 900, 0, original=number % 5) for number in range(30)]
    alone, helped = plan_of(many)[0.5].inputs, plan_of([*near, *many])[0.5].inputs
    assert helped == pytest.approx(alone, rel=0.1)


def test_many_faults_near_a_cost_speak_for_themselves():
    """Cheap faults hide from these tests more than dear ones do."""
    near = [fault(0.5, 10, 0, original=number % 5) for number in range(20)]
    many = [fault(6.0, 900, 0, original=number % 5) for number in range(30)]
    alone, beside = plan_of(near)[0.5].inputs, plan_of([*near, *many])[0.5].inputs
    assert beside == alone > 3 * plan_of(many)[0.5].inputs


def test_an_interval_that_tells_nothing_is_wide():
    """Two originals that disagree: Student's t with one degree of freedom reaches beyond any number."""
    faults = [fault(1.5, 20 if number % 2 else 200, 4, original=number % 2) for number in range(40)]
    size = plan_of(faults)[1.0]
    assert size.inputs > 10
    assert size.low < size.inputs / 100
    assert size.high > 100 * size.inputs


def test_losses_that_are_not_numbers_leave_a_finite_plan():
    faults = [changing(30.0, range(9), [0.5, np.nan, np.inf, *[0.2, 0.1] * 3], original=n % 4) for n in range(12)]
    assert all(size.inputs is None or size.inputs > 0 for size in plan_of(faults, LOSS).values())
