"""Whitening and Mahalanobis distances: against scipy, scikit-learn's pseudo-inverse, and the laws of linear maps."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg
from scipy.spatial.distance import mahalanobis as scipys
from scipy.stats import ortho_group, special_ortho_group
from sklearn.covariance import EmpiricalCovariance

import mutiny.verbs.select.surprise.rows as rows_module
from mutiny.verbs.select.surprise.mdsa import mahalanobis
from mutiny.verbs.select.surprise.rows import Rows, variances
from mutiny.verbs.select.surprise.whitening import whitening
from mutiny.verbs.select.traces import Traces

seeds = st.integers(0, 2**32 - 1)


def cloud(n, d, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.uniform(-1, 1, (d, d)) + offset


def distances(train, points, shrink=0.0):
    return mahalanobis(Rows(points), whitening(Rows(train), shrink=shrink))


@pytest.mark.parametrize(("n", "d"), [(30, 1), (50, 4), (200, 20), (12, 10)])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_distances_are_scipys(n, d, offset):
    train, points = cloud(n, d, 1, offset), cloud(9, d, 2, offset)
    inverse = np.linalg.inv(np.cov(train.T, bias=True).reshape(d, d))
    expected = [scipys(point, train.mean(axis=0), inverse) for point in points]
    assert distances(train, points) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kind", ["constant", "collinear", "few", "as many as columns", "one more"])
def test_where_the_covariance_is_singular_distances_are_those_of_the_pseudo_inverse(kind):
    train, points = cloud(40, 6), cloud(7, 6, 5)
    if kind == "constant":
        train[:, 2] = 3.7
    elif kind == "collinear":
        train[:, 1] = 2 * train[:, 0] - train[:, 5]
    else:
        train = train[: {"few": 4, "as many as columns": 6, "one more": 7}[kind]]
    reference = EmpiricalCovariance().fit(train)
    reference.precision_ = linalg.pinvh(reference.covariance_, rtol=1e-9)
    white = whitening(Rows(train))
    assert white.directions == {"constant": 5, "collinear": 5, "few": 3, "as many as columns": 5}.get(kind, 6)
    assert mahalanobis(Rows(points), white) ** 2 == pytest.approx(reference.mahalanobis(points), rel=1e-6)


@pytest.mark.parametrize("train", [np.ones((5, 3)), np.full((2, 4), 0.1), np.zeros((9, 2)), np.ones((4, 1))])
def test_points_that_are_all_equal_have_no_direction(train):
    white = whitening(Rows(train))
    assert white.directions == 0
    assert mahalanobis(Rows(train + 1), white).tolist() == [0.0] * len(train)


@given(seeds, st.integers(2, 60), st.integers(1, 12), st.sampled_from([0, 1]))
@settings(max_examples=40, deadline=None)
def test_a_whitened_cloud_has_mean_zero_and_covariance_one(seed, n, d, ddof):
    train = cloud(n, d, seed)
    white = whitening(Rows(train), ddof)
    moved = white(train)
    assert np.abs(moved.mean(axis=0)).max(initial=0.0) < 1e-6
    assert moved.T @ moved / (n - ddof) == pytest.approx(np.eye(white.directions), abs=1e-5)


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_the_log_volume_is_half_the_log_determinant(seed):
    train = cloud(40, 5, seed)
    assert whitening(Rows(train)).log_volume == pytest.approx(
        np.linalg.slogdet(np.cov(train.T, bias=True))[1] / 2, rel=1e-6, abs=1e-6
    )


@given(seeds, st.floats(-3, 3))
@settings(max_examples=25, deadline=None)
def test_distances_are_invariant_to_invertible_maps_and_shifts(seed, shift):
    rng = np.random.default_rng(seed)
    train, points = cloud(60, 5, seed), cloud(9, 5, seed + 1)
    turn, back = (ortho_group.rvs(5, random_state=rng) for _ in range(2))
    matrix = turn * rng.uniform(0.3, 3, 5) @ back
    assert distances(train @ matrix + shift, points @ matrix + shift) == pytest.approx(
        distances(train, points), rel=1e-6
    )


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_distances_of_few_points_are_invariant_to_rotations(seed):
    train, points = cloud(6, 9, seed), cloud(5, 9, seed + 1)
    turn = special_ortho_group.rvs(9, random_state=np.random.default_rng(seed))
    assert distances(train @ turn, points @ turn) == pytest.approx(distances(train, points), rel=1e-5)


@given(seeds, st.floats(0, 5), st.floats(0.1, 5))
@settings(max_examples=25, deadline=None)
def test_farther_along_a_ray_from_the_mean_is_more_distant_and_in_proportion(seed, near, more):
    train, ray = cloud(60, 5, seed), cloud(1, 5, seed + 1)
    mean = train.mean(axis=0)
    first, second = distances(train, np.concatenate([mean + near * ray, mean + (near + more) * ray]))
    assert first < second
    assert first * (near + more) == pytest.approx(second * near, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("n", [5, 50])
def test_shrinking_mixes_the_covariance_with_a_sphere(n):
    train, points = cloud(n, 8), cloud(6, 8, 3)
    covariance = np.cov(train.T, bias=True)
    mixed = 0.9 * covariance + 0.1 * np.trace(covariance) / 8 * np.eye(8)
    expected = [scipys(point, train.mean(axis=0), np.linalg.inv(mixed)) for point in points]
    assert distances(train, points, shrink=0.1) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("step", [1, 7, 64])
def test_blocks_do_not_matter(monkeypatch, step):
    train, points = cloud(100, 6, offset=50.0), cloud(20, 6, 1, 50.0)
    whole, spread = distances(train, points), variances(Rows(train))
    monkeypatch.setattr(rows_module, "BLOCK_ROWS", step)
    assert distances(train, points) == pytest.approx(whole, rel=1e-9)
    assert variances(Rows(train)) == pytest.approx(spread, rel=1e-9)
    assert spread == pytest.approx(train.var(axis=0), rel=1e-9)


@pytest.mark.parametrize("in_memory", [0, 10**6])
def test_rows_of_traces_are_those_asked_for(in_memory):
    matrix = torch.arange(60.0).reshape(12, 5)
    traces = Traces(12, 5, in_memory)
    traces.add(matrix[:7])
    traces.add(matrix[7:])
    rows = Rows(traces, np.array([9, 2, 4, 11]), np.array([1, 3]))
    expected = matrix.numpy()[[9, 2, 4, 11]][:, [1, 3]]
    assert rows.shape == (4, 2)
    assert rows.held().dtype == np.float64
    assert np.array_equal(rows.held(), expected)
    assert np.array_equal(np.concatenate([*rows.blocks(3)]), expected)
    assert np.array_equal(rows.take(np.array([3, 0])).held(), expected[[3, 0]])
    assert np.array_equal(rows.only(np.array([0])).held(), matrix.numpy()[[9, 2, 4, 11]][:, [0]])
    assert np.array_equal(Rows(traces).held(), matrix.numpy())
    assert np.array_equal(rows.kept().held(), expected)
    drawn = Rows(traces).sample(6, np.random.default_rng(0)).held()[:, 0]
    assert len(set(drawn)) == 6
    assert (np.diff(drawn) > 0).all()
