"""Rates on held-out faults are those of the sets that methods would make."""

import numpy as np
import pytest

from mutiny.verbs.strengthen.held_out import label_gains, rate_of
from verbs.strengthen.tables import random_changes, table_of

TESTS = 10
POOL = np.arange(30)


def table():
    rng = np.random.default_rng(4)
    costs, originals = rng.uniform(0.5, 8, 24), np.arange(24) % 4
    return table_of(random_changes(rng, 24, broken=0.5), costs, originals)


def test_gains_are_differences_of_rates():
    held, orders = table(), {"strengthen": POOL[::-1], "deepgini": POOL}
    gains = label_gains(held, TESTS, orders, POOL, (5, 12), 0)
    before = rate_of(held, np.arange(TESTS))
    assert [(gain.method, gain.budget) for gain in gains] == [(n, b) for b in (5, 12) for n in orders]
    for gain in gains:
        chosen = np.concatenate([np.arange(TESTS), TESTS + orders[gain.method][: gain.budget]])
        assert gain.rate == pytest.approx(rate_of(held, chosen).rate)
        assert gain.gain.value == pytest.approx(gain.rate - before.rate)
        assert gain.gain.interval.low <= gain.gain.value <= gain.gain.interval.high
    assert gains[0].ahead is None
    assert gains[1].ahead.value == pytest.approx(gains[0].rate - gains[1].rate)
    assert before.faults == 24


def test_random_is_a_mean_over_choices_from_what_may_be_chosen():
    held, allowed = table(), POOL[:5]
    own, random = label_gains(held, TESTS, {"strengthen": allowed, "random": POOL}, allowed, (5,), 0)
    assert random.rate == pytest.approx(own.rate)  # all of five are five, however they are drawn
    some = [
        label_gains(held, TESTS, {"strengthen": POOL, "random": POOL}, POOL, (5,), seed)[1].rate for seed in (0, 0, 1)
    ]
    assert some[0] == some[1] != some[2]
