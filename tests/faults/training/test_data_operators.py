"""Operators on training data, each against a simple implementation of its definition."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import nn

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults.training.base import Program, Span
from mutiny.faults.training.data import (
    ClassOverlap,
    DataMissing,
    DataRemoval,
    DataRepetition,
    DataShuffle,
    DataUnbalance,
    LabelChange,
    LabelError,
    NoiseAddition,
    NoisePerturbation,
)
from mutiny.subjects.data import as_data
from mutiny.subjects.data.altered import Altered
from mutiny.subjects.tasks import Classification, Regression
from mutiny.subjects.training import Recipe

SIZES = {0: 10, 1: 40, 2: 40, 3: 6, 5: 24}
"""Class 4 of 6 does not occur; 1 and 2 are equally large; 0 and 3 are below the mean of 24, and 5 is not."""
LABELS = np.random.default_rng(0).permutation(np.repeat(list(SIZES), list(SIZES.values())))
N = len(LABELS)
DEEPCRIME = [LabelChange, DataRemoval, DataUnbalance, NoiseAddition, ClassOverlap]
DEEPMUTATION = [DataRepetition, LabelError, DataMissing, DataShuffle, NoisePerturbation]
ALL = DEEPCRIME + DEEPMUTATION
shares = st.integers(0, 98).map(lambda percent: percent / 100)  # 99% of 120 items leave too few
all_shares = st.integers(0, 100).map(lambda percent: percent / 100)


def program(targets=LABELS, task=None, inputs=None):
    """Each input begins with the item's number."""
    targets = np.asarray(targets)
    n = len(targets)
    if inputs is None:
        inputs = np.stack([np.arange(n), np.random.default_rng(1).normal(size=n), np.ones(n)], axis=1)
    return Program(Recipe(lambda: nn.Linear(3, 6)), as_data((inputs, targets), "train"), task or Classification(6))


def regression(y=None):
    y = np.random.default_rng(2).gamma(2.0, 3.0, (N, 1)) + 100 if y is None else y
    return program(y, Regression(0.1))


def mutated(operator, program, seed=0):
    return operator.mutate(program, np.random.default_rng(seed)).data


def numbers(data):
    """Indices of the items in the clean data, read from their inputs."""
    return data.read(slice(None))[:, 0].round().int().tolist()


def touched(operator, program, seed=0):
    """The changes by an operator as a multiset: removed and repeated items, new targets, noise."""
    data, clean = mutated(operator, program, seed), program.data
    if data.noise is not None:
        return Counter(np.flatnonzero(data.noise.sd).tolist())
    before = Counter(range(len(clean)))
    after = Counter(data.order.tolist())
    if before != after:
        added = [(int(i), str(data.targets[at])) for at, i in enumerate(data.order) if at >= len(clean)]
        return Counter(added) + Counter((before - after).elements())
    if (data.order != np.arange(len(clean))).any():
        return Counter(np.flatnonzero(data.order != np.arange(len(clean))).tolist())
    return Counter((i, int(data.targets[i])) for i in range(len(clean)) if data.targets[i] != clean.targets[i])


def how_many(share, n):
    return 0 if share == 0 else min(n, max(1, round(share * n)))


# what holds for all


@pytest.mark.parametrize("kind", ALL)
def test_facts(kind):
    operator = kind()
    assert operator.level == "data"
    assert operator.strength == ("share" if kind in DEEPCRIME else "ratio")
    assert operator.source == ("DeepCrime" if kind in DEEPCRIME else "DeepMutation")
    severe = 0.99 if kind in (DataRemoval, DataMissing) else 1.0
    assert operator.span(program()) == Span(0, severe, 0.05)
    assert operator.configurations(program()) == (operator,)
    assert getattr(operator.at(0.25), operator.strength) == 0.25
    if kind in DEEPMUTATION:
        assert (operator.ratio, operator.of) == (0.01, None)


@pytest.mark.parametrize("kind", ALL)
@settings(max_examples=20, deadline=None)
@given(shares, shares, st.integers(0, 99))
def test_a_larger_share_keeps_what_a_smaller_one_did(kind, one, other, seed):
    small, large = sorted([one, other])
    few, many = (touched(kind().at(share), program(), seed) for share in (small, large))
    assert not few - many


