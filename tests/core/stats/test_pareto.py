"""Pareto fronts against a comparison of all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mutiny.core.errors import BadInput
from mutiny.core.stats import pareto_front

points = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), max_size=25)


@given(points)
@settings(max_examples=300, deadline=None)
def test_the_front_is_what_nobody_dominates(rows):
    a, b = np.array([x for x, _ in rows], float), np.array([y for _, y in rows], float)
    slow = [
        i
        for i in range(len(rows))
        if not any(a[j] >= a[i] and b[j] >= b[i] and (a[j] > a[i] or b[j] > b[i]) for j in range(len(rows)))
    ]
    assert pareto_front(a, b).tolist() == slow


def test_infinities_are_numbers():
    assert pareto_front([np.inf, 1, -np.inf], [0, 1, 2]).tolist() == [0, 1, 2]
    assert pareto_front([np.inf, np.inf, 0], [1, 1, 1]).tolist() == [0, 1]


@pytest.mark.parametrize("given_pair", [([1, 2], [1]), ([[1]], [[1]]), ([np.nan], [1.0])])
def test_what_has_no_front(given_pair):
    with pytest.raises(BadInput):
        pareto_front(*given_pair)
