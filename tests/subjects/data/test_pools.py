"""Pools: inputs to choose from, with targets or without."""

from collections import UserDict

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, IterableDataset, SubsetRandomSampler, TensorDataset, default_collate

import mutiny.subjects.data.datasets as datasets_module
from mutiny.core.errors import BadInput
from mutiny.subjects.data import ArrayData, as_data, as_pool
from mutiny.subjects.data.items import ItemData

A = torch.arange(600.0).reshape(300, 2)
B = -torch.arange(300)
DICTS = [{"ids": a, "mask": b} for a, b in zip(A, B, strict=True)]
BOTH = {"ids": A, "mask": B}


class Listed(Dataset):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


class Stream(IterableDataset):
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)


class Foreign:
    """Like a dataset of another library."""

    def __len__(self):
        return len(DICTS)

    def __getitem__(self, index):
        return DICTS[index]


class Lengthless(Dataset):
    def __getitem__(self, index):
        return A[index]


def check(pool, expected):
    """The pool holds the expected inputs, in order, and no targets; subsets too."""
    torch.testing.assert_close(pool.read(slice(None)), expected, rtol=0, atol=0)
    assert (len(pool), pool.labeled, pool.subset([7, 2]).labeled) == (300, False, False)
    torch.testing.assert_close(pool.subset([7]).first(1), pool.read(slice(7, 8)), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (A, A),
        (A.numpy(), A),
        ((A, None), A),
        ([A, None], A),
        ((A.tolist(), None), A),
        (((A, B), None), (A, B)),
        (([A, B], None), [A, B]),
        (BOTH, BOTH),
        ((BOTH, None), BOTH),
        (UserDict(BOTH), BOTH),
        (TensorDataset(A), A),
        (Foreign(), BOTH),
        (Lengthless(), A),
    ],
)
def test_pools_without_targets(source, expected):
    check(as_pool(source), expected)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (list(A), A),
        (list(A.numpy()), A),
        ([(a,) for a in A], A),
        ([(a, None) for a in A], A),
        (list(zip(A, B, [None] * 300, strict=True)), (A, B)),
        ([((a, b), None) for a, b in zip(A, B, strict=True)], (A, B)),
        (DICTS, BOTH),
        ([{**one, "label": None} for one in DICTS], BOTH),
    ],
)
@pytest.mark.parametrize("kind", [Listed, Stream])
def test_items_without_targets(kind, items, expected):
    dataset = kind(items)
    check(as_pool(dataset), expected)
    check(as_pool(DataLoader(dataset, batch_size=32)), expected)


@pytest.mark.parametrize(
    ("items", "collate", "expected"),
    [
        (list(A), torch.stack, A),
        (list(A), lambda items: [torch.stack(items)], A),
        (list(A), lambda items: (torch.stack(items), None), A),
        (list(A), lambda items: {"x": torch.stack(items)}, {"x": A}),
        (list(A), lambda items: ((torch.stack(items), torch.stack(items)), None), (A, A)),
        (DICTS, lambda items: default_collate(items), BOTH),
        ([(a, None) for a in A], lambda items: [torch.stack([a for a, _ in items]), [y for _, y in items]], A),
        ([(a, 1) for a in A], lambda items: torch.stack([a for a, _ in items]), A),
    ],
)
def test_a_collate_that_returns_inputs_only(items, collate, expected):
    for dataset in (Listed(items), Stream(items)):
        check(as_pool(DataLoader(dataset, batch_size=32, collate_fn=collate)), expected)


def test_a_pair_from_items_without_targets_is_not_guessed():
    def images_and_kinds(items):
        return torch.stack([item["image"] for item in items]), [item["kind"] for item in items]

    def padded(items):
        return pad_sequence(items, batch_first=True), torch.tensor([len(item) for item in items])

    with pytest.raises(BadInput, match=r"pool collate_fn=.*return \(\(a, b\), None\)"):
        as_pool(DataLoader(Listed(list(A)), collate_fn=padded))
    named = DataLoader(Listed(list(A)), collate_fn=lambda items: {"x": torch.stack(items), "y": [0] * len(items)})
    assert as_pool(named).labeled
    records = DataLoader(Listed([{"image": a, "kind": 2} for a in A]), collate_fn=images_and_kinds)
    assert as_pool(records).targets.tolist() == [2] * 300