@pytest.mark.parametrize("kind", ALL)
@settings(max_examples=10, deadline=None)
@given(shares, st.integers(0, 99))
def test_one_seed_one_fault_and_the_clean_data_stay(kind, share, seed):
    subject = program()
    before, labels = subject.data.fingerprint(), subject.data.targets.copy()
    first = mutated(kind().at(share), subject, seed)
    assert first.fingerprint() == mutated(kind().at(share), program(), seed).fingerprint()
    subject.data._fingerprint = None
    assert subject.data.fingerprint() == before
    assert np.array_equal(subject.data.targets, labels)
    assert (first.fingerprint() == before) == (share == 0)  # every share above 0 changes something


@pytest.mark.parametrize("kind", ALL)
def test_seeds_differ(kind):
    assert len({mutated(kind().at(0.3), program(), seed).fingerprint() for seed in range(5)}) == 5


@pytest.mark.parametrize("kind", ALL)
def test_nothing_else_of_the_program_changes(kind):
    subject = program()
    found = kind().mutate(subject, np.random.default_rng(0))
    assert isinstance(found.data, Altered)
    assert found.data.clean is subject.data
    assert replace(found, data=subject.data) == subject


@pytest.mark.parametrize("kind", [kind for kind in ALL if kind is not LabelError])
@pytest.mark.parametrize("outputs", [1, 2])
def test_regression_keeps_what_a_smaller_share_did(kind, outputs):
    y = np.random.default_rng(5).gamma(2.0, 3.0, (N, outputs))
    subject = regression(y)
    clean = subject.data.fingerprint()
    assert mutated(kind().at(0), subject).fingerprint() == clean
    assert mutated(kind().at(0.5), subject).fingerprint() != clean
    if kind is not LabelChange:  # all targets are noisy, at any share
        assert not touched(kind().at(0.2), subject) - touched(kind().at(0.6), subject)


@pytest.mark.parametrize("kind", ALL)
def test_one_hot_labels_are_labels(kind):
    plain, rows = mutated(kind().at(0.4), program()), mutated(kind().at(0.4), program(np.eye(6)[LABELS]))
    check = Classification(6).check_targets
    assert np.array_equal(check(plain.targets, "train"), check(rows.targets, "train"))
    assert torch.equal(plain.read(slice(None)), rows.read(slice(None)))


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("share", [-0.1, 1.1, True, "half", float("nan")])
def test_a_share_is_a_share(kind, share):
    name = kind.strength
    with pytest.raises(BadInput, match=f"{kind.code} {name}=.*a number between 0 and 1"):
        kind(**{name: share})


@pytest.mark.parametrize("kind", [*DEEPMUTATION, LabelChange])
def test_classes_that_there_are_not(kind):
    for wrong in (6, 99):
        with pytest.raises(BadInput, match=f"{kind.code} of={wrong}: expected a class between 0 and 5"):
            mutated(kind(of=wrong), program())
    with pytest.raises(NotApplicable, match="no training item is of class 4"):
        mutated(kind(of=4), program())
    with pytest.raises(NotApplicable, match="targets are real numbers"):
        mutated(kind(of=0), regression())
    for wrong in (-1, 0.5, True):
        with pytest.raises(BadInput, match=f"{kind.code} of"):
            kind(of=wrong)


# DeepCrime


@settings(max_examples=20, deadline=None)
@given(all_shares, st.integers(0, 99))
def test_label_change(share, seed):
    data = mutated(LabelChange(share), program(), seed)
    assert numbers(data) == list(range(N))
    wrong = data.targets != LABELS
    assert wrong.sum() == how_many(share, SIZES[1])
    assert (LABELS[wrong] == 1).all()  # of two that are most frequent, the first
    assert set(data.targets[wrong]) <= {0, 2, 3, 5}  # 4 does not occur


def test_label_change_draws_evenly_among_the_others():
    labels = np.repeat([0, 1, 2, 3], [3000, 5, 5, 5])
    new = mutated(LabelChange(1.0), program(labels, Classification(4))).targets[:3000]
    assert stats.chisquare(np.bincount(new, minlength=4)[1:]).pvalue > 1e-3
    assert (new != 0).all()


def test_label_change_of_a_class_that_is_named():
    data = mutated(LabelChange(1.0, of=3), program())
    assert (data.targets != LABELS).tolist() == (LABELS == 3).tolist()


