"""Subjects with a validation set, with folds, and without a training set."""

import numpy as np
import pytest
import torch
from torch import nn

import mutiny
from mutiny.core.errors import BadInput
from mutiny.subjects.data import as_data
from mutiny.subjects.given import as_subject
from mutiny.subjects.training import OwnTraining, train_originals
from mutiny.subjects.training.folds import TrainingSet
from toys import blob_subject, blobs, classifier


def build():
    return nn.Linear(2, 3)


def test_a_validation_set_is_a_split_of_its_own():
    subject = blob_subject(validation=blobs(50, seed=3))
    assert {name: len(data) for name, data in subject.splits().items()} == {"train": 240, "test": 120, "validation": 50}
    assert "validation=50" in repr(subject)
    subject.check()


@pytest.mark.parametrize(
    ("targets", "told"),
    [(torch.full((50,), 7), "validation"), (torch.zeros(50, dtype=torch.long), "validation labels=only class 0")],
)
def test_targets_of_the_validation_set_are_checked(targets, told):
    subject = blob_subject(validation=(blobs(50)[0], targets))
    with pytest.raises(BadInput, match=told):
        subject.check()


def test_a_trained_model_needs_no_training_set():
    subject = blob_subject(train=None)
    assert subject.train is None
    assert "train" not in subject.splits()
    assert "train=" not in repr(subject)
    subject.check()
    assert len(subject.originals()) == 3
    with pytest.raises(BadInput, match=r"train=None: expected the training set of the subject.*Subject\(train="):
        _ = subject.training


def test_a_recipe_needs_a_training_set():
    with pytest.raises(BadInput, match="train=None: expected the training set, which the recipe needs"):
        blob_subject(models=None, recipe=mutiny.Recipe(build), train=None)


def test_a_model_with_its_sets_becomes_a_subject():
    sets = {"data": blobs(120, seed=1), "train": None, "validation": blobs(50, seed=3)}
    subject = as_subject(classifier(), task=None, forward=None, **sets)
    assert (len(subject.test), subject.train, len(subject.validation)) == (120, None, 50)
    with pytest.raises(BadInput, match="validation=given with a Subject"):
        as_subject(subject, None, None, None, None, blobs(50))


@pytest.mark.parametrize("folds", [2, 5, 7])
def test_folds_are_disjoint_and_cover_the_training_set(folds):
    training = TrainingSet(as_data((np.arange(53.0)[:, None], np.arange(53) % 3), "train"), folds)
    parts = [np.asarray(training.held_out(number).read(slice(None))).ravel() for number in range(folds)]
    assert sorted(np.concatenate(parts)) == list(range(53))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    for number in range(2 * folds):
        rest = np.asarray(training.of(number).read(slice(None))).ravel()
        assert sorted([*rest, *parts[number % folds]]) == list(range(53))
    targets = training.held_out(0).targets
    assert np.array_equal(targets, parts[0].astype(int) % 3)


def test_folds_are_drawn_at_random_and_always_the_same():
    """Training sets are often sorted by class."""
    data = as_data((np.arange(60.0)[:, None], np.repeat([0, 1, 2], 20)), "train")
    first, again = (TrainingSet(data, 5).held_out(2) for _ in range(2))
    assert np.array_equal(first.targets, again.targets)
    assert len(set(first.targets)) == 3


def test_without_folds_nothing_is_held_out():
    training = blob_subject().training
    assert len(training.of(3)) == 240
    assert len(training.held_out(3)) == 0


def remembering(settings):
    """A network that holds the sum of all inputs that it was trained on."""
    model = settings.build()
    with torch.no_grad():
        rows = torch.stack([torch.as_tensor(inputs) for inputs, _ in settings.dataset()])
        model.bias.copy_(torch.tensor([len(rows), float(rows.double().sum()), 0.0]))
    return model


def test_each_original_is_trained_without_its_fold(tmp_path):
    recipe = OwnTraining(build, epochs=1, function=remembering, obeys=())
    subject = blob_subject(models=None, recipe=recipe).holding_out(4)
    for number, model in enumerate(subject.originals(6, folder=tmp_path)):
        rest = np.asarray(subject.training.of(number).read(slice(None)), float)
        assert model.bias[0].item() == len(rest) == 180
        assert model.bias[1].item() == pytest.approx(rest.sum(), rel=1e-5)


def test_originals_differ_by_what_they_were_trained_on():
    whole = blob_subject(models=None, recipe=mutiny.Recipe(build, epochs=1))
    prints = [subject.fingerprints(4) for subject in (whole, whole.holding_out(4), whole.holding_out(5))]
    assert len({each for some in prints for each in some}) == 12
    assert whole.holding_out(4).fingerprints(4) == prints[1]
    assert whole.folds is None


def test_training_data_may_be_given_for_each_original(tmp_path):
    whole = blob_subject(models=None, recipe=mutiny.Recipe(build, epochs=1))
    folded = whole.holding_out(4)
    alone = [
        train_originals(whole.recipe, folded.training.of(number), whole.task, number + 1, 0, folder=tmp_path)[number]
        for number in range(2)
    ]
    for model, same in zip(folded.originals(2, folder=tmp_path / "other"), alone, strict=True):
        assert torch.equal(model.weight, same.weight)


@pytest.mark.parametrize("verb", ["select", "locate", "repair", "attack"])
def test_verbs_that_need_no_training_set_answer_without_one(verb):
    more = {"low": -5.0, "high": 5.0} if verb == "attack" else {}
    result = getattr(mutiny, verb)(blob_subject(2, train=None, pool=blobs(60, seed=5)), **more)
    assert result.to_json()["verb"] == verb


def test_strengthen_needs_inputs_that_measure_costs_but_no_training_set():
    subject = blob_subject(2, train=None, pool=blobs(60, seed=5))
    result = mutiny.strengthen(subject, budget=5, operators="GF,LR", seeds=1)  # LR does not apply to these networks
    assert len(result.chosen) == 5
    unlabeled = blob_subject(2, train=None, pool=blobs(60, seed=5)[0])
    with pytest.raises(BadInput, match="validation=None: expected inputs besides the test set"):
        mutiny.strengthen(unlabeled)
