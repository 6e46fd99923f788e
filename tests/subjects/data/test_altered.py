import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mutiny.core.errors import BadInput
from mutiny.subjects.data import as_data
from mutiny.subjects.data.altered import Altered, ItemNoise
from mutiny.subjects.data.nested import leaves

N = 30
X = np.random.default_rng(0).normal(3, 2, (N, 2, 4)).astype(np.float32)
Y = np.arange(N) % 3
NESTED = {"image": X, "rest": (np.arange(N), np.linspace(0, 1, N, dtype=np.float32))}
SD = np.where(np.arange(N) % 2, 0.5, 0.0)
positions = st.lists(st.integers(0, N - 1), min_size=1, max_size=40)


def clean(inputs=X):
    return as_data((inputs, Y), "train")


@settings(max_examples=25, deadline=None)
@given(positions, st.integers(1, 50))
def test_the_items_in_the_order_asked_for(order, size):
    data = Altered(clean(), np.array(order))
    assert torch.equal(torch.cat(list(data.batches(size))), torch.stack([torch.from_numpy(X)[i] for i in order]))
    assert data.targets.tolist() == [Y[i] for i in order]
    assert len(data) == len(order)


@settings(max_examples=25, deadline=None)
@given(positions, st.integers(1, 50), st.randoms())
@pytest.mark.parametrize("relative", [False, True])
def test_noise_does_not_depend_on_batches_or_order(relative, order, size, random):
    noise = ItemNoise(np.resize(SD, len(order)), 7, relative)
    data = Altered(clean(NESTED), np.array(order), np.arange(len(order)), noise)
    whole = dict(leaves(data.read(slice(None))))
    for path, leaf in whole.items():
        assert torch.equal(torch.cat([dict(leaves(batch))[path] for batch in data.batches(size)]), leaf)
    again = random.sample(range(len(order)), len(order))
    part = data.subset(again)
    assert part.targets.tolist() == again
    for path, leaf in leaves(part.read(slice(None))):
        assert torch.equal(leaf, whole[path][again])


def test_without_changes_it_is_the_same_data():
    assert Altered(clean()).fingerprint() == clean().fingerprint()
    assert Altered(clean(), noise=ItemNoise(np.zeros(N), 0)).fingerprint() == clean().fingerprint()


def test_names_and_classes_come_along():
    data = clean()
    data.names, data.classes = tuple(f"{i}.png" for i in range(N)), ("cat", "dog", "eel")
    altered = Altered(data, np.array([4, 4, 0]))
    assert (altered.names, altered.classes) == (("4.png", "4.png", "0.png"), ("cat", "dog", "eel"))
    part = altered.subset([2, 1])
    assert (part.names, part.classes) == (("0.png", "4.png"), ("cat", "dog", "eel"))
    assert Altered(clean(), np.array([4])).names is None


def test_noise_is_where_it_should_be_and_nothing_else_changes():
    data = clean(NESTED)
    before = data.fingerprint()
    noisy = Altered(data, noise=ItemNoise(SD, 1)).read(slice(None))
    moved = (noisy["image"] != torch.from_numpy(X)).numpy()
    assert moved[SD > 0].all()
    assert not moved[SD == 0].any()
    assert torch.equal(noisy["rest"][0], torch.arange(N))  # whole numbers stay
    assert ((noisy["rest"][1].numpy() != NESTED["rest"][1]) == (SD > 0)).all()
    data._fingerprint = None
    assert data.fingerprint() == before
    assert np.array_equal(data.read(slice(None))["image"].numpy(), X)


def test_copies_of_an_item_have_noise_of_their_own():
    twice = Altered(clean(), np.array([3, 3]), noise=ItemNoise(np.ones(2), 0)).read(slice(None))
    assert not torch.equal(twice[0], twice[1])


def test_two_tensors_of_an_item_have_noise_of_their_own():
    first, second = Altered(clean((X, X.copy())), noise=ItemNoise(SD, 0)).read(slice(None))
    assert not torch.equal(first[1], second[1])


def test_noise_is_normal_with_the_size_asked_for():
    x = np.random.default_rng(1).normal(0, np.array([1.0, 5.0])[:, None], (2, 8000)).astype(np.float32)
    data = as_data((x, [0, 1]), "train")
    plain = Altered(data, noise=ItemNoise(np.array([0.1, 2.0]), 3)).read(slice(None)).numpy() - x
    own = Altered(data, noise=ItemNoise(np.array([0.1, 2.0]), 3, relative=True)).read(slice(None)).numpy() - x
    for item, sd in enumerate([0.1, 2.0]):
        assert stats.kstest(plain[item] / sd, "norm").pvalue > 1e-3
        assert stats.kstest(own[item] / (sd * x[item].std()), "norm").pvalue > 1e-3
    assert abs(np.corrcoef(plain)[0, 1]) < 0.05
    other = Altered(data, noise=ItemNoise(np.array([0.1, 2.0]), 4)).read(slice(None)).numpy() - x
    assert abs(np.corrcoef(plain[0], other[0])[0, 1]) < 0.05


def test_types_stay_and_relative_noise_needs_spread():
    for kind in (torch.float16, torch.bfloat16, torch.float64):
        inputs = torch.from_numpy(X).to(kind)
        data = Altered(as_data((inputs, Y), "train"), noise=ItemNoise(SD, 0, relative=True))
        assert data.first(2).dtype == kind
        assert not torch.equal(data.first(2), inputs[:2])
    flat = Altered(as_data((np.full((N, 4), 5.0), Y), "train"), noise=ItemNoise(SD, 0, relative=True))
    assert (flat.read(slice(None)) == 5).all()


def test_altered_twice():
    once = Altered(clean(), np.array([5, 6, 7]), noise=ItemNoise(np.ones(3), 0))
    twice = Altered(once, np.array([2, 0]))
    assert torch.equal(twice.read(slice(None)), once.read(slice(None))[[2, 0]])
    assert twice.targets.tolist() == [Y[7], Y[5]]


def test_no_items():
    nothing = Altered(clean(), np.array([], dtype=np.int64), noise=ItemNoise(np.zeros(0), 0))
    assert (len(nothing), len(nothing.read(slice(None)))) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"order": np.array([N])}, "order=30: expected numbers between 0 and 29"),
        ({"order": np.array([-1])}, "indices"),
        ({"order": np.array([0.5])}, "indices"),
        ({"targets": Y[:4]}, "targets=4 of them: expected 30, one per item"),
        ({"noise": ItemNoise(np.ones(2), 0)}, "noise=2 of them: expected 30, one per item"),
    ],
)
def test_what_does_not_fit(arguments, told):
    with pytest.raises(BadInput, match=told):
        Altered(clean(), **arguments)


@pytest.mark.parametrize("sd", [np.array([-1.0]), np.array([np.nan]), np.ones((2, 2))])
def test_sizes_of_noise_are_numbers_of_at_least_0(sd):
    with pytest.raises(BadInput, match="sd="):
        ItemNoise(sd, 0)