def test_label_change_in_regression():
    y = np.random.default_rng(3).normal([5, -1], [10, 0.1], (4000, 2))
    half, whole = (mutated(LabelChange(share), regression(y)).targets - y for share in (0.5, 1.0))
    assert np.allclose(2 * half, whole)  # one draw, more of it
    for output in range(2):
        assert stats.kstest(whole[:, output] / y[:, output].std(), "norm").pvalue > 1e-3
    with pytest.raises(NotApplicable, match="all targets are equal"):
        mutated(LabelChange(), regression(np.full((N, 1), 0.1)))


@settings(max_examples=20, deadline=None)
@given(shares, st.integers(0, 99))
def test_data_removal(share, seed):
    data = mutated(DataRemoval(share), program(), seed)
    for label, size in SIZES.items():
        assert (data.targets == label).sum() == size - min(size - 1, how_many(share, size))
    left = numbers(data)
    assert left == sorted(set(left))
    assert np.array_equal(data.targets, LABELS[left])


def test_data_removal_never_removes_a_class():
    data = mutated(DataRemoval(1.0), program())
    assert sorted(data.targets) == sorted(SIZES)


def slow_buckets(y):
    found = {}
    for i, row in enumerate(y):
        name = ""
        for column, value in enumerate(row):
            values = y[:, column]
            low, high = values.mean() - values.std(), values.mean() + values.std()
            name += "low " if value < low else "high " if value > high else "middle "
        found.setdefault(name, []).append(i)
    return found


@pytest.mark.parametrize("outputs", [1, 2, 3])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_buckets_in_regression(outputs, share):
    y = np.random.default_rng(4).gamma(2.0, 3.0, (300, outputs)) + 100
    groups = slow_buckets(y).values()
    assert 1 < len(groups) <= 3**outputs
    left = set(numbers(mutated(DataRemoval(share), regression(y))))
    for group in groups:
        assert len(left & set(group)) == len(group) - min(len(group) - 1, how_many(share, len(group)))
    mean = 300 / len(groups)
    left = set(numbers(mutated(DataUnbalance(share), regression(y))))
    for group in groups:
        gone = how_many(share, len(group)) if len(group) < mean else 0
        assert len(left & set(group)) == len(group) - gone


@settings(max_examples=20, deadline=None)
@given(all_shares, st.integers(0, 99))
def test_data_unbalance(share, seed):
    data = mutated(DataUnbalance(share), program(), seed)
    for label, size in SIZES.items():
        assert (data.targets == label).sum() == size - (how_many(share, size) if label in (0, 3) else 0)
    assert np.array_equal(data.targets, LABELS[numbers(data)])


@pytest.mark.parametrize("labels", [np.arange(60) % 6, np.zeros(9, int), [2]])
def test_balanced_data_stay_balanced(labels):
    with pytest.raises(NotApplicable, match="no class or bucket is smaller than the mean"):
        DataUnbalance().configurations(program(labels))


@settings(max_examples=10, deadline=None)
@given(all_shares, st.integers(0, 99))
@pytest.mark.parametrize("sd", [None, 0.3])
def test_noise_addition(sd, share, seed):
    inputs = np.random.default_rng(6).normal(0, np.linspace(1, 9, N)[:, None], (N, 400)).astype(np.float32)
    data = mutated(NoiseAddition(share, sd), program(inputs=inputs), seed)
    noise = data.read(slice(None)).numpy() - inputs
    noisy = np.abs(noise).max(axis=1) > 0
    assert noisy.sum() == how_many(share, N)
    assert np.array_equal(data.targets, LABELS)
    sizes = noise[noisy].std(axis=1) / inputs[noisy].std(axis=1)
    assert np.allclose(sizes, share if sd is None else sd, rtol=0.25)


def test_noise_addition_grows_with_the_share_or_does_not():
    def change(share, sd=None):
        return mutated(NoiseAddition(share, sd), program()).read(slice(None)).double() - program().data.first(N)

    half, whole = change(0.5), change(1.0)
    some = half.abs().amax(dim=1) > 0
    assert torch.allclose(2 * half[some], whole[some], atol=1e-4)
    assert torch.allclose(change(0.5, 1.0)[some], whole[some], atol=1e-4)


