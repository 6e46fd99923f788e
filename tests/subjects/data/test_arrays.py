import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mutiny.core.errors import BadInput
from mutiny.subjects.data import ArrayData, as_data
from mutiny.subjects.data.nested import leaves, take


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 40), size=st.integers(1, 50))
def test_batches_join_to_the_whole_array_for_any_size(n, size):
    x = np.arange(n * 3, dtype=np.float32).reshape(n, 3)
    data = as_data((x, np.arange(n)), "train")
    batches = list(data.batches(size))
    np.testing.assert_array_equal(torch.cat(batches).numpy(), x)
    assert all(len(batch) == size for batch in batches[:-1])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_subset_is_numpy_indexing(draws):
    n = draws.draw(st.integers(1, 20))
    indices = np.array(draws.draw(st.lists(st.integers(0, n - 1), max_size=30)), dtype=np.int64)
    x = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    data = as_data(({"a": x, "b": (x[:, 0], x[:, 1])}, np.arange(n)), "train").subset(indices)
    assert len(data) == len(indices)
    np.testing.assert_array_equal(data.targets, indices)
    inputs = data.read(slice(None))
    np.testing.assert_array_equal(inputs["a"].numpy(), x[indices])
    np.testing.assert_array_equal(inputs["b"][1].numpy(), x[indices, 1])


def test_boolean_mask_and_bad_indices():
    data = as_data(([[1.0], [2.0], [3.0]], [0, 1, 2]), "train")
    assert data.subset(np.array([True, False, True])).targets.tolist() == [0, 2]
    for wrong in ([3], [-1], [0.5], [[0]]):
        with pytest.raises(BadInput, match="indices"):
            data.subset(np.array(wrong))
    with pytest.raises(BadInput, match="batch size=0"):
        data.batches(0)


def test_types_are_kept_except_numpy_float64():
    def kept(x):
        return as_data((x, [0, 1]), "train").first(1).dtype

    assert kept(np.zeros((2, 1))) == torch.float32
    assert kept(torch.zeros(2, 1, dtype=torch.float64)) == torch.float64
    assert kept(np.zeros((2, 1), np.uint8)) == torch.uint8
    assert kept(np.zeros((2, 1), np.uint16)) == torch.int32
    assert kept(np.zeros((2, 1), ">f4")) == torch.float32
    assert kept([[1], [2]]) == torch.int64


def test_read_only_and_reversed_arrays_are_read_without_change():
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    frozen = x.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(as_data((frozen, [0, 0, 0]), "t").first(3).numpy(), x)
    np.testing.assert_array_equal(as_data((x[::-1], [0, 0, 0]), "t").first(3).numpy(), x[::-1])


def test_inputs_of_several_parts():
    a, b = np.zeros((4, 2), np.float32), torch.ones(4, dtype=torch.int64)
    for x in ((a, b), [a, b], {"a": a, "b": b}):
        batches = list(as_data((x, [0] * 4), "train").batches(3))
        assert [type(batch) for batch in batches] == [type(x)] * 2
        assert [len(tensor) for _, tensor in leaves(batches[1])] == [1, 1]


def test_first_gives_at_most_all():
    data = as_data(([[1.0], [2.0]], [0, 1]), "train")
    assert len(data.first(1)) == 1
    assert len(data.first(9)) == 2


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ((np.zeros((0, 2)), []), "train=an empty split"),
        ((np.zeros((3, 2)), [0, 1]), "train=3 inputs and 2 targets"),
        ((np.array([[1], [1, 2]], dtype=object), [0, 1]), "object dtype"),
        (([[1.0], [1.0, 2.0]], [0, 1]), "object dtype"),
        ((np.array(["a", "b"]), [0, 1]), "train inputs=values of type <U1"),
        ((np.zeros((2, 1)), ["cat", "dog"]), "np.unique"),
        ((np.zeros((2, 1)), np.zeros((2, 1, 1))), "train targets=an array of shape"),
        ((np.array([[0.0], [np.nan], [np.inf]]), [0, 1, 2]), "2 of 3 items, first at index 1"),
        (({"a": np.zeros(3), "b": np.zeros(2)}, [0, 1, 2]), "a: 3, b: 2"),
        (([np.zeros(2), np.zeros(2), np.zeros(2)], [0, 1, 2]), "np.stack"),
        (({}, []), "empty structure"),
        (np.zeros((3, 2)), "expected a pair"),
        (7, "train=int: expected a pair"),
        (torch.eye(2).to_sparse(), "expected a pair"),
        ((torch.eye(2).to_sparse(), [0, 1]), "to_dense"),
    ],
)
def test_bad_arrays_get_a_sentence(source, message):
    with pytest.raises(BadInput) as error:
        as_data(source, "train")
    assert message in str(error.value)


def test_digests_are_of_inputs_alone_and_pass_to_subsets():
    x, y = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([0, 1, 1])
    data = as_data((x, y), "train")
    digests = data.digests()
    assert len(set(digests)) == 3
    assert as_data((x[[2, 0, 2]], [1, 1, 0]), "test").digests() == (digests[2], digests[0], digests[2])
    subset = data.subset(np.array([2, 0]))
    assert subset.digests() == (digests[2], digests[0])
    for other in (x.reshape(3, 1, 2), x.astype(np.int32), x + 1, {"x": x}):
        assert not set(as_data((other, y), "test").digests()) & set(digests)


def test_each_input_is_read_once_for_its_digest():
    reads = []

    class Items(torch.utils.data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            reads.append(index)
            return torch.full((2,), float(index)), index % 2

    data = as_data(Items(), "train")
    data.digests()
    reads.clear()
    assert data.subset(np.array([1, 3])).digests() == data.digests()[1:4:2]
    assert reads == []


def test_fingerprint_tells_all_differences_and_ignores_how_data_is_held():
    x, y = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([0, 1, 1])
    base = as_data((x, y), "train").fingerprint()
    assert base == as_data((torch.from_numpy(x.copy()), y.copy()), "other").fingerprint()
    assert base == as_data((x[[2, 1, 0]], y[[2, 1, 0]]), "t").subset(np.array([2, 1, 0])).fingerprint()
    changed = x.copy()
    changed[2, 1] += 1
    different = [
        (changed, y),
        (x, np.array([0, 1, 0])),
        (x, y.astype(np.int32)),
        (x.reshape(3, 1, 2), y),
        (x.astype(np.int32), y),
        (x[::-1].copy(), y),
        ({"x": x}, y),
        ({"z": x}, y),
    ]
    prints = [as_data(pair, "train").fingerprint() for pair in different]
    assert len({base, *prints}) == 1 + len(prints)


def test_a_data_object_is_taken_as_it_is():
    data = ArrayData(torch.zeros(2, 1), np.zeros(2))
    assert as_data(data, "train") is data
    with pytest.raises(BadInput, match="empty split"):
        as_data(data.subset(np.array([], dtype=int)), "train")


def test_take_by_slice_shares_memory_and_by_array_copies():
    x = torch.arange(4)
    assert take(x, slice(1, 3)).data_ptr() == x[1:].data_ptr()
    assert take(x, np.array([1, 2])).data_ptr() != x[1:].data_ptr()
