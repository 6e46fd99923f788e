"""Roles of inputs: all have one, strata are spread evenly, and equal inputs stay together."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import mutiny
from mutiny.subjects.data import as_data
from mutiny.verbs.repair.split import equals, split

SHARES = (0.5, 0.25, 0.25)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=300), st.integers(0, 99))
def test_roles_cover_all_inputs_once_and_every_stratum_in_proportion(strata, seed):
    strata, shares = np.array(strata), (0.5, 0.25, 0.25)
    parts = split(strata, shares, np.random.default_rng(seed))
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(strata)))
    for stratum in np.unique(strata):
        for part, share in zip(parts, shares, strict=True):
            count, size = int((strata[part] == stratum).sum()), int((strata == stratum).sum())
            assert abs(count - share * size) <= 3


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 6)), min_size=1, max_size=60), st.integers(0, 99))
def test_groups_share_a_role_and_strata_stay_in_proportion(made, seed):
    strata = np.concatenate([np.full(size, stratum) for stratum, size in made])
    groups = np.random.default_rng(seed).permutation(len(made))[np.repeat(np.arange(len(made)), [s for _, s in made])]
    parts = split(strata, SHARES, np.random.default_rng(seed), groups)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(strata)))
    assert sum(len(np.unique(groups[part])) for part in parts) == len(made)
    assert all(map(np.array_equal, parts, split(strata, SHARES, np.random.default_rng(seed), groups)))
    largest = max(size for _, size in made)
    for stratum in np.unique(strata):
        for part, share in zip(parts, SHARES, strict=True):
            count, size = int((strata[part] == stratum).sum()), int((strata == stratum).sum())
            assert abs(count - share * size) <= 3 * largest


def test_equal_inputs_are_recognized():
    assert equals(as_data((torch.tensor([[1.0], [2.0], [1.0]]), [0, 1, 1]), "data")).tolist() == [0, 1, 0]
    pairs = (torch.tensor([[1.0], [1.0]]), torch.tensor([[1], [2]]))
    assert len(set(equals(as_data((pairs, [0, 1]), "data")).tolist())) == 2


def test_what_is_learned_by_heart_is_no_repair():
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(100, 8, generator=draw), torch.randint(0, 3, (100,), generator=draw)  # nothing to be learned
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 128), nn.ReLU(), nn.Linear(128, 3)).eval()
    found = mutiny.repair(model, "tune(k=128, epochs=60, rate=0.02)", data=(x.repeat(4, 1), y.repeat(4)))
    assert found.changes["repair"].after > found.changes["repair"].before + 40
    assert not found.repaired, found