@pytest.mark.parametrize("kind", [NoiseAddition, NoisePerturbation])
def test_noise_wants_real_numbers(kind):
    with pytest.raises(NotApplicable, match="inputs are whole numbers"):
        kind().configurations(program(inputs=np.zeros((N, 3), int)))
    for wrong in (0, -1, float("inf")):
        with pytest.raises(BadInput, match=f"{kind.code} sd"):
            kind(sd=wrong)
    assert kind().configurations(program(inputs=(np.zeros((N, 3), int), np.full((N, 2), 0.5))))
    with pytest.raises(NotApplicable, match="fewer than 2 numbers"):
        NoiseAddition().configurations(program(inputs=np.zeros(N)))
    assert NoisePerturbation().configurations(program(inputs=np.zeros(N)))


@pytest.mark.parametrize("operator", [NoiseAddition(1.0), NoisePerturbation(1.0)])
def test_noise_spares_masks(operator):
    rng = np.random.default_rng(0)
    mask, signal = (rng.random((N, 3)) > 0.5).astype(np.float32), rng.normal(size=(N, 3)).astype(np.float32)
    ids = rng.integers(0, 9, (N, 3))
    given_ids, given_mask, given_signal = mutated(operator, program(inputs=(ids, mask, signal))).read(slice(None))
    assert np.array_equal(given_ids, ids)
    assert np.array_equal(given_mask, mask)
    assert (given_signal.numpy() != signal).all()
    with pytest.raises(NotApplicable, match="whole numbers and masks"):
        operator.configurations(program(inputs={"ids": ids, "mask": mask}))
    alone = mutated(operator, program(inputs=mask)).read(slice(None)).numpy()  # an image of black and white
    varied = mask.std(axis=1) > 0
    assert (alone != mask)[varied].all()


@settings(max_examples=20, deadline=None)
@given(all_shares, st.integers(0, 99))
def test_class_overlap(share, seed):
    data = mutated(ClassOverlap(share), program(), seed)
    assert numbers(data)[:N] == list(range(N))
    assert np.array_equal(data.targets[:N], LABELS)
    copies = numbers(data)[N:]
    assert len(copies) == len(set(copies)) == how_many(share, SIZES[1])
    assert (LABELS[copies] == 1).all()
    assert (data.targets[N:] == 2).all()


def test_class_overlap_of_the_largest_with_the_second_largest():
    data = mutated(ClassOverlap(1.0), program(np.repeat([0, 1, 2], [2, 3, 9])))
    assert sorted(numbers(data)[14:]) == list(range(5, 14))
    assert set(data.targets[14:]) == {1}


def test_class_overlap_in_regression():
    y = np.random.default_rng(4).gamma(2.0, 3.0, (300, 1))
    first, second = sorted(slow_buckets(y).values(), key=len, reverse=True)[:2]
    data = mutated(ClassOverlap(0.5), regression(y))
    copies = numbers(data)[300:]
    assert set(copies) <= set(first)
    assert len(copies) == how_many(0.5, len(first))
    assert set(data.targets[300:, 0]) <= set(y[second, 0])
    assert len(set(data.targets[300:, 0])) > 1
    assert np.array_equal(data.targets[:300], y)


@pytest.mark.parametrize("kind", [LabelChange, ClassOverlap])
def test_one_class_only(kind):
    with pytest.raises(NotApplicable, match="only one class"):
        kind().configurations(program(np.full(9, 3)))


# DeepMutation


def eligible(of):
    return np.array([item for item, label in enumerate(LABELS) if of in (None, label)])


scopes = st.sampled_from([None, 0, 1, 3, 5])


@settings(max_examples=20, deadline=None)
@given(all_shares, scopes, st.integers(0, 99))
def test_data_repetition(ratio, of, seed):
    data = mutated(DataRepetition(ratio, of), program(), seed)
    found = numbers(data)
    assert found[:N] == list(range(N))
    assert len(found[N:]) == len(set(found[N:])) == how_many(ratio, len(eligible(of)))
    assert set(found[N:]) <= set(eligible(of))
    assert np.array_equal(data.targets, LABELS[found])


@settings(max_examples=20, deadline=None)
@given(all_shares, scopes, st.integers(0, 99))
def test_label_error(ratio, of, seed):
    data = mutated(LabelError(ratio, of), program(), seed)
    assert numbers(data) == list(range(N))
    wrong = np.flatnonzero(data.targets != LABELS)
    assert len(wrong) == how_many(ratio, len(eligible(of)))
    assert set(wrong) <= set(eligible(of))
    assert set(data.targets) <= set(range(6))


