"""Spectral distances: the matrix definition, laws of a metric, and which mutants are compared."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import logm

from mutiny.core.errors import BadInput

sys.path.append(str(Path(__file__).parents[2]))

from studies.deepcrime.spectral_distance import log_euclidean, mean_spectra, within_and_between


def drawn(seed, inputs=4, bins=6):
    """Spectra with empty bins."""
    counts = np.random.default_rng(seed).poisson(1.5, (inputs, bins)) + np.eye(inputs, bins)
    return counts / counts.sum(axis=1, keepdims=True)


@st.composite
def spectra(draw, how_many):
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 8)))
    counts = [draw(arrays(np.int64, shape, elements=st.integers(0, 50))) for _ in range(how_many)]
    filled = [one + (one.sum(axis=1, keepdims=True) == 0) for one in counts]
    return [one / one.sum(axis=1, keepdims=True) for one in filled]


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 0.1])
def test_the_distance_of_diagonal_matrices(epsilon):
    a, b = drawn(0), drawn(1)
    assert (a == 0).any()
    expected = [
        np.linalg.norm(logm(np.diag(p + epsilon)) - logm(np.diag(q + epsilon)), "fro")
        for p, q in zip(a, b, strict=True)
    ]
    assert log_euclidean(a, b, epsilon) == pytest.approx(expected)


@given(spectra(3), st.floats(1e-9, 1))
@settings(max_examples=100, deadline=None)
def test_it_is_a_metric(three, epsilon):
    a, b, c = three
    there = log_euclidean(a, b, epsilon)
    assert (there >= 0).all()
    assert there == pytest.approx(log_euclidean(b, a, epsilon))
    assert (log_euclidean(a, a, epsilon) == 0).all()
    assert ((there > 0) == (np.abs(np.log(a + epsilon) - np.log(b + epsilon)) > 0).any(axis=1)).all()
    assert (log_euclidean(a, c, epsilon) <= there + log_euclidean(b, c, epsilon) + 1e-9).all()


@given(spectra(2), st.floats(1e-6, 1), st.randoms())
@settings(max_examples=50, deadline=None)
def test_the_order_of_bins_and_dividing_by_the_sum_do_not_matter(two, epsilon, random):
    a, b = two
    order = random.sample(range(a.shape[1]), a.shape[1])
    whole = 1 + epsilon * a.shape[1]
    known = log_euclidean(a, b, epsilon)
    assert log_euclidean(a[:, order], b[:, order], epsilon) == pytest.approx(known)
    smoothed = np.log((a + epsilon) / whole) - np.log((b + epsilon) / whole)
    assert np.linalg.norm(smoothed, axis=1) == pytest.approx(known)


def test_the_mean_over_instances():
    each = [drawn(seed) for seed in range(5)]
    assert mean_spectra(iter(each)) == pytest.approx(np.mean(each, axis=0))
    alone = mean_spectra(each[:1])
    assert (alone == each[0]).all()
    assert alone is not each[0]


def groups():
    names = {"WI": "abc", "NI": "ab", "DC": ["LCH=mae", "LCH=mse", "ACH=tanh", "ACH=elu", "TRD=9"]}
    return {
        group: {name: drawn(10 * at + place) for place, name in enumerate(mutants)}
        for at, (group, mutants) in enumerate(names.items())
    }


OPERATORS = {"DC": {name: name[:3] for name in ("LCH=mae", "LCH=mse", "ACH=tanh", "ACH=elu", "TRD=9")}}


def test_which_mutants_are_compared():
    given = groups()
    rows = within_and_between(given, OPERATORS, [("WI", "DC"), ("NI", "DC")])
    within = {(row.pair, row.mutant_a, row.mutant_b) for row in rows if row.group_a == row.group_b}
    assert within == {
        ("WI-WI", "a", "b"),
        ("WI-WI", "a", "c"),
        ("WI-WI", "b", "c"),
        ("NI-NI", "a", "b"),
        ("DC-DC", "LCH=mae", "LCH=mse"),
        ("DC-DC", "ACH=tanh", "ACH=elu"),
    }
    counts = Counter(row.pair for row in rows)
    assert counts == {"WI-WI": 3, "NI-NI": 1, "DC-DC": 2, "WI-DC": 15, "NI-DC": 10}
    for row in rows:
        a, b = given[row.group_a][row.mutant_a], given[row.group_b][row.mutant_b]
        assert row.distance == pytest.approx(log_euclidean(a, b).mean())


def test_without_operators_and_pairs_everything_is_compared():
    counts = Counter(row.pair for row in within_and_between(groups()))
    assert counts == {"WI-WI": 3, "NI-NI": 1, "DC-DC": 10, "WI-NI": 6, "WI-DC": 15, "NI-DC": 10}
    assert within_and_between({}) == ()
    assert within_and_between({"WI": {"a": drawn(0)}}) == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: log_euclidean([0.5, 0.5], [0.5, 0.5]), r"a=an array of shape \(2,\): expected spectra"),
        (lambda: log_euclidean(np.empty((0, 3)), np.empty((0, 3))), "at least one"),
        (lambda: log_euclidean(drawn(0), drawn(0, bins=5)), r"b=an array of shape \(4, 5\): .* \(4, 6\)"),
        (lambda: log_euclidean(drawn(0), -drawn(1)), "b=numbers that are negative"),
        (lambda: log_euclidean(drawn(0) * np.nan, drawn(1)), "a=numbers that are negative, infinite or NaN"),
        (lambda: log_euclidean(drawn(0), drawn(1), 0.0), "epsilon=0.0: expected a number above 0"),
        (lambda: within_and_between(groups(), epsilon=-1), "epsilon=-1"),
        (lambda: within_and_between(groups(), between=[("WI", "XX")]), "group='XX': expected one of WI, NI, DC"),
        (lambda: within_and_between(groups(), {"XX": {}}), "group='XX'"),
        (lambda: within_and_between(groups(), {"WI": {"a": "WI"}}), "operators of WI=none for 'b'"),
        (lambda: within_and_between({"WI": {"a": drawn(0)}, "NI": {"b": drawn(0, 3)}}), "spectra of NI b=an array"),
        (lambda: mean_spectra([]), "at least one instance"),
        (lambda: mean_spectra([drawn(0), drawn(0, 3)]), "the same inputs and the same bins"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(BadInput, match=message):
        call()
