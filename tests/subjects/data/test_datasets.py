import random

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SubsetRandomSampler,
    TensorDataset,
)

import mutiny.subjects.data.datasets as datasets_module
from mutiny.core.errors import BadInput
from mutiny.subjects.data import ArrayData, as_data
from mutiny.subjects.data.items import ItemData


class Listed(Dataset):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


class Noisy(Listed):
    """Draws from all three global generators, as random transforms do."""

    def __getitem__(self, index):
        noise = torch.rand(1).item() + np.random.rand() + random.random()  # noqa: NPY002
        return torch.tensor([float(index), noise]), index % 2


PAIRS = [(torch.tensor([float(i), -float(i)]), i % 3) for i in range(600)]


def padded(items):
    return pad_sequence([x for x, _ in items], batch_first=True), torch.tensor([y for _, y in items])


def test_dataset_equals_its_items():
    data = as_data(Listed(PAIRS), "train")
    assert isinstance(data, ArrayData)
    torch.testing.assert_close(torch.cat(list(data.batches(7))), torch.stack([x for x, _ in PAIRS]))
    assert data.targets.tolist() == [y for _, y in PAIRS]


@pytest.mark.parametrize("key", ["labels", "label", "target", "targets", "y"])
def test_dict_items(key):
    data = as_data(Listed([{"ids": np.array([i]), "mask": [1.0, 2.0], key: i} for i in range(3)]), "train")
    inputs = data.first(3)
    assert inputs["ids"].tolist() == [[0], [1], [2]]
    assert inputs["mask"][0].shape == (3,)
    assert data.targets.tolist() == [0, 1, 2]


def test_nested_numbers_pictures_and_three_part_items():
    picture = Image.new("RGB", (3, 2), (255, 0, 51))
    data = as_data(Listed([((picture, {"age": 2.5}), np.array([0.0, 1.0]))] * 2), "train")
    image, other = data.first(2)
    assert image.shape == (2, 3, 2, 3)
    assert image[0, :, 0, 0].tolist() == pytest.approx([1, 0, 0.2])
    assert other["age"].dtype == torch.float32
    assert data.targets.shape == (2, 2)
    a, b = as_data(Listed([(torch.tensor(1), torch.tensor(2.0), 0)]), "train").first(1)
    assert (a.tolist(), b.tolist()) == ([1], [2.0])


def test_tensor_dataset_is_not_copied():
    x = torch.rand(5, 2)
    data = as_data(TensorDataset(x, torch.arange(5)), "train")
    assert data.first(5).data_ptr() == x.data_ptr()


@pytest.mark.parametrize(
    "make",
    [
        lambda d: DataLoader(d, batch_size=64, shuffle=True, drop_last=True),
        lambda d: DataLoader(d, batch_size=64, collate_fn=padded, shuffle=True),
        lambda d: DataLoader(d, batch_sampler=BatchSampler(RandomSampler(d), 64, drop_last=True)),
    ],
)
def test_a_shuffling_loader_is_read_in_order(make):
    data = as_data(make(Listed(PAIRS)), "train")
    assert isinstance(data, ArrayData)
    assert torch.cat(list(data.batches(100)))[:, 0].tolist() == list(range(600))


def test_subset_sampler_means_that_subset():
    data = as_data(DataLoader(Listed(PAIRS), sampler=SubsetRandomSampler([9, 4, 7])), "train")
    assert data.first(9)[:, 0].tolist() == [4, 7, 9]


def test_unknown_samplers_are_refused():
    class Odd(Sampler):
        def __iter__(self):
            return iter([3, 1])

    for loader in (
        DataLoader(Listed(PAIRS), sampler=Odd()),
        DataLoader(Listed(PAIRS), batch_sampler=[[0, 1], [5]]),
        DataLoader(Listed(PAIRS), batch_size=None),
    ):
        with pytest.raises(BadInput, match="give the Dataset instead"):
            as_data(loader, "train")


