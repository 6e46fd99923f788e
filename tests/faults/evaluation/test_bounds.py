import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from mutiny.core.stats.tails import tail_bound
from mutiny.faults.evaluation.bounds import (
    BINS,
    ErrorBounds,
    bernstein,
    extrapolated,
    flip_rates,
    hidden,
    loss_moments,
    surprising,
    unseen,
)


def flips(rng, sizes, counts, rates):
    """Samples of strata without replacement: numbers of changes in the sample and in total."""
    there = rng.binomial(sizes, rates)
    return rng.hypergeometric(there, sizes - there, counts), there


def extended(sizes, counts, seen, there):
    """Error of a sum that was extrapolated from the sample, per instance."""
    weight = np.divide(sizes - counts, counts, out=np.zeros(sizes.shape), where=counts > 0)
    return (weight * seen - (there - seen)).sum(axis=1)


CASES = {
    "equal": (np.full((20, 4), 1000), np.full((20, 4), 24), np.array([0.2, 0.02, 0.001, 0.0])),
    "unequal sizes": (
        np.random.default_rng(1).integers(30, 5000, (12, 6)),
        np.full((12, 6), 30),
        np.array([0.5, 0.1, 0.03, 0.01, 1e-3, 1e-4]),
    ),
    "one loud instance": (
        np.full((10, 3), 2000),
        np.full((10, 3), 24),
        np.r_[[[0.4, 0.1, 0.02]], np.full((9, 3), [0.01, 0.001, 0.0])],
    ),
    "drawn in full": (np.full((5, 3), 60), np.full((5, 3), 60), np.array([0.3, 0.1, 0.0])),
    "nearly drawn in full": (np.full((8, 3), 100), np.full((8, 3), 90), np.array([0.3, 0.1, 0.02])),
    "most of a few": (np.full((10, 3), 30), np.full((10, 3), 24), np.array([0.5, 0.1, 0.0])),
    "one instance": (np.array([[4000, 9000]]), np.array([[100, 200]]), np.array([0.05, 0.001])),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("risk", [0.2, 0.001])
def test_errors_of_extended_sums_are_bounded_together(name, risk):
    """The whole chain: rates bounded from the sample, then Bernstein; a fifth of the time it may fail, or never."""
    sizes, counts, rates = CASES[name]
    rng, failed, times = np.random.default_rng(0), 0, 300
    for _ in range(times):
        seen, there = flips(rng, sizes, counts, np.broadcast_to(rates, sizes.shape))
        changes = [np.repeat([1.0, 0.0], [n, k - n]) for n, k in zip(seen.sum(0), counts.sum(0), strict=True)]
        moments = flip_rates(counts.sum(axis=0), changes, risk / 2)
        left = (sizes - counts).astype(float)
        bound = bernstein(left, counts.astype(float), moments, seen / counts, np.ones(sizes.shape[1]), risk / 2)
        off = extended(sizes, counts, seen, there)
        failed += (
            abs(off.sum()) > bound.mean or np.linalg.norm(off) > bound.norm or bool((np.abs(off) > bound.each).any())
        )
    assert failed <= risk * times
    if name == "drawn in full":
        assert (bound.mean, bound.norm, bound.each.max()) == (0, 0, 0)


def test_bernsteins_bound_is_not_far_above_the_truth():
    """Not more than 2.5 times the exact quantile of the same risk, for one instance and one stratum."""
    left, count, rate, risk = 4000, 400, 0.1, 0.01
    bound = bernstein(
        np.array([[float(left)]]), np.array([[float(count)]]), np.array([rate]), np.array([[rate]]), np.ones(1), risk
    )
    law = stats.binom(count, rate)
    exact = left / count * (law.isf(risk / 2) - count * rate)
    assert exact < bound.mean < 2.5 * exact


def test_strata_that_were_not_drawn_or_have_nothing_left_add_no_error():
    left, count = np.array([[100.0, 0.0]]), np.array([[10.0, 0.0]])
    both = bernstein(left, count, np.array([0.1, 1.0]), np.zeros((1, 2)), np.ones(2), 0.01)
    one = bernstein(left[:, :1], count[:, :1], np.array([0.1]), np.zeros((1, 1)), np.ones(1), 0.01)
    assert (both.mean, both.norm) == (one.mean, one.norm)
    assert np.array_equal(both.each, one.each)


def test_a_loud_instance_is_not_hidden_by_quiet_ones():
    shape = (5, 2)
    own = np.zeros(shape)
    own[3, 1] = 0.5
    quiet, loud = (
        bernstein(np.full(shape, 1000.0), np.full(shape, 20.0), np.full(2, 0.01), each, np.ones(2), 0.01)
        for each in (np.zeros(shape), own)
    )
    assert (loud.each > quiet.each).tolist() == [False, False, False, True, False]
    assert loud.norm > quiet.norm
    assert loud.mean > quiet.mean


@given(st.floats(1e-6, 0.4), st.floats(0, 1), st.integers(1, 50))
@settings(max_examples=40, deadline=None)
def test_bounds_grow_with_certainty_rates_and_what_is_left(risk, rate, count):
    def errors(risk=risk, rate=rate, left=1000.0):
        shape = (3, 2)
        return bernstein(
            np.full(shape, left), np.full(shape, float(count)), np.full(2, rate), np.zeros(shape), np.ones(2), risk
        )

    base = errors()
    for more in (errors(risk / 2), errors(rate=rate + 0.1), errors(left=1100.0)):
        assert more.mean > base.mean
        assert more.norm > base.norm
        assert (more.each > base.each).all()
    assert base.each.max() <= base.norm * np.sqrt(2 * np.log(18 / risk)) + base.mean  # no bound is absurd


def test_hidden_changes_count_wherever_they_are():
    errors = ErrorBounds(1.0, 2.0, np.array([0.5, 1.5])).plus(3)
    assert (errors.mean, errors.norm, errors.each.tolist()) == (4.0, 5.0, [3.5, 4.5])


# flip_rates, loss_moments


def test_moments_of_flips_are_bounds_of_rates_also_where_none_was_seen():
    changes = [np.zeros(100), np.array([1.0, -1.0, 0.0, 0.0]), np.zeros(0), np.array([-1.0])]
    found = flip_rates(np.array([100, 4, 0, 1]), changes, 0.04)
    assert found == pytest.approx([1 - 0.01 ** (1 / 100), stats.beta.isf(0.01, 3, 2), 1, 1])


LAWS = {
    "uniform": stats.uniform(-1, 2),
    "normal": stats.norm(0, 1),
    "lognormal": stats.lognorm(1.0),
    "rare": stats.rv_discrete(values=([0, 50], [0.999, 0.001])),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("count", [240, 1000])
def test_moments_of_losses_hold_as_often_as_stated(name, count):
    """Given a largest change that is not too small: that of 20 times as many draws."""
    law, rng, times = LAWS[name], np.random.default_rng(0), 2000
    truth = law.var() + law.mean() ** 2
    draws = law.rvs(size=(times, count), random_state=rng)
    peak = np.abs(law.rvs(size=20 * count, random_state=rng)).max()
    low = sum(loss_moments([some, some[:1]], np.full(2, peak), 0.001)[0] < truth for some in draws)
    assert low <= 0.001 * times


def test_moments_of_losses_without_enough_draws_are_those_of_the_largest_change():
    assert loss_moments([np.zeros(0), np.ones(1)], np.full(2, 3.0), 0.01).tolist() == [9.0, 9.0]
    assert 0 < loss_moments([np.zeros(10_000)], np.full(1, 3.0), 0.01)[0] < 0.1  # something rare may be there


# hidden


@given(st.floats(0, 20), st.sampled_from([0.05, 1e-3, 1e-5]))
@settings(max_examples=50, deadline=None)
def test_hidden_is_the_quantile_of_a_poisson_law(expected, risk):
    most = hidden(expected, risk)
    assert stats.poisson.sf(most, expected) <= risk
    if most > 1:
        assert stats.poisson.sf(most - 1, expected) > risk
    assert (most == 0) == (expected <= risk)


@given(st.lists(st.floats(0, 0.3), max_size=40), st.sampled_from([0.05, 1e-3, 1e-5]))
@example([0.05078125], 0.05)
@settings(max_examples=50, deadline=None)
def test_hidden_bounds_any_set_of_rare_events(chances, risk):
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    assert law[hidden(sum(chances), risk) + 1 :].sum() <= risk * (1 + 1e-9)


# extrapolated


@given(st.integers(1, 3 * BINS), st.floats(0, 30), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_an_extrapolation_is_no_less_than_that_of_each_input_alone(n, low, seed):
    rng = np.random.default_rng(seed)
    n = n if n <= BINS else n // BINS * BINS  # otherwise parts of an input count with its neighbors
    moves, sureness = rng.exponential(size=400), low + rng.exponential(9, size=n)
    alone = tail_bound(moves, sureness, 1e-3).sum()
    found = extrapolated(moves, sureness, 1e-3)
    assert found >= alone * (1 - 1e-9)
    if n <= BINS:
        assert found == pytest.approx(alone)


@pytest.mark.parametrize(
    "law", [stats.expon(), stats.halfnorm(scale=1.5), stats.uniform(0, 4)], ids=["exp", "half", "flat"]
)
def test_extrapolations_bound_the_expected_number_of_changed_answers(law):
    rng, low = np.random.default_rng(0), 0
    for _ in range(100):
        sureness = rng.uniform(3, 9, 2000)
        low += extrapolated(law.rvs(480, random_state=rng), sureness, 1e-3) < law.sf(sureness).sum()
    assert low == 0


def test_nothing_left_hides_nothing_and_nothing_drawn_hides_all():
    assert extrapolated(np.ones(5), np.zeros(0), 1e-3) == 0
    assert extrapolated(np.zeros(0), np.full(40, 9.0), 1e-3) == 40


# unseen


@given(st.integers(10, 400), st.integers(50, 4000), st.sampled_from([0.05, 1e-3, 1e-5]))
@settings(max_examples=50, deadline=None)
def test_unseen_changes_are_bounded_where_few_were_drawn(count, times, risk):
    """One more than the bound allows would have shown itself, but for the stated risk and a tenth of it."""
    left = times * count
    most = unseen(np.array([float(left)]), np.array([float(count)]), risk)
    if most < left:
        assert stats.hypergeom.pmf(0, left + count, int(most) + 1, count) <= 1.2 * risk


@pytest.mark.parametrize(("left", "count"), [(100, 100), (300, 100), (1000, 400)])
def test_unseen_changes_are_bounded_where_many_were_drawn(left, count):
    """Half of 200 were drawn: 7 changed ones are all in the other half once in 140, not once in 1,000."""
    most = unseen(np.array([float(left)]), np.array([float(count)]), 1e-3)
    assert stats.hypergeom.pmf(0, left + count, int(most) + 1, count) <= 1e-3


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(1, 500)), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_unseen_changes_may_all_be_where_the_fewest_were_drawn(cells):
    left, count = np.array(cells, float).T
    alone = [unseen(left[[i]], count[[i]], 1e-3) for i in range(len(cells))]
    assert unseen(left, count, 1e-3) == pytest.approx(max(alone))
    assert unseen(left, count, 1e-4) >= unseen(left, count, 1e-3)
    assert unseen(np.zeros(3), np.zeros(3), 1e-3) == 0


# surprising


def test_a_changed_answer_among_calm_ones_is_a_surprise():
    moves = np.abs(np.random.default_rng(0).normal(size=500))
    changed = np.zeros(500, bool)
    assert not surprising(moves, changed, 28.0)
    changed[7], moves[7] = True, 40.0
    assert surprising(moves, changed, 28.0)
    assert not surprising(moves, changed, 3.0)  # so near, that happens
    far = np.linspace(5, 27, 30)
    assert not surprising(np.r_[moves, far], np.r_[changed, np.zeros(30, bool)], 28.0)  # others went far as well
