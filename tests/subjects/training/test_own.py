"""Training functions of one's own: what they get, which faults they can have, and that the faults arrive."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests import toys
from torch import nn
from torch.utils.data import DataLoader

from mutiny import BadInput, Classification, NotApplicable, Regression, Subject, assess
from mutiny.core.errors import Diverged
from mutiny.core.records import Status
from mutiny.faults.training import TRAINING_OPERATORS
from mutiny.faults.training.base import Program
from mutiny.subjects.data import as_data
from mutiny.subjects.training import OwnTraining, TrainingSettings
from mutiny.subjects.training.own import PARTS
from mutiny.verbs.assess.muff.dry_run import plan

EVERYTHING = tuple(PARTS)


def build():
    return nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 3))


def fit(settings):
    """What people write."""
    model = settings.build()
    optimizer = settings.optimizer(model.parameters())
    for _ in range(settings.recipe.epochs):
        for inputs, targets in DataLoader(settings.dataset(), settings.recipe.batch_size, shuffle=True):
            optimizer.zero_grad()
            settings.loss(model(inputs), targets).backward()
            optimizer.step()
    return model


def own(obeys=EVERYTHING, function=fit, **more):
    return OwnTraining(build, epochs=3, batch_size=16, learning_rate=0.01, function=function, obeys=obeys, **more)


def program(recipe):
    return Program(recipe, as_data(toys.blobs(150), "train"), Classification(3))


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def test_one_seed_one_network_and_untouched_generators():
    one = program(own())
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first, again, other = (one.recipe.train(one.data, one.task, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(weights(first), weights(again))
    assert not torch.equal(weights(first), weights(other))
    assert not first.training
    assert all(parameter.grad is None for parameter in first.parameters())


def test_settings_arrive():
    seen = []

    def spy(settings):
        seen.append(settings)
        return settings.build()

    one = program(own(function=spy))
    rng = np.random.default_rng(0)
    for code in ("HNE", "HLR", "TRD", "ARM"):
        faulty = TRAINING_OPERATORS[code]().mutate(one, rng)
        faulty.recipe.train(faulty.data, faulty.task, 0)
    epochs, rate, data, network = seen
    assert epochs.recipe.epochs == 1
    assert rate.recipe.learning_rate < 0.01
    assert len(data.dataset()) < 150
    assert not any(isinstance(module, nn.ReLU) for module in network.build())
    assert isinstance(epochs, TrainingSettings)


@pytest.mark.parametrize("code", sorted(TRAINING_OPERATORS))
def test_whatever_is_not_obeyed_is_not_applicable(code):
    """An operator applies only if all that it changes is obeyed."""
    everything = program(own(validation=0.2, patience=2, clip_norm=1.0))
    try:
        TRAINING_OPERATORS[code]().configurations(everything)
    except NotApplicable:
        return  # no such thing in this network
    with pytest.raises(NotApplicable, match="does not obey"):
        TRAINING_OPERATORS[code]().configurations(replace(everything, recipe=replace(everything.recipe, obeys=())))


def test_one_configuration_that_is_not_obeyed_is_enough():
    """Most optimizers have another learning rate by default; the first of the list may have the same."""
    one = program(replace(own(("optimizer",)), learning_rate=1e-3))
    with pytest.raises(NotApplicable, match="does not obey learning_rate"):
        TRAINING_OPERATORS["OCH"]().configurations(one)


def test_the_plan_says_what_applies():
    subject = Subject(
        recipe=own(("data", "epochs")), task=Classification(3), train=toys.blobs(60), test=toys.blobs(60, seed=1)
    )
    planned = {one.label: one for one in plan(subject, "TRD,HNE,HLR,ACH", originals=2)}
    assert planned["HLR"].reason == "the training function does not obey learning_rate"
    assert planned["ACH"].reason == "the training function does not obey build"
    assert planned["TRD"].trainings > 0 < planned["HNE"].trainings


def test_a_campaign(tmp_path):
    subject = Subject(recipe=own(), task=Classification(3), train=toys.blobs(150), test=toys.blobs(90, seed=1))
    result = assess(subject, "HNE,OCH", originals=3, folder=tmp_path, method="muff")
    assert {one.code: one.status for one in result.operators}["OCH"] is Status.SCORED
    assert result.operators[0].status in (Status.SCORED, Status.NOT_KILLABLE)


def test_the_penalty_follows_the_weights():
    one = program(own(regularizers={"0": (0.5, 0.25)}))
    settings = TrainingSettings(one.recipe, one.data, one.task, 0)
    model = settings.build()
    weight = model[0].weight.detach().numpy().astype(np.float64)
    penalty = settings.penalty(model)
    penalty.backward()
    assert penalty.item() == pytest.approx(0.5 * np.abs(weight).sum() + 0.25 * (weight**2).sum())
    assert model[0].weight.grad.numpy() == pytest.approx(0.5 * np.sign(weight) + 0.5 * weight)
    assert replace(settings, recipe=own()).penalty(model) == 0.0


def test_items_of_a_dataset():
    inputs, targets = {"a": np.zeros((4, 2), np.float32), "b": np.arange(4.0)}, np.arange(4.0)
    data = as_data((inputs, targets), "train")
    items = TrainingSettings(own(), data, Regression(0.1), 0).dataset()
    one, target = items[2]
    assert (one["a"].shape, float(one["b"]), float(target)) == ((2,), 2.0, 2.0)
    assert float(items[-1][1]) == 3.0
    with pytest.raises(IndexError):
        items[4]


def broken(model):
    with torch.no_grad():
        model[0].weight[0, 0] = torch.nan
    return model


def trained(settings):
    one = program(own(**settings))
    return one.recipe.train(one.data, one.task, 0)


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"obeys": ("epoch",)}, BadInput, "obeys"),
        ({"function": 3}, BadInput, "function"),
        ({"function": lambda settings: None}, BadInput, "returns NoneType"),
        ({"function": lambda settings: broken(settings.build())}, Diverged, "finite weights"),
    ],
)
def test_what_cannot_be(settings, error, text):
    with pytest.raises(error, match=text):
        trained(settings)
