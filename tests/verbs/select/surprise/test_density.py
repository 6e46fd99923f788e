"""Kernel densities: against scipy's, and laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gaussian_kde, ortho_group

import mutiny.verbs.select.surprise.density as density_module
import mutiny.verbs.select.surprise.rows as rows_module
from mutiny.verbs.select.surprise.density import log_density
from mutiny.verbs.select.surprise.rows import Rows

seeds = st.integers(0, 2**32 - 1)


def cloud(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.uniform(-1, 1, (d, d)) + rng.uniform(-2, 2, d)


def density(train, points):
    return log_density(Rows(train), Rows(points))


@pytest.mark.parametrize(("n", "d"), [(2, 1), (40, 1), (30, 3), (100, 20), (300, 100)])
@pytest.mark.parametrize("far", [1.0, 3.0, 100.0])
def test_densities_are_scipys(n, d, far):
    train, points = cloud(n, d, 1), cloud(15, d, 2) * far
    assert density(train, points) == pytest.approx(gaussian_kde(train.T).logpdf(points.T), rel=1e-8)


def test_densities_stay_finite_where_scipys_underflow():
    train = cloud(200, 50)
    points = train[:3] * 1e6
    assert (gaussian_kde(train.T).evaluate(points.T) == 0).all()
    assert np.isfinite(density(train, points)).all()


@given(seeds, st.integers(1, 40), st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_a_density_integrates_the_kernels_of_all_points(seed, more, d):
    """The definition, one kernel at a time."""
    train, points = cloud(d + 1 + more, d, seed), cloud(4, d, seed + 1)
    n, covariance = len(train), np.cov(train.T).reshape(d, d) * len(train) ** (-2 / (d + 4))
    inverse, volume = np.linalg.inv(covariance), np.sqrt(np.linalg.det(2 * np.pi * covariance))
    for point, found in zip(points, density(train, points), strict=True):
        kernels = [np.exp(-(point - one) @ inverse @ (point - one) / 2) / volume for one in train]
        if sum(kernels) > 1e-250:
            assert found == pytest.approx(np.log(sum(kernels) / n), rel=1e-6, abs=1e-6)


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_a_linear_map_adds_a_constant(seed):
    rng = np.random.default_rng(seed)
    train, points = cloud(50, 4, seed), cloud(9, 4, seed + 1)
    turn, back = (ortho_group.rvs(4, random_state=rng) for _ in range(2))
    scales = rng.uniform(0.3, 3, 4)
    moved = density(train @ (turn * scales @ back) + 5, points @ (turn * scales @ back) + 5)
    assert moved == pytest.approx(density(train, points) - np.log(scales).sum(), rel=1e-6, abs=1e-6)


@given(seeds, st.integers(3, 8))
@settings(max_examples=25, deadline=None)
def test_in_a_flat_cloud_the_density_is_that_within_the_plane(seed, d):
    train, points = cloud(30, 2, seed), cloud(6, 2, seed + 1)
    plane = ortho_group.rvs(d, random_state=np.random.default_rng(seed))[:2]
    assert density(train @ plane, points @ plane) == pytest.approx(density(train, points), rel=1e-5, abs=1e-5)


def test_with_fewer_points_than_columns_it_is_the_density_within_their_span():
    train, points = cloud(6, 40), cloud(5, 40, 1)
    basis = np.linalg.svd(train - train.mean(axis=0), full_matrices=False)[2][:5]
    expected = gaussian_kde((train @ basis.T).T).logpdf((points @ basis.T).T)
    assert density(train, points) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("rows", "held"), [(1, 2**25), (7, 2**25), (7, 0)])
def test_blocks_do_not_matter(monkeypatch, rows, held):
    train, points = cloud(50, 5), cloud(30, 5, 1)
    whole = density(train, points)
    monkeypatch.setattr(rows_module, "BLOCK_ROWS", rows)
    monkeypatch.setattr(density_module, "NEW_ROWS", rows)
    monkeypatch.setattr(density_module, "HELD_NUMBERS", held)
    monkeypatch.setattr(density_module, "TILE_NUMBERS", 3 * rows)
    assert density(train, points) == pytest.approx(whole, rel=1e-10)


def test_no_points_have_no_densities():
    assert density(cloud(5, 2), np.empty((0, 2))).shape == (0,)
