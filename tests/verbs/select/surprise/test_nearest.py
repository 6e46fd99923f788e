"""Nearest neighbors: against loops in exact differences, above all where fast products go wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mutiny.verbs.select.surprise.nearest as nearest_module
import mutiny.verbs.select.surprise.rows as rows_module
from mutiny.verbs.select.surprise.nearest import nearest
from mutiny.verbs.select.surprise.rows import Rows


def check(queries, references):
    distances, places = nearest(Rows(queries), Rows(references))
    for query, distance, place in zip(queries, distances, places, strict=True):
        exact = ((references - query) ** 2).sum(axis=1)
        assert distance == pytest.approx(np.sqrt(exact.min()), rel=1e-12)
        assert exact[place] == pytest.approx(exact.min(), rel=1e-12)
        assert place == np.flatnonzero(np.isclose(exact, exact.min(), rtol=1e-12, atol=0))[0]


whole = arrays(np.int64, st.tuples(st.integers(1, 12), st.just(3)), elements=st.integers(-3, 3))


@given(whole, whole, st.sampled_from([1.0, 2.0**-10, 2.0**66, 2.0**100, 2.0**-83]), st.sampled_from([0.0, 1.0, 4096.0]))
@settings(max_examples=80, deadline=None)
def test_the_nearest_is_found_and_of_equals_the_first(queries, references, scale, offset):
    """Small whole numbers are full of ties; powers of two keep them."""
    offset = offset if scale == 1.0 else 0.0
    check(queries * scale + offset, references * scale + offset)


@pytest.mark.parametrize("spread", [1.0, 1e-2, 1e-5])
def test_cancellation_does_not_matter(spread):
    """Far from the center and close together: single precision alone cannot tell the references apart."""
    rng = np.random.default_rng(0)
    sides = np.repeat([[-1000.0], [1000.0]], 150, axis=0)
    references = (sides + spread * rng.standard_normal((300, 20))).astype(np.float32).astype(np.float64)
    queries = (references[rng.permutation(300)[:100]] + spread / 3 * rng.standard_normal((100, 20))).astype(np.float32)
    check(queries.astype(np.float64), references)


def test_a_point_that_is_there_is_at_distance_zero_exactly():
    references = np.random.default_rng(0).standard_normal((200, 30)).astype(np.float32).astype(np.float64)
    distances, places = nearest(Rows(references), Rows(references))
    assert (distances == 0).all()
    assert np.array_equal(places, np.arange(200))


@pytest.mark.parametrize("which", ["queries", "references"])
def test_lengths_beyond_single_precision(which):
    rng = np.random.default_rng(0)
    queries, references = rng.standard_normal((20, 4)), rng.standard_normal((30, 4))
    for values in (queries, references) if which == "queries" else (references, queries):
        values[-1] = 3e37
        check(queries, references)


@pytest.mark.parametrize("step", [1, 5, 64])
def test_blocks_do_not_matter(monkeypatch, step):
    rng = np.random.default_rng(0)
    queries, references = rng.integers(0, 3, (40, 4)).astype(float), rng.integers(0, 3, (60, 4)).astype(float)
    whole = nearest(Rows(queries), Rows(references))
    monkeypatch.setattr(rows_module, "BLOCK_ROWS", step)
    for name in ("QUERY_ROWS", "TILE_ROWS", "PAIR_NUMBERS"):
        monkeypatch.setattr(nearest_module, name, step)
    again = nearest(Rows(queries), Rows(references))
    assert np.array_equal(whole[0], again[0])
    assert np.array_equal(whole[1], again[1])


@given(whole, whole, whole, st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_the_nearest_within_a_distance_is_the_nearer_of_two(queries, references, others, block):
    """Two sets of references, one after the other, against both at once."""
    queries, references, others = (points.astype(float) for points in (queries, references, others))
    first, _ = nearest(Rows(queries), Rows(references))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_module, "QUERY_ROWS", block)
        found, _ = nearest(Rows(queries), Rows(others), within=first)
    both, _ = nearest(Rows(queries), Rows(np.concatenate([references, others])))
    assert found == pytest.approx(both, rel=1e-15)


def test_no_queries_have_no_neighbors():
    distances, places = nearest(Rows(np.empty((0, 2))), Rows(np.ones((3, 2))))
    assert distances.shape == places.shape == (0,)
