"""Stability: against scipy and a loop; laws; what is unknown is not stable."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats as reference

from mutiny.core.errors import BadInput
from mutiny.core.stats import disagreement_rate, relative_standard_error

values = st.lists(st.integers(1, 1000).map(lambda k: k / 1000), min_size=2, max_size=20).map(np.array)
answers = arrays(np.bool_, st.tuples(st.integers(1, 6), st.integers(1, 20)))


@settings(deadline=None)
@given(values)
def test_rse_is_the_standard_error_over_the_mean(x):
    assume(np.ptp(x) > 0)
    assert relative_standard_error(x) == pytest.approx(reference.sem(x) / x.mean(), rel=1e-9)


@settings(deadline=None)
@given(values, st.sampled_from([-1.0, 1e-200, 7.0, 1e200]))
def test_rse_ignores_unit_sign_and_order(x, unit):
    expected = relative_standard_error(x)
    assert relative_standard_error(x * unit) == pytest.approx(expected, rel=1e-9)
    assert relative_standard_error(x[::-1]) == pytest.approx(expected, rel=1e-9)


def test_rse_of_what_cannot_be_known():
    for unknown in ([0.9], [math.nan], [math.nan, 1.0], [math.inf, 1.0], [-1.0, 1.0]):
        assert relative_standard_error(unknown) == math.inf
    assert relative_standard_error([0.3, 0.3, 0.1 + 0.2]) == relative_standard_error([0.0, 0.0]) == 0.0


@settings(deadline=None)
@given(answers)
def test_disagreement_is_the_loop(correct):
    mixed = [0 < sum(column) < len(column) for column in correct.T.tolist()]
    rate = disagreement_rate(correct)
    assert rate == pytest.approx(sum(mixed) / len(mixed))
    assert disagreement_rate(~correct) == rate == disagreement_rate(correct[::-1, ::-1])
    assert disagreement_rate(np.vstack([correct, ~correct[:1]])) == 1.0
    assert disagreement_rate(correct[:1]) == 0.0
    assert disagreement_rate(correct[:-1] if len(correct) > 1 else correct) <= rate  # more instances, more dissent


def test_bad_input_gets_a_sentence():
    for call in (
        lambda: relative_standard_error([]),
        lambda: relative_standard_error([[1.0]]),
        lambda: disagreement_rate(np.zeros((3, 0), dtype=bool)),
        lambda: disagreement_rate(np.zeros((0, 3), dtype=bool)),
        lambda: disagreement_rate(np.zeros(3, dtype=bool)),
        lambda: disagreement_rate(np.zeros((2, 2))),
    ):
        with pytest.raises(BadInput):
            call()
