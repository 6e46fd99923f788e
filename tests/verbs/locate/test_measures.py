"""Measures of suspicion: cells worked by hand, algebraic laws, zeros."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mutiny.core.errors import BadInput
from mutiny.verbs.locate.measures import ALL, MEASURES, Counts, DStar, as_measure

CELL = (6, 2, 4, 18)
"""ef, ep, nf, np: F = 10, P = 20."""


def counts(*cells):
    return Counts(*(np.array(column, float) for column in zip(*cells, strict=True)))


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("tarantula", (6 / 10) / (6 / 10 + 2 / 20)),
        ("ochiai", 6 / (10 * 8) ** 0.5),
        ("dstar", 216 / 6),
        ("dstar(power=2)", 36 / 6),
        ("jaccard", 6 / 12),
        ("op2", 6 - 2 / 21),
        ("kulczynski2", (6 / 10 + 6 / 8) / 2),
        ("ample", 6 / 10 - 2 / 20),
        ("wong3", 6 - 2),
        ("zoltar", 6 / (10 + 2 + 10_000 * 4 * 2 / 6)),
        ("ochiai2", 6 * 18 / (8 * 22 * 10 * 20) ** 0.5),
        ("barinel", 1 - 2 / 8),
    ],
)
def test_a_cell_worked_by_hand(measure, expected):
    assert as_measure(measure)(counts(CELL))[0] == pytest.approx(expected)


@pytest.mark.parametrize(("ep", "less"), [(0, 0), (2, 2), (3, 2.1), (10, 2.8), (1010, 3.8)])
def test_wongs_steps(ep, less):
    assert as_measure("wong3")(counts((5, ep, 0, 2000)))[0] == pytest.approx(5 - less)


def test_every_measure_is_registered_once():
    assert len(MEASURES) == len(ALL) == len({kind.title for kind in ALL}) == 11
    assert all(str(as_measure(kind())) == kind.code for kind in ALL)


tables = st.integers(1, 12).flatmap(
    lambda failing: st.integers(1, 15).flatmap(
        lambda passing: st.lists(
            st.tuples(st.integers(0, failing), st.integers(0, passing)), min_size=2, max_size=8
        ).map(lambda rows: counts(*((f, p, failing - f, passing - p) for f, p in rows)))
    )
)


def order(scores):
    """Who is above whom, ties included."""
    return np.sign(np.round(scores[:, None] - scores[None, :], 12)).tolist()


@given(tables)
@settings(max_examples=200, deadline=None)
def test_rankings_that_are_the_same(cells):
    """Tarantula and Barinel; Jaccard and D* with power 1 (which is infinite where nothing speaks for the neuron)."""
    assert order(as_measure("tarantula")(cells)) == order(as_measure("barinel")(cells))
    star = DStar(1)(cells)
    finite = np.isfinite(star)
    jaccard = as_measure("jaccard")(cells)
    assert order(star[finite]) == order(jaccard[finite])
    assert (jaccard[~finite] == 1).all()


@pytest.mark.parametrize("kind", [kind for kind in ALL if not kind.both_ways])
@given(cells=tables)
@settings(max_examples=60, deadline=None)
def test_activity_on_failures_incriminates_and_on_passes_acquits(kind, cells):
    measure, before = kind(), kind()(cells)
    more = np.minimum(cells.ef + 1, cells.failing)
    worse = measure(Counts(more, cells.ep, cells.failing - more, cells.np))
    most = np.minimum(cells.ep + 1, cells.passing)
    better = measure(Counts(cells.ef, most, cells.nf, cells.passing - most))
    assert (worse >= before - 1e-12).all()
    assert (better <= before + 1e-12).all()


@pytest.mark.parametrize("kind", ALL)
def test_zeros_have_answers(kind):
    """Never active; no passing inputs; always active; active on exactly the failures."""
    scores = kind()(counts((0, 0, 5, 7), (3, 0, 2, 0), (5, 7, 0, 0), (5, 0, 0, 7)))
    assert not np.isnan(scores).any()
    assert scores[3] == scores.max()
    assert np.isinf(scores[3]) == (kind is DStar)
    assert scores[0] <= 0


def test_measures_by_exact_fractions():
    """Ochiai squared and Zoltar over a grid, in whole numbers."""
    cells = [(f, p, 4 - f, 6 - p) for f in range(5) for p in range(7)]
    ochiai, zoltar = as_measure("ochiai")(counts(*cells)), as_measure("zoltar")(counts(*cells))
    for (ef, ep, nf, _), o, z in zip(cells, ochiai, zoltar, strict=True):
        if ef:
            assert o**2 == pytest.approx(float(Fraction(ef * ef, 4 * (ef + ep))))
            assert z == pytest.approx(float(ef / (4 + ep + Fraction(10_000 * nf * ep, ef))))


@pytest.mark.parametrize("wanted", ["ochia", "dstar(power=0)", "dstar(strength=1)", "ochiai,jaccard", 3])
def test_what_is_no_measure(wanted):
    with pytest.raises(BadInput):
        as_measure(wanted)
