"""ATS against a slow greedy search over lists of intervals, and its laws."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification
from mutiny.verbs.select.ats import UNIT, Ats, Edges, Union, greedy
from mutiny.verbs.select.evidence import Evidence


def probabilities(n, classes, seed=0, sharp=2.0):
    logits = np.random.default_rng(seed).normal(size=(n, classes)) * sharp
    exp = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exp / exp.sum(axis=1, keepdims=True)


def evidence_of(p, **settings):
    """A model that says these probabilities."""
    p = np.asarray(p, dtype=np.float64)
    task = Classification(p.shape[1], "probabilities")
    return Evidence([nn.Identity()], task, as_data((p, np.zeros(len(p), int)), "pool"), batch_size=16, **settings)


# A slow reference, from the definition: projection with its three coefficients, union by merging sorted lists.


def slow_interval(row, i, p, q, threshold=0.99, radius=0.005):
    project = lambda a, b, c: 2 / 3 * row[a] - row[b] / 3 - row[c] / 3 + 1 / 3  # noqa: E731
    corner, end = project(i, p, q), project(q, i, p)
    place, reach = end / (1 - corner), radius * max(threshold - corner, 0.0)
    return tuple(round(min(max(at, 0.0), 1.0) * UNIT) for at in (place - reach, place + reach))


def slow_length(intervals):
    total, reached = 0, -1
    for begin, end in sorted(intervals):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def slow_gains(rows, i, least=0.001, others=None, **settings):
    """In each round, the first input of largest gain; every gain is computed anew."""
    others = [k for k in range(len(rows[0])) if k != i] if others is None else sorted(others)
    pairs = list(combinations(others, 2))
    covers = [[slow_interval(row, i, p, q, **settings) for p, q in pairs] for row in rows]
    chosen, gains = [[] for _ in pairs], [0] * len(rows)
    while True:
        best, winner = least * UNIT, None
        for j, cover in enumerate(covers):
            gain = sum(slow_length([*had, new]) - slow_length(had) for had, new in zip(chosen, cover, strict=True))
            if not gains[j] and gain > best:
                best, winner = gain, j
        if winner is None:
            return gains
        gains[winner] = best
        for had, new in zip(chosen, covers[winner], strict=True):
            had.append(new)


def close(found, expected):
    """Equal but for the rounding of an interval's ends."""
    return np.abs(np.asarray(found) - np.asarray(expected)).max() <= 200


def test_one_interval_by_hand():
    """(0.5, 0.3, 0.2) lies in the plane; from the corner it falls at 0.4 of the edge, 0.49 from the threshold."""
    edges = Edges(np.array([[0.5, 0.3, 0.2]]), 0, 2, 0.99, 0.005)
    begin, end = edges.intervals(np.array([0]))
    assert (begin[0, 0], end[0, 0]) == (397_550_000, 402_450_000)
    assert edges.lengths().tolist() == [4_900_000]


def test_what_other_classes_hold_is_shared_out():
    """Of (0.4, 0.3, 0.18, 0.12), the pair (1, 2) leaves 0.12 for each corner to have 0.04 of."""
    begin, end = Edges(np.array([[0.4, 0.3, 0.18, 0.12]]), 0, 3, 0.99, 0.005).intervals(np.array([0]))
    assert (begin + end)[0, 0] / 2 / UNIT == pytest.approx((0.18 + 0.04) / (1 - 0.44))
    assert (end - begin)[0, 0] / UNIT == pytest.approx(2 * 0.005 * (0.99 - 0.44))


@given(st.integers(3, 6), st.integers(1, 25), st.integers(0, 10_000), st.floats(0.5, 4))
@settings(max_examples=40, deadline=None)
def test_gains_are_those_of_a_slow_greedy_search(classes, n, seed, sharp):
    rows = probabilities(n, classes, seed, sharp)
    edges = Edges(rows, 1, classes - 1, 0.99, 0.005)
    assert close(greedy(edges, edges.lengths(), 0.001), slow_gains(rows.tolist(), 1))


def test_gains_with_wide_intervals_that_overlap():
    rows = probabilities(60, 4, 3)
    edges = Edges(rows, 0, 3, 0.9, 0.2)
    assert close(greedy(edges, edges.lengths(), 0.01), slow_gains(rows.tolist(), 0, 0.01, threshold=0.9, radius=0.2))


spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 15)), min_size=1, max_size=8)