def test_iterable_dataset_is_read_once():
    class Once(IterableDataset):
        reads = 0

        def __iter__(self):
            type(self).reads += 1
            return iter(PAIRS[:5])

    data = as_data(DataLoader(Once(), batch_size=2), "train")
    assert [len(list(data.batches(2))) for _ in range(3)] == [3, 3, 3]
    assert Once.reads == 1


def test_ragged_items_are_collated_per_batch():
    items = [(torch.ones(1 + i % 4), i % 2) for i in range(10)]
    data = as_data(DataLoader(Listed(items), collate_fn=padded), "train")
    assert isinstance(data, ItemData)
    assert [tuple(batch.shape) for batch in data.batches(3)] == [(3, 3), (3, 4), (3, 4), (1, 2)]
    assert data.subset(np.array([4, 0])).first(2).shape == (2, 1)
    assert data.targets.tolist() == [y for _, y in items]
    with pytest.raises(BadInput, match="collate_fn"):
        as_data(Listed(items), "train")


def test_above_the_memory_limit_items_are_streamed_with_the_same_result(monkeypatch):
    held = as_data(Noisy([0] * 300), "train")
    monkeypatch.setattr(datasets_module, "MEMORY_LIMIT_BYTES", 100)
    streamed = as_data(Noisy([0] * 300), "train")
    assert isinstance(held, ArrayData)
    assert isinstance(streamed, ItemData)
    assert streamed.fingerprint() == held.fingerprint()
    order = np.array([250, 3])
    torch.testing.assert_close(streamed.subset(order).first(2), held.subset(order).first(2), rtol=0, atol=0)


def test_types_widen_from_chunk_to_chunk():
    whole = [({"a": torch.tensor([i])}, i) for i in range(300)]
    halves = [({"a": torch.tensor([i + 0.5])}, i + 0.5) for i in range(300)]
    data = as_data(Listed(whole + halves), "train")
    assert isinstance(data, ArrayData)
    expected = [*range(300), *(i + 0.5 for i in range(300))]
    assert data.first(600)["a"][:, 0].tolist() == data.targets.tolist() == expected


def test_a_dataset_without_length():
    class Reads(Dataset):
        def __getitem__(self, index):
            return PAIRS[index]

    class Endless(Dataset):
        def __getitem__(self, index):
            return torch.zeros(2), 0

    for source in (Reads(), DataLoader(Reads(), 8)):
        assert as_data(source, "train").fingerprint() == as_data(Listed(PAIRS), "train").fingerprint()
    with pytest.raises(BadInput, match=r"train=Endless without __len__.*Add def __len__"):
        as_data(Endless(), "train")


def test_random_transforms_are_frozen_repeatable_and_leave_generators_alone():
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    data = as_data(Noisy([0] * 20), "train")
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002
    assert random.getstate() == before[2]
    torch.testing.assert_close(data.first(20), data.first(20), rtol=0, atol=0)
    assert data.fingerprint() == as_data(Noisy([0] * 20), "train").fingerprint()
    assert data.first(20)[:, 1].unique().numel() == 20


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], "train=an empty split"),
        ([torch.zeros(2)] * 2, "train item=Tensor: expected a pair"),
        ([{"image": 1, "kind": 2}], "a key among"),
        ([{"label": 1}], "inputs and a key among"),
        ([(torch.zeros(2), None)] * 2, "train targets="),
        ([(torch.tensor([float("nan")]), 0), (torch.tensor([1.0]), 1)], "1 of 2 items, first at index 0"),
        ([("text", 1)], "values of type <U4"),
    ],
)
def test_bad_items_get_a_sentence(items, message):
    with pytest.raises(BadInput) as error:
        as_data(Listed(items), "train")
    assert message in str(error.value)


def test_a_collate_that_loses_items_is_an_error():
    loader = DataLoader(Listed(PAIRS[:4]), collate_fn=lambda items: padded(items[1:]))
    with pytest.raises(BadInput, match="3 of 4 items"):
        as_data(loader, "train")


def test_a_sampler_of_nothing_is_an_empty_split():
    with pytest.raises(BadInput, match="an empty split"):
        as_data(DataLoader(Listed(PAIRS), sampler=SubsetRandomSampler([])), "train")
