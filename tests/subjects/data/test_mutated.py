import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.subjects.data import as_data
from mutiny.subjects.data.benign_mutations import Benign, mutate
from mutiny.subjects.data.mutated import MutatedData, per_item
from mutiny.subjects.data.nested import leaves
from mutiny.subjects.data.noise import Noise, with_rows

X = np.random.default_rng(0).random((50, 1, 8, 8), dtype=np.float32)
Y = np.arange(50) % 10
TABLE = np.random.default_rng(1).normal(5, [1, 10, 0], (700, 3)).astype(np.float32)


def table_data(n=700):
    return as_data((TABLE[:n], np.arange(n)), "test")


# MutatedData


def test_a_pool_is_the_data_mutated():
    pool = mutate((X, Y), seed=4)
    expected = Benign(value_range=(0, 1)).apply(torch.from_numpy(X), np.arange(50), 4, "pool")
    assert torch.equal(pool.read(slice(None)), expected)
    assert not torch.equal(expected, torch.from_numpy(X))
    assert np.array_equal(pool.targets, Y)
    assert torch.equal(pool.clean.read(slice(None)), torch.from_numpy(X))
    assert pool.fingerprint() == mutate((X, Y), seed=4).fingerprint() != mutate((X, Y), seed=5).fingerprint()
    assert (mutate((X, Y), operations="blur").mutate.draw(0, "pool", Y).operations == "blur").all()


def test_a_pool_of_images_without_targets():
    expected = mutate((X, Y), seed=4).read(slice(None))
    items = [torch.from_numpy(x) for x in X]
    for images in (X, (X, None), {"image": X}, DataLoader(items, 8)):
        pool = mutate(images, seed=4)
        found = pool.read(slice(None))
        assert torch.equal(found["image"] if isinstance(found, dict) else found, expected)
        assert (len(pool), pool.labeled, pool.subset([3, 1]).labeled) == (50, False, False)


@pytest.mark.parametrize("mutation", [Benign(), Noise()])
@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 49), min_size=1, max_size=20), st.integers(1, 60), st.randoms())
def test_subsets_and_batches_show_the_same_mutants(mutation, chosen, size, random):
    pool = MutatedData(as_data((X, Y), "test"), mutation, 1)
    whole = pool.read(slice(None))
    subset = pool.subset(chosen)
    assert torch.equal(torch.cat(list(subset.batches(size))), whole[chosen])
    assert torch.equal(subset.clean.read(slice(None)), torch.from_numpy(X)[chosen])
    assert subset.targets.tolist() == Y[chosen].tolist()
    again = random.sample(range(len(chosen)), len(chosen))
    assert torch.equal(subset.subset(again).read(slice(None)), whole[chosen][again])


def test_a_subset_keeps_the_range_of_the_whole():
    x = np.concatenate([X, X[:1] * 200])
    pool = mutate((x, np.zeros(51)))
    assert pool.subset([0, 1]).mutate.value_range == (0, 255)
    assert len(pool.subset([]).read(slice(None))) == 0


def test_mutants_of_mutants():
    pool = mutate((X, Y))
    twice = MutatedData(pool, Benign(), purpose="score")
    expected = Benign(value_range=(0, 1)).apply(pool.read(slice(None)), np.arange(50), 0, "score")
    assert torch.equal(twice.read(slice(None)), expected)


def test_one_number_per_item():
    with pytest.raises(BadInput, match="indices"):
        MutatedData(as_data((X, Y), "test"), Benign(), items=np.arange(49))