def test_ragged_and_large_pools_are_read_batch_by_batch(monkeypatch):
    items = [torch.ones(1 + i % 4) for i in range(10)]
    ragged = as_pool(DataLoader(Listed(items), collate_fn=lambda some: pad_sequence(some, batch_first=True)))
    assert isinstance(ragged, ItemData)
    assert [tuple(batch.shape) for batch in ragged.batches(3)] == [(3, 3), (3, 4), (3, 4), (1, 2)]
    assert not ragged.subset([4, 0]).labeled
    monkeypatch.setattr(datasets_module, "MEMORY_LIMIT_BYTES", 100)
    streamed = as_pool(Listed(DICTS))
    assert isinstance(streamed, ItemData)
    check(streamed, BOTH)


def test_what_has_targets_keeps_them():
    y = np.arange(300) % 3
    sources = [
        (A, y),
        [A, y],
        as_data((A, y), "train"),
        TensorDataset(A, torch.from_numpy(y)),
        Listed(list(zip(A, y, strict=True))),
        Stream(list(zip(A, y, strict=True))),
        Listed([{"ids": a, "labels": label} for a, label in zip(A, y, strict=True)]),
    ]
    for source in sources:
        pool = as_pool(source)
        assert pool.labeled
        np.testing.assert_array_equal(pool.targets, y)
    assert as_pool((A, A)).targets.shape == (300, 2)


def test_only_the_items_that_a_sampler_takes_are_read():
    class Fragile(Listed):
        def __getitem__(self, index):
            assert index
            return A[index]

    assert as_pool(DataLoader(Fragile(A), sampler=SubsetRandomSampler([9, 4]))).first(2).tolist() == A[[4, 9]].tolist()


def test_reading_a_pool_leaves_generators_alone():
    class Noisy(Listed):
        def __getitem__(self, index):
            return torch.rand(2)

    before = torch.get_rng_state()
    pool = as_pool(Noisy(range(5)))
    assert isinstance(pool, ArrayData)
    assert torch.equal(torch.get_rng_state(), before)


class Endless(Dataset):
    def __getitem__(self, index):
        return torch.zeros(2)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Endless(), r"pool=Endless without __len__: .*Add def __len__"),
        (Listed([]), "pool=an empty split"),
        (Stream([]), "pool=an empty split"),
        (Listed(["text"]), "pool inputs=values of type <U4"),
        (Listed([{"label": 1}]), "a dict with keys .'label'.: expected inputs"),
        (DataLoader(Listed(list(A)), collate_fn=lambda items: torch.tensor(1.0)), "pool inputs=a single number"),
        (DataLoader(Listed(list(A)), collate_fn=lambda items: torch.stack(items[1:])), "255 of 256 items"),
        ((A, torch.zeros(300, 2, 2)), r"pool=targets of 3 dimensions.*give \(\(a, b\), None\)"),
        ((A, B, A), r"pool=tuple: expected inputs.*give \(\(a, b\), None\)"),
        (((A, B[:7]), None), "parts of different lengths"),
        (({}, None), "empty structure"),
        ((A[:0], None), "an empty split"),
        (7, "pool=int: expected inputs"),
    ],
)
def test_bad_pools_get_a_sentence(source, message):
    with pytest.raises(BadInput, match=message):
        as_pool(source)


def test_targets_may_be_partly_known():
    some = [float("nan"), *[0] * 299]
    assert as_pool((A, some)).targets.tolist()[1:] == some[1:]
    listed = as_pool(Listed([(a, None if i else 1) for i, a in enumerate(A)]))
    assert (listed.targets[0], int(np.isnan(listed.targets).sum())) == (1, 299)