@given(st.lists(spans, min_size=1, max_size=6), st.integers(0, 60), st.integers(0, 30))
@settings(max_examples=100, deadline=None)
def test_a_union_is_a_set_of_points(groups, at, reach):
    union, points = Union(), set()
    for group in groups:
        begin = np.array(sorted(begin for begin, _ in group))
        end = begin + np.array([length for _, length in group])
        union.add(begin, end)
        points |= {point for first, last in zip(begin, end, strict=True) for point in range(first, last)}
    assert int((union.end - union.begin).sum()) == len(points)
    assert union.within(np.array([at]), np.array([at + reach])).tolist() == [len(points & set(range(at, at + reach)))]
    assert (union.begin[1:] > union.end[:-1]).all()


# The method


def test_the_order_is_chosen_then_dropped_then_sure():
    p = np.vstack([probabilities(80, 4, 1, 3), np.full((3, 4), 0.004), np.array([[0.4, 0.3, 0.2, 0.1]] * 2)])
    p[80:83, 2] = 0.988  # unsure, but its intervals are too short to matter
    sure = p.max(axis=1) > 0.99
    scores = Ats().score(evidence_of(p))
    assert (scores[sure] == 0).all()
    assert ((scores[80:83] >= 1) & (scores[80:83] < 2)).all()
    assert sorted(np.floor(scores[83:])) == [1, 2]  # of two equal inputs one is chosen and the other adds nothing
    assert (scores[~sure] >= 1).all()


def test_scores_are_gains_over_all_classes():
    p = probabilities(50, 4, 5)
    scores, predicted, unsure = Ats().score(evidence_of(p)), p.argmax(axis=1), p.max(axis=1) <= 0.99
    for label in range(4):
        here = unsure & (predicted == label)
        gains = np.array(slow_gains(p[here].tolist(), label))
        chosen = gains > 0
        assert (scores[here] > 2).tolist() == chosen.tolist()
        assert close((scores[here] - 2)[chosen] * 3 * UNIT, gains[chosen])


def test_a_probability_at_the_threshold_is_not_lost():
    scores = Ats(threshold=0.75).score(evidence_of([[0.75, 0.125, 0.125], [0.875, 0.125, 0.0], [0.5, 0.25, 0.25]]))
    assert scores[0] == 1
    assert scores[1] == 0
    assert scores[2] > 2


def test_the_pools_order_does_not_matter():
    p = probabilities(60, 5, 2)
    turn = np.random.default_rng(0).permutation(60)
    assert Ats().score(evidence_of(p[turn])) == pytest.approx(Ats().score(evidence_of(p))[turn], abs=1e-12)


def test_a_wider_radius_covers_more():
    p = probabilities(60, 5, 2)
    scores = [Ats(radius=radius).score(evidence_of(p)) for radius in (0.001, 0.005, 0.02)]
    best = [one.max() for one in scores]
    assert best[0] < best[1] < best[2]
    assert (Ats(gain=1).score(evidence_of(p)) < 2).all()
    assert (Ats(radius=0).score(evidence_of(p)) <= 1).all()


def test_pairs_are_taken_of_the_likeliest_rivals():
    p = probabilities(40, 8, 4)
    p[:, 0] += 10
    p /= p.sum(axis=1, keepdims=True)
    evidence = evidence_of(p)
    scores = Ats(rivals=3).score(evidence)
    gains = np.array(slow_gains(p.tolist(), 0, others=np.argsort(-p[:, 1:].mean(axis=0))[:3] + 1))
    assert (scores > 2).tolist() == (gains > 0).tolist()
    assert close((scores - 2)[scores > 2] * 3 * UNIT, gains[gains > 0])
    (note,) = evidence.notes
    assert "pairs of the 3 most probable other classes" in note
    assert np.array_equal(Ats(rivals=7).score(evidence_of(p)), Ats().score(evidence_of(p)))


def test_many_classes_take_bounded_memory_and_work():
    scores = Ats().score(evidence_of(probabilities(30, 120, 0)))
    assert np.isfinite(scores).all()


def test_it_reads_logits_and_does_not_depend_on_batches():
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4)).eval(), torch.randn(50, 4)
    pool = as_data((x, np.zeros(50, int)), "pool")
    scores = [Ats().score(Evidence([model], Classification(4, "logits"), pool, batch_size=b)) for b in (16, 5)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_two_classes_have_no_pairs():
    with pytest.raises(NotApplicable, match="pair"):
        Ats().score(evidence_of(probabilities(10, 2)))


@pytest.mark.parametrize("wrong", [{"threshold": 2}, {"radius": -0.1}, {"gain": "a"}, {"rivals": 1}])
def test_parameters_are_checked(wrong):
    with pytest.raises(BadInput, match=f"ats {next(iter(wrong))}"):
        Ats(**wrong)