# per_item


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 10**12), max_size=20), st.integers(1, 50))
def test_rows_per_item_are_those_of_the_items_block(items, block):
    rows = per_item(3, ("test",), np.array(items, np.int64), block, lambda rng: rng.random((block, 2)))
    assert rows.shape == (len(items), 2)
    for item, row in zip(items, rows, strict=True):
        expected = generator_for(3, "test", item // block).random((block, 2))[item % block]
        assert np.array_equal(row, expected)


# Noise


def test_noise_is_normal_in_units_of_each_features_spread():
    pool = MutatedData(table_data(), Noise(sd=0.2))
    noise = pool.read(slice(None)).numpy() - TABLE
    assert (noise[:, 2] == 0).all()
    for feature in (0, 1):
        scaled = noise[:, feature] / (0.2 * TABLE[:, feature].std())
        assert stats.kstest(scaled, "norm").pvalue > 0.001
    assert abs(np.corrcoef(noise[:, :2].T)[0, 1]) < 0.1


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.floats(-1e4, 1e4))
def test_moments_of_parts_are_those_of_the_whole(sizes, offset):
    parts = [torch.randn(size, 2, 3, dtype=torch.float64) + offset for size in sizes]
    moments = None
    for part in parts:
        moments = with_rows(moments, part)
    whole = torch.cat(parts).numpy()
    assert moments[0] == len(whole)
    np.testing.assert_allclose(moments[1], whole.mean(0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moments[2] / len(whole), whole.var(0), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("shape", [(), (7,), (2, 40), (3, 5, 6, 7), (20, 20, 20)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_noise_of_an_item_does_not_depend_on_its_batch(shape, dtype):
    x = torch.randn(23, *shape).to(dtype)
    noise = Noise().fitted(as_data((x, np.arange(23)), "test"))
    together = noise.apply(x, np.arange(23), 0, "pool")
    assert together.dtype == dtype
    assert together.shape == x.shape
    assert not torch.equal(together, x)
    order = np.random.default_rng(0).permutation(23)
    for size in (1, 4):
        parts = [noise.apply(x[order[at : at + size]], order[at : at + size], 0, "pool") for at in range(0, 23, size)]
        assert torch.equal(torch.cat(parts), together[order])
    for other in (noise.apply(x, np.arange(23), 1, "pool"), noise.apply(x, np.arange(23), 0, "score")):
        assert not torch.equal(other, together)


def test_whole_numbers_stay_and_parts_can_be_chosen():
    inputs = {"ids": np.arange(700), "table": TABLE, "mask": np.ones((700, 2), np.float32), "more": TABLE * 2}
    data = as_data((inputs, np.arange(700)), "test")
    every, one = (MutatedData(data, noise).first(700) for noise in (Noise(), Noise(part="table")))
    clean = dict(leaves(data.first(700)))
    assert [path for path, leaf in leaves(every) if not torch.equal(leaf, clean[path])] == [".more", ".table"]
    assert [path for path, leaf in leaves(one) if not torch.equal(leaf, clean[path])] == [".table"]
    assert torch.equal(one["table"], every["table"])
    assert not torch.allclose(every["more"] - clean[".more"], 2 * (every["table"] - clean[".table"]))


def test_noise_that_makes_no_sense():
    with pytest.raises(BadInput, match=r"int64 \(4, 2\).*token ids"):
        MutatedData(as_data((np.zeros((4, 2), int), np.arange(4)), "test"), Noise())
    with pytest.raises(BadInput, match="in part b"):
        MutatedData(table_data(), Noise(part="b"))
    with pytest.raises(BadInput, match="sd=-1"):
        Noise(sd=-1)
    with pytest.raises(BadInput, match=r"spread=None.*\(3,\).*fitted"):
        Noise().apply(torch.zeros(2, 3), [0, 1], 0, "pool")
    with pytest.raises(BadInput, match=r"spread=shape \(3,\)"):
        Noise().fitted(table_data()).apply(torch.zeros(2, 4), [0, 1], 0, "pool")


def test_items_of_different_sizes_have_no_features():
    items = [(torch.randn(1 + i // 256), i) for i in range(300)]

    def padded(batch):
        return pad_sequence([x for x, _ in batch], batch_first=True), torch.tensor([y for _, y in batch])

    with pytest.raises(BadInput, match="one shape"):
        MutatedData(as_data(DataLoader(items, 4, collate_fn=padded), "test"), Noise())
