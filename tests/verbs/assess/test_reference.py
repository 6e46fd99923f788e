"""The reference set: the best inputs that a subject has, never the test set."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

import mutiny
from mutiny.core.errors import BadInput
from mutiny.verbs.assess.reference import (
    FEWEST_HELD_OUT,
    FOLDS,
    MOST_TRAINED,
    PRECISE,
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
    told = f"{name}=300 of 300 inputs that are in the test set: expected at least 100 inputs that are not"
    with pytest.raises(BadInput, match=told):
        reference_of(some, 2, some.test)
    with pytest.raises(BadInput, match=told):
        mutiny.assess(some, "GF", seeds=1)


def without_tests(validation, test):
    some = mutiny.Subject(nn.Flatten().eval(), task=mutiny.Classification(3), test=test, validation=validation)
    return reference_of(some, 1, some.test)


@pytest.mark.parametrize("shape", [(6,), (), (2, 3)])
def test_a_shuffled_test_set_is_still_the_test_set(shape):
    """Inputs with one number, a vector or a matrix each."""
    rng = np.random.default_rng(0)
    x, y, order = rng.normal(size=(50, *shape)).astype(np.float32), np.arange(50) % 3, rng.permutation(50)
    for same in ((x[order], y[order]), (x[::-1].copy(), y)):  # whatever their targets are
        with pytest.raises(BadInput, match="50 of 50 inputs that are in the test set"):
            without_tests(same, (x, y))
    assert without_tests((x + 1, y), (x, y)).inputs == 50
    with pytest.raises(BadInput, match="49 of 49 inputs"):
        without_tests((x[:49], y[:49]), (x, y))


def test_inputs_of_several_tensors_are_compared_whole():
    parts = {"a": torch.randn(20, 2), "b": torch.randint(0, 5, (20,))}
    order, y = torch.randperm(20), torch.arange(20) % 3
    with pytest.raises(BadInput, match="20 of 20 inputs"):
        without_tests(({name: part[order] for name, part in parts.items()}, y[order]), (parts, y))
    assert without_tests(({"a": parts["a"], "b": parts["b"] + 1}, y), (parts, y)).inputs == 20


def test_inputs_of_another_type_are_other_inputs():
    x, y = torch.zeros(200, 4), torch.arange(200) % 3
    assert without_tests((x, y), (x.int(), y)).inputs == 200


def test_other_inputs_of_the_same_size_are_independent():
    some = subject(test=300, reference=300)
    found = reference_of(some, 3, some.test)
    assert found.sets["validation"] is some.validation
    assert found.overlaps == ()


def test_tests_are_left_out_of_the_validation_set():
    (x, y), (new_x, new_y) = points(300, seed=1), points(250, seed=2)
    mixed = torch.cat([new_x[:100], x, x[:10], new_x[100:]]), torch.cat([new_y[:100], (y + 1) % 3, y[:10], new_y[100:]])
    some = subject(test=(x, y), validation=mixed)
    kept = reference_of(some, 3, some.test)
    assert torch.equal(kept.sets["validation"].read(slice(None)), new_x)
    assert kept.sets["validation"].targets.tolist() == new_y.tolist()
    assert kept.overlaps == (("validation inputs", 310, 560),)
    assert reference_of(some, 3).inputs == 560


@pytest.mark.parametrize("new", [99, 100])
def test_a_set_of_which_hardly_anything_is_new_is_refused(new):
    (x, y), (new_x, new_y) = points(300, seed=1), points(new, seed=2)
    some = subject(test=(x, y), validation=(torch.cat([x, new_x]), torch.cat([y, new_y])))
    if new == 100:
        assert reference_of(some, 3, some.test).inputs == 100
        return
    with pytest.raises(BadInput, match="validation=300 of 399 inputs that are in the test set"):
        reference_of(some, 3, some.test)


def test_tests_are_left_out_of_training_inputs_beside_a_small_reference_set():
    """Without the tests, a set of validation inputs is too small, so that training inputs measure costs, too."""
    (x, y), train = points(300, seed=1), points(MOST_TRAINED, seed=3)
    new_x, new_y = points(PRECISE - 1, seed=2)
    some = subject(
        test=(x, y),
        validation=(torch.cat([x, new_x]), torch.cat([y, new_y])),
        train=(torch.cat([train[0][7:], x[:7]]), torch.cat([train[1][7:], y[:7]])),
    )
    kept = reference_of(some, 3, some.test)
    assert (kept.inputs, len(kept.trained["train"])) == (PRECISE - 1, MOST_TRAINED - 7)
    assert kept.overlaps == (("validation inputs", 300, PRECISE + 299), ("training inputs", 7, MOST_TRAINED))


def test_tests_are_left_out_of_each_fold():
    x, y = points(ENOUGH, seed=3)
    some = with_folds(recipe_subject(test=(x[:90], y[:90])))
    kept, tests = reference_of(some, 5, some.test), set(some.test.digests())
    for data in (*kept.sets.values(), *kept.trained.values()):
        assert not tests & set(data.digests())
    assert sum(map(len, kept.sets.values())) == ENOUGH - 90
    assert kept.overlaps == (("training inputs", 90, ENOUGH),)
    crowded = with_folds(recipe_subject(test=(x[:-400], y[:-400])))
    with pytest.raises(BadInput, match=r"train=\d+ of 250 inputs that are in the test set \(fold 1\)"):
        reference_of(crowded, 5, crowded.test)


def test_tests_are_left_out_of_an_unlabeled_pool_which_originals_share():
    x, y = points(300, seed=1)
    some = subject(test=(x, y), validation=None, pool=torch.cat([unlabeled(400), x[:50]]))
    kept = reference_of(some, 3, some.test)
    assert kept.kind == "unlabeled"
    assert len({id(data) for data in kept.sets.values()}) == 1
    assert (kept.inputs, kept.overlaps) == (400, (("inputs of the pool", 50, 450),))


def test_a_test_set_that_is_nearly_the_validation_set_measures_no_cost():
    """A blind test set, on which no fault shows, makes no fault cheap."""
    x, y = points(5000, seed=1)
    far = (separator()(x).topk(2).values @ torch.tensor([1.0, -1.0])).argsort(descending=True)[:300]
    blind, (new_x, new_y) = (x[far], y[far]), points(600, seed=2)
    mixed = torch.cat([blind[0], new_x]), torch.cat([blind[1], new_y])
    apart, mixed = (
        mutiny.assess(subject(test=blind, validation=each), "GF", seeds=2, batch_size=512)
        for each in ((new_x, new_y), mixed)
    )
    assert [fault.cost for fault in mixed.faults] == [fault.cost for fault in apart.faults]
    assert mixed.notice.rate == apart.notice.rate < 0.3
    assert mixed.notice.reference.inputs == 600
    assert "300 of 900 validation inputs are tests; costs were measured without them." in mixed.notes


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
