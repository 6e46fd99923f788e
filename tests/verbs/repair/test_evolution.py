"""Differential evolution: it climbs, keeps bounds, never gets worse, and stops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import differential_evolution, rosen

from mutiny.core.errors import BadInput
from mutiny.verbs.repair.evolution import Evolution, evolve


def run(objective, d=3, seed=0, bound=2.0, **more):
    rng = np.random.default_rng(seed)
    plan = Evolution(**{"population": 40, "generations": 200, **more})
    start = rng.uniform(-bound, bound, (plan.population, d))
    return start, evolve(objective, start, np.full(d, -bound), np.full(d, bound), plan, rng)


def test_a_valley_is_found_as_by_scipy():
    _, found = run(lambda x: -rosen(x.T), generations=600)
    theirs = differential_evolution(rosen, [(-2, 2)] * 3, seed=0, tol=1e-12)
    assert found.best == pytest.approx(theirs.x, abs=0.05)
    assert found.best == pytest.approx([1, 1, 1], abs=0.05)


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_it_never_gets_worse_and_stays_in_bounds(seed):
    seen = []

    def objective(x):
        seen.append(x)
        return np.sin(3 * x).sum(axis=1) - 0.1 * np.abs(x).sum(axis=1)

    start, found = run(objective, seed=seed, generations=30)
    assert list(found.history) == sorted(found.history)
    assert found.score >= objective(start).max()
    assert all((np.abs(x) <= 2).all() for x in seen)
    assert objective(found.best[None])[0] == found.score


def test_whole_populations_are_judged_at_once():
    sizes = []
    run(lambda x: sizes.append(len(x)) or -np.abs(x).sum(axis=1), generations=15)
    assert set(sizes) == {40}
    assert len(sizes) == 16


def test_it_stops_when_nothing_gains():
    _, found = run(lambda x: np.zeros(len(x)))
    assert found.generations == max(10, 200 // 10)


def test_what_is_no_number_is_worst():
    _, found = run(lambda x: np.where(x[:, 0] > 0, np.nan, x[:, 0]), generations=60)
    assert found.score == pytest.approx(0, abs=0.1)
    assert found.best[0] <= 0


def test_one_seed_one_answer():
    first, second = (run(lambda x: -(x**2).sum(1), seed=4)[1] for _ in range(2))
    assert np.array_equal(first.best, second.best)


@pytest.mark.parametrize(
    "wrong", [{"population": 3}, {"population": 4.5}, {"generations": -1}, {"crossover": 2}, {"weight": (0.0, 1.0)}]
)
def test_what_is_no_plan(wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        Evolution(**wrong)
