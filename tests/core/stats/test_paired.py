"""The interval of a paired difference: published values, laws, and how often it holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from mutiny.core.stats import paired_difference
from mutiny.core.stats.intervals import _tango_end

Z = 1.959963984540054


@pytest.mark.parametrize(("wins", "losses", "n"), [(0, 5, 44), (12, 2, 14), (9, 3, 54), (3, 3, 9)])
def test_tango(wins, losses, n):
    """Compared with score tests on a grid, which is fine only around the two ends."""

    def kept(differences):
        return [d for d in differences if abs(score(wins, losses, n, d)) <= Z]

    coarse = kept(np.linspace(-1, 1, 201)[1:-1])
    fine = [np.linspace(max(-1, end - 0.01), min(1, end + 0.01), 203)[1:-1] for end in (min(coarse), max(coarse))]
    assert _tango_end(wins, losses, n, Z) == pytest.approx(min(kept(fine[0])), abs=2e-4)
    assert -_tango_end(losses, wins, n, Z) == pytest.approx(max(kept(fine[1])), abs=2e-4)


def score(wins, losses, n, difference):
    """The likelihood is maximized under the difference by trying many rates."""
    rare = np.linspace(max(0, -difference), min(1, (1 - difference) / 2 + 1e-12), 4001)
    other = rare + difference
    rest = 1 - rare - other
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [
            np.where(k > 0, k * np.log(p), 0.0) for k, p in ((wins, other), (losses, rare), (n - wins - losses, rest))
        ]
    best = rare[np.nanargmax(sum(terms))]
    return (wins - losses - n * difference) / np.sqrt(max(1e-12, n * (2 * best + difference * (1 - difference))))


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 200))
def test_laws(wins, losses, more):
    n = wins + losses + more
    found, mirrored = paired_difference(wins, losses, n), paired_difference(losses, wins, n)
    assert found.low == pytest.approx(-mirrored.high, abs=1e-9)
    assert -1 <= found.low <= found.high <= 1
    if n:
        assert found.low <= (wins - losses) / n <= found.high
    if wins + losses and found.low > 0:
        assert binomtest(wins, wins + losses).pvalue < 0.05
        assert wins > losses


CASES = [(0.1, 0.0, 150), (0.1, 0.005, 150), (0.1, 0.02, 150), (0.05, 0.01, 1000), (0.02, 0.02, 300), (0.0, 0.3, 40)]


@pytest.mark.parametrize(("win", "lose", "n"), CASES)
def test_it_holds_as_often_as_it_says(win, lose, n):
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(n, [win, lose, 1 - win - lose], 600)
    seen = {}
    held = 0
    for wins, losses, _ in drawn.tolist():
        found = seen.setdefault((wins, losses), None) or paired_difference(wins, losses, n)
        seen[wins, losses] = found
        held += found.low - 1e-12 <= win - lose <= found.high + 1e-12
    assert held / len(drawn) >= 0.93