def test_label_error_draws_evenly_among_all_other_classes():
    labels = np.full(3000, 2)
    new = mutated(LabelError(1.0), program(labels)).targets
    counts = np.bincount(new, minlength=6)
    assert counts[2] == 0
    assert stats.chisquare(np.delete(counts, 2)).pvalue > 1e-3


def test_label_error_says_nothing_to_regression():
    with pytest.raises(NotApplicable, match="no other label"):
        LabelError().configurations(regression())


@settings(max_examples=20, deadline=None)
@given(shares, scopes, st.integers(0, 99))
def test_data_missing(ratio, of, seed):
    data = mutated(DataMissing(ratio, of), program(), seed)
    left = numbers(data)
    gone = sorted(set(range(N)) - set(left))
    assert left == sorted(set(left))
    assert len(gone) == how_many(ratio, len(eligible(of)))
    assert set(gone) <= set(eligible(of))
    assert np.array_equal(data.targets, LABELS[left])


def test_a_class_can_be_missing():
    assert 5 not in mutated(DataMissing(1.0, of=5), program()).targets


@settings(max_examples=20, deadline=None)
@given(all_shares, scopes, st.integers(0, 99), st.booleans())
def test_data_shuffle(ratio, of, seed, labels_stay):
    data = mutated(DataShuffle(ratio, of, labels_stay), program(), seed)
    found = np.array(numbers(data))
    assert sorted(found) == list(range(N))
    moved = np.flatnonzero(found != np.arange(N))
    assert len(moved) == (max(2, how_many(ratio, len(eligible(of)))) if ratio else 0)
    assert set(moved) <= set(eligible(of))
    assert np.array_equal(data.targets, LABELS if labels_stay else LABELS[found])


def test_data_shuffle_moves_items_anywhere():
    places = Counter(numbers(mutated(DataShuffle(1.0), program(np.arange(5)), seed))[0] for seed in range(800))
    assert set(places) == {1, 2, 3, 4}
    assert stats.chisquare(list(places.values())).pvalue > 1e-3


@settings(max_examples=10, deadline=None)
@given(all_shares, scopes, st.integers(0, 99))
def test_noise_perturbation(ratio, of, seed):
    inputs = np.random.default_rng(6).random((N, 400)).astype(np.float32)
    data = mutated(NoisePerturbation(ratio, of), program(inputs=inputs), seed)
    noise = data.read(slice(None)).numpy() - inputs
    noisy = np.flatnonzero(np.abs(noise).max(axis=1))
    assert len(noisy) == how_many(ratio, len(eligible(of)))
    assert set(noisy) <= set(eligible(of))
    assert np.allclose(noise[noisy].std(axis=1), 0.1, rtol=0.25)
    assert np.array_equal(data.targets, LABELS)


# tiny data


@pytest.mark.parametrize(
    ("operator", "labels", "told"),
    [
        (DataMissing(0.99), [0, 1], "too few items to remove one: 2"),
        (DataRemoval(0.99), [3, 3, 3], "too few items would be left: 1 of 3"),
        (DataRemoval(0.5), [0, 1, 2], "each class or bucket has only one item"),
        (DataShuffle(0.5), [1], "a single item"),
        (DataShuffle(0.5, of=1), [0, 0, 1], "a single item"),
        (DataRepetition(0.0), [1], "too few items would be left: 1 of 1"),
    ],
)
def test_too_few(operator, labels, told):
    with pytest.raises(NotApplicable, match=told):
        mutated(operator, program(labels))


def test_two_items_are_enough():
    assert mutated(DataUnbalance(1.0), program([0, 0, 1])).targets.tolist() == [0, 0]
    assert mutated(DataMissing(0.01), program([3, 3, 3])).targets.tolist() == [3, 3]
    assert numbers(mutated(DataShuffle(0.01), program([0, 1]))) == [1, 0]


@pytest.mark.parametrize("kind", ALL)
def test_a_faulty_program_trains(kind):
    subject = program()
    subject = replace(subject, recipe=replace(subject.recipe, epochs=1))
    faulty = kind().mutate(subject, np.random.default_rng(0))
    model = faulty.recipe.train(faulty.data, faulty.task, seed=0)
    assert model.weight.isfinite().all()
