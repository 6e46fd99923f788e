"""Trained defenses: what they learn from."""

from dataclasses import replace

import pytest
import torch
from torch import nn

import toys
from mutiny.core.errors import BadInput
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification, Regression
from mutiny.subjects.training import Recipe
from mutiny.verbs.attack.trained import distilled, smoothed

RECIPE = Recipe(lambda: nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 3)), epochs=15, learning_rate=0.05)


def data():
    return as_data(toys.blobs(240), "train")


def accuracy(model):
    x, y = toys.blobs(240)
    return float((model(x).argmax(1) == y).double().mean())


def confidence(model):
    return float(model(toys.blobs(240)[0]).softmax(1).amax(1).mean().detach())


def test_smoothed_labels_make_less_sure():
    plain, smooth = (r.train(data(), Classification(3, "logits"), 0) for r in (RECIPE, smoothed(RECIPE, 0.3)))
    assert accuracy(smooth) > accuracy(plain) - 0.05
    assert confidence(smooth) < confidence(plain)
    assert confidence(smooth) < 0.85  # a share of 0.3 over three classes leaves 0.8


def test_a_student_is_surer_than_its_teacher_was():
    plain = RECIPE.train(data(), Classification(3, "logits"), 0)
    student = distilled(RECIPE, data(), Classification(3, "logits"), temperature=20.0)
    assert accuracy(student) > accuracy(plain) - 0.05
    assert confidence(student) > confidence(plain)
    assert not student.training
    again = distilled(RECIPE, data(), Classification(3, "logits"), temperature=20.0)
    assert torch.equal(again[0].weight, student[0].weight)
    other = distilled(RECIPE, data(), Classification(3, "logits"), temperature=20.0, seed=1)
    assert not torch.equal(other[0].weight, student[0].weight)


def test_data_stay_as_they_are():
    before = data()
    targets = before.targets.copy()
    distilled(RECIPE, before, Classification(3, "logits"), temperature=5.0)
    assert (before.targets == targets).all()


def test_data_as_a_subject_takes_them():
    quick = replace(RECIPE, epochs=1)
    one, other = (distilled(quick, source, Classification(3)) for source in (toys.blobs(240), data()))
    assert torch.equal(one[0].weight, other[0].weight)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: smoothed(RECIPE, 1.0), "between 0 and 1"),
        (lambda: smoothed(RECIPE, "a"), "share='a'"),
        (lambda: smoothed(nn.Linear(1, 2)), "recipe=Linear"),
        (lambda: distilled(RECIPE, data(), Classification(3), temperature=0.5), "at least 1"),
        (lambda: distilled(RECIPE, data(), Classification(3), temperature="a"), "temperature='a'"),
        (lambda: distilled(RECIPE, data(), Classification(3), temperature=float("inf")), "temperature=inf"),
        (lambda: distilled(RECIPE, data(), Classification(3), seed=-1), "seed=-1"),
        (lambda: distilled(RECIPE, data(), Regression(0.1)), "task=Regression"),
        (lambda: distilled(RECIPE, 5, Classification(3)), "data=int"),
        (lambda: distilled(toys.classifier(), data(), Classification(3)), "recipe=Sequential"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(BadInput, match=message):
        make()
