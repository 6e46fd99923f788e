"""Spectra against loops, p-values against all permutations, intervals against simulation."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from mutiny.verbs.locate.activity import Above, Quantile, Scaled, as_activity
from mutiny.verbs.locate.measures import ALL, Counts, as_measure
from mutiny.verbs.locate.spectrum import Hits, Spectrum
from mutiny.verbs.locate.suspects import bounds, significance, suspects

batches = st.lists(
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=n, max_size=n),
            st.lists(st.integers(0, 2), min_size=n, max_size=n),
            st.lists(st.booleans(), min_size=n, max_size=n),
        )
    ),
    min_size=1,
    max_size=4,
)


@given(batches)
@settings(max_examples=60, deadline=None)
def test_counts_are_those_of_a_triple_loop(given_batches):
    found = Spectrum.of((Hits(*map(torch.tensor, one)) for one in given_batches), ("a", "b"), (2, 3), 3)
    expected = np.zeros((3, 2, 5), int)
    for active, groups, failed in given_batches:
        for row, group, bad in zip(active, groups, failed, strict=True):
            for neuron, hit in enumerate(row):
                expected[group, int(bad), neuron] += hit
    assert np.array_equal(found.active, expected)
    everyone = found.counts()
    rows = sum(len(groups) for _, groups, _ in given_batches)
    assert (everyone.failing + everyone.passing == rows).all()
    for group in range(3):
        one, silent = found.counts(group), found.counts(group, silent=True)
        assert np.array_equal(one.ef, expected[group, 1])
        assert np.array_equal(silent.ef, one.nf)
        assert np.array_equal(silent.np, one.ep)


def spectrum(active, failed, sizes=(2, 2)):
    hits = Hits(torch.tensor(active), torch.zeros(len(failed), dtype=torch.long), torch.tensor(failed))
    return Spectrum.of([hits], tuple("abcdef"[: len(sizes)]), sizes, 1)


def test_ties_go_to_deeper_layers_then_to_lower_numbers():
    found = suspects(spectrum([[True] * 4, [False] * 4], [True, False]), as_measure("ochiai"), 4)
    assert [(one.layer, one.neuron) for one in found] == [("b", 0), ("b", 1), ("a", 0), ("a", 1)]


def test_a_suspect_knows_its_counts():
    active = [[True, False], [True, True], [False, True], [True, False], [False, False]]
    first = suspects(spectrum(active, [True, True, False, False, False], (2,)), as_measure("ochiai"), 1)[0]
    assert (first.neuron, first.ef, first.ep, first.nf, first.np) == (0, 2, 1, 0, 2)
    assert (first.on_failures, first.on_passes) == (1.0, pytest.approx(1 / 3))
    assert first.score == pytest.approx(2 / (2 * 3) ** 0.5)
    silent = suspects(spectrum(active, [True, True, False, False, False], (2,)), as_measure("ochiai"), 1, silent=True)
    assert silent[0].neuron == 1


def test_nobody_is_suspicious_without_failures():
    assert suspects(spectrum([[True] * 4], [False]), as_measure("ochiai"), 3) == ()


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("active", [[1, 1, 1, 0, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0, 0, 0], [1] * 8])
def test_p_values_are_those_of_all_permutations(kind, active):
    """The measure itself, recomputed for every way to choose which three of eight inputs fail."""
    measure, active = kind(), np.array(active, bool)

    def score(failed):
        failed = np.isin(np.arange(8), failed)
        cells = [(active & failed), (active & ~failed), (~active & failed), (~active & ~failed)]
        return measure(Counts(*(np.array([float(cell.sum())]) for cell in cells)))[0]

    own, every = score((0, 1, 2)), [score(which) for which in combinations(range(8), 3)]
    expected = np.mean([one >= own - 1e-12 for one in every])
    ef = float(active[:3].sum())
    cells = Counts(*(np.array([x]) for x in (ef, active.sum() - ef, 3 - ef, 5 - (active.sum() - ef))))
    found = significance(cells, measure.both_ways)[0]
    assert found >= expected - 1e-12 if measure.both_ways else found == pytest.approx(expected)


@given(st.integers(0, 9), st.integers(0, 20), st.integers(0, 9), st.integers(0, 20))
@settings(max_examples=80, deadline=None)
def test_p_values_are_fishers(ef, ep, nf, passed):
    found = significance(Counts(*(np.array([float(x)]) for x in (ef, ep, nf, passed))))[0]
    assert found == pytest.approx(fisher_exact([[ef, ep], [nf, passed]], "greater").pvalue)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(("failing", "passing"), [(1, 40), (5, 100), (60, 400)])
def test_intervals_hold_the_score_of_the_true_rates(kind, failing, passing):
    rng, measure = np.random.default_rng(0), kind()
    f, p = rng.uniform(size=400), rng.uniform(size=400)
    truth = measure(Counts(f * failing, p * passing, (1 - f) * failing, (1 - p) * passing))
    ef, ep = rng.binomial(failing, f).astype(float), rng.binomial(passing, p).astype(float)
    low, high = bounds(measure, Counts(ef, ep, failing - ef, passing - ep))
    assert ((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean() >= 0.95


def test_few_failures_show_as_wide_intervals():
    wide = bounds(as_measure("ochiai"), Counts(*(np.array([x]) for x in (2.0, 3.0, 0.0, 15.0))))
    narrow = bounds(as_measure("ochiai"), Counts(*(np.array([x]) for x in (200.0, 300.0, 0.0, 1500.0))))
    assert wide[1] - wide[0] > 3 * (narrow[1] - narrow[0])


def test_readings_of_activity():
    values = torch.tensor([[1.0, -1.0, 0.2, 0.6], [3.0, 0.5, 0.1, 0.1]])
    assert Above(0.3).active(values, (2, 2)).tolist() == [[True, False, False, True], [True, True, False, False]]
    assert Scaled(0.5).active(values, (2, 2)).tolist() == [[True, False, False, True], [True, False, False, False]]
    sample = torch.arange(101.0)[:, None].repeat(1, 4) * torch.tensor([1.0, 2.0, -1.0, 0.0])
    fitted = Quantile(0.9).fitted(sample)
    assert fitted.limits.tolist() == [90.0, 180.0, -10.0, 0.0]
    assert fitted.active(sample, (4,)).float().mean(0).tolist() == pytest.approx([10 / 101, 10 / 101, 10 / 101, 0])
    assert as_activity("0.25") == as_activity(0.25) == Above(0.25)
