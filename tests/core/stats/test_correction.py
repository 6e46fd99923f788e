"""Holm's correction: against statsmodels; laws."""

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from mutiny.core.errors import BadInput
from mutiny.core.stats import holm

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(np.array)


@pytest.fixture(scope="module", autouse=True)
def _no_garbage_collection():
    """`multipletests` collects garbage in each call, which takes a tenth of a second in a long session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "collect", lambda *_: 0)
        yield


@settings(deadline=None)
@given(p_values)
def test_holm_is_that_of_statsmodels(p):
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-12)


@settings(deadline=None)
@given(p_values, st.randoms())
def test_laws_of_holm(p, random):
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= np.minimum(1, p * p.size) * (1 + 1e-12)).all()  # never weaker than Bonferroni
    order = list(range(p.size))
    random.shuffle(order)
    np.testing.assert_array_equal(holm(p[order]), adjusted[order])
    ranking = np.argsort(p, kind="stable")
    assert (np.diff(adjusted[ranking]) >= 0).all()


def test_nothing_to_correct():
    assert holm([]).shape == (0,)
    np.testing.assert_array_equal(holm([0.04]), [0.04])


@pytest.mark.parametrize("bad", [[np.nan], [-0.1], [1.1], [[0.5]]])
def test_holm_refuses(bad):
    with pytest.raises(BadInput):
        holm(bad)
