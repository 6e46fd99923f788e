"""The reference set: the best inputs that a subject has, never the test set."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

import mutiny
from mutiny.core.errors import BadInput
from mutiny.subjects.data import as_data
from mutiny.verbs.assess.reference import (
    FEWEST_HELD_OUT,
    FOLDS,
    Reference,
    check_independent,
    reference_of,
    with_folds,
)
from verbs.assess.found import points, separator, subject

ENOUGH = FOLDS * FEWEST_HELD_OUT


def build():
    return nn.Linear(6, 3)


def recipe_subject(train=ENOUGH, **more):
    parts = {
        "models": None,
        "validation": None,
        "recipe": mutiny.Recipe(build, epochs=1),
        "train": points(train, seed=3),
    }
    return subject(**{**parts, **more})


def chosen(some, originals=3):
    some = with_folds(some)
    return reference_of(some, originals)


def unlabeled(n):
    return points(n, seed=4)[0]


def test_the_order_of_kinds():
    """Validation, labeled pool, folds, unlabeled pool, training set, nothing."""
    labeled, train, many = points(80, seed=4), points(70, seed=3), unlabeled(FEWEST_HELD_OUT)
    assert chosen(recipe_subject(validation=points(90, seed=2), pool=labeled)).kind == "validation"
    assert chosen(recipe_subject(pool=labeled)).kind == "pool"
    assert chosen(recipe_subject(pool=many)).kind == "folds"
    assert chosen(recipe_subject(train=ENOUGH - 1)).kind == "train"
    assert chosen(subject(validation=None, pool=labeled, train=train)).kind == "pool"
    assert chosen(subject(validation=None, pool=many, train=train)).kind == "unlabeled"
    assert chosen(subject(validation=None, pool=many)).kind == "unlabeled"
    assert chosen(subject(validation=None, pool=many[1:], train=train)).kind == "train"
    assert chosen(subject(validation=None, train=points(ENOUGH, seed=3))).kind == "train"  # trained elsewhere
    assert chosen(subject(validation=None, pool=unlabeled(80))) is None
    assert chosen(subject(validation=None)) is None


def test_a_pool_with_one_unknown_label_is_not_labeled():
    x, y = points(80, seed=4)
    y = y.clone()
    y[7] = -1
    assert chosen(subject(validation=None, pool=(x, y))) is None


def test_sizes_are_those_of_the_sets():
    assert chosen(subject(reference=77)).inputs == 77
    folds = chosen(recipe_subject(ENOUGH + 7))
    assert len(folds.sets) == 3  # one for each of three originals
    assert FEWEST_HELD_OUT <= folds.inputs == min(map(len, folds.sets.values())) <= FEWEST_HELD_OUT + 2
    assert len(chosen(recipe_subject(), originals=12).sets) == FOLDS


def test_each_original_is_measured_on_the_fold_that_it_was_not_trained_on():
    some = with_folds(recipe_subject(ENOUGH + 3))
    reference = reference_of(some, 12)
    for original in range(12):
        held_out = reference.sets[reference.split(original)].read(slice(None))
        seen = some.training.of(original).read(slice(None))
        assert len(held_out) + len(seen) == ENOUGH + 3
        assert not {row.tobytes() for row in np.asarray(held_out)} & {row.tobytes() for row in np.asarray(seen)}
    every = np.concatenate([np.asarray(data.read(slice(None))) for data in reference.sets.values()])
    assert len(np.unique(every, axis=0)) == ENOUGH + 3


def test_holding_out_leaves_the_given_subject_alone():
    some = recipe_subject()
    other = with_folds(some)
    assert (some.folds, other.folds) == (None, FOLDS)
    assert with_folds(subject()).folds is None


@pytest.mark.parametrize("name", ["validation", "pool", "train"])
def test_the_test_set_cannot_measure_costs(name):
    test = points(300, seed=1)
    some = subject(originals=2, **{"validation": None, "test": test, name: tuple(copy.copy(part) for part in test)})
    told = f"{name}=the same inputs as the test set: expected other inputs than those of the test set"
    with pytest.raises(BadInput, match=told):
        check_independent(chosen(some), some.test)
    with pytest.raises(BadInput, match=told):
        mutiny.assess(some, "GF", seeds=1)


@pytest.mark.parametrize("shape", [(6,), (), (2, 3)])
def test_a_shuffled_test_set_is_still_the_test_set(shape):
    """Inputs with one number, a vector or a matrix each."""
    rng = np.random.default_rng(0)
    x, y, order = rng.normal(size=(50, *shape)).astype(np.float32), np.arange(50) % 3, rng.permutation(50)
    test, shuffled, other = (as_data(pair, "test") for pair in ((x, y), (x[order], y[order]), (x[::-1].copy(), y)))
    with pytest.raises(BadInput, match="the same inputs as the test set"):
        check_independent(Reference("validation", {"validation": shuffled}), test)
    check_independent(Reference("validation", {"validation": as_data((x + 1, y), "validation")}), test)
    check_independent(Reference("validation", {"validation": test.subset(np.arange(49))}), test)
    with pytest.raises(BadInput, match="the same inputs"):  # whatever their targets are, in another order
        check_independent(Reference("validation", {"validation": other}), test)


def test_inputs_of_several_tensors_are_compared_whole():
    parts = {"a": torch.randn(20, 2), "b": torch.randint(0, 5, (20,))}
    order, y = torch.randperm(20), torch.arange(20) % 3
    test, shuffled, other = (
        as_data((some, targets), "test")
        for some, targets in (
            (parts, y),
            ({name: part[order] for name, part in parts.items()}, y[order]),
            ({"a": parts["a"], "b": parts["b"] + 1}, y),
        )
    )
    with pytest.raises(BadInput, match="the same inputs"):
        check_independent(Reference("pool", {"pool": shuffled}), test)
    check_independent(Reference("pool", {"pool": other}), test)


def test_other_inputs_of_the_same_size_are_independent():
    some = subject(test=300, reference=300)
    check_independent(chosen(some), some.test)


def test_originals_of_folds_are_other_networks_and_kept_apart(tmp_path):
    whole = recipe_subject()
    folded = with_folds(whole)
    assert not set(whole.fingerprints(3)) & set(folded.fingerprints(3))
    assert len(set(folded.fingerprints(7))) == 7
    first, second = (some.originals(2, folder=tmp_path) for some in (whole, folded))
    assert not torch.equal(first[1].weight, second[1].weight)
    again = folded.originals(2, folder=tmp_path)
    assert torch.equal(second[1].weight, again[1].weight)


def test_an_assessment_trains_originals_without_their_folds(tmp_path):
    some = recipe_subject(recipe=mutiny.Recipe(build, epochs=3, learning_rate=0.05))
    result = mutiny.assess(some, "GF", originals=3, seeds=1, folder=tmp_path)
    assert result.notice.reference.kind == "folds"
    assert result.notice.reference.inputs == FEWEST_HELD_OUT
    folded = with_folds(some)
    nets = folded.originals(3, folder=tmp_path)
    for number, net in enumerate(nets):
        data = folded.training.held_out(number)
        with torch.no_grad():
            answers = net(torch.as_tensor(data.read(slice(None)))).argmax(1).numpy()
        accuracy = (answers == data.targets).mean()
        assert result.subject.splits["folds"].metrics[number] == pytest.approx(accuracy, abs=2.1 / FEWEST_HELD_OUT)
    assert result.subject.splits["folds"].inputs == FEWEST_HELD_OUT


def test_muff_trains_originals_with_everything(tmp_path):
    some = recipe_subject(recipe=mutiny.Recipe(build, epochs=3, learning_rate=0.05))
    mutiny.assess(some, "GF", method="muff", originals=2, search=mutiny.Search(max_probes=2), folder=tmp_path)
    assert {path.stem for path in tmp_path.rglob("*.safetensors")} >= set(some.fingerprints(2))


def test_costs_are_measured_on_the_reference_set_alone():
    """Other test inputs change verdicts, not faults; other validation inputs change costs."""
    base, other_test, other_reference = (
        mutiny.assess(subject(originals=1, **more), "GF", seeds=2)
        for more in ({}, {"test": points(200, seed=8)}, {"validation": points(600, seed=9)})
    )

    def costs(result):
        return [(fault.strength, fault.cost) for fault in result.faults]

    assert costs(base) == costs(other_test) != costs(other_reference)
    assert [f.p_value for f in base.faults] != [f.p_value for f in other_test.faults]


def test_a_separator_is_what_these_tests_assume():
    x, y = points(2000, seed=5)
    with torch.no_grad():
        accuracy = (separator()(x).argmax(1) == y).float().mean()
    assert 0.93 < accuracy < 0.995
