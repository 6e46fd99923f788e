"""Networks trained at once are those trained one by one."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import toys
from mutiny import Classification, Regression
from mutiny.subjects.data import as_data
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.together import ELEMENTWISE, reason_against, train_together

SEEDS = (3, 1, 4)


def perceptron():
    return nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 3)).double()


class Tied(nn.Module):
    """One matrix twice, a frozen layer, and no bias."""

    def __init__(self):
        super().__init__()
        self.enter, self.first = nn.Linear(2, 4), nn.Linear(4, 4, bias=False)
        self.second, self.leave = nn.Linear(4, 4, bias=False), nn.Linear(4, 3)
        self.second.weight = self.first.weight
        self.enter.requires_grad_(requires_grad=False)
        self.double()

    def forward(self, inputs):
        return self.leave(self.second(self.first(self.enter(inputs)).tanh()))


def convolution():
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3 * 36, 3)).double()


def points(n=50, seed=0):
    return as_data(toys.blobs(n, seed=seed), "train")


def images():
    rng = np.random.default_rng(0)
    return as_data((rng.normal(size=(20, 1, 8, 8)), np.arange(20) % 3), "train")


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def agree(recipe, data, task=None, forward=None):
    task, more = task or Classification(3), {"forward": forward}
    assert reason_against(recipe, data) is None
    ours = train_together(recipe, data, task, SEEDS, **more)
    for model, one, seed in zip(ours, data, SEEDS, strict=True):
        theirs = recipe.train(one, task, seed, **more)
        torch.testing.assert_close(weights(model), weights(theirs), rtol=1e-7, atol=1e-9)
        assert not model.training
        assert [p.requires_grad for p in model.parameters()] == [p.requires_grad for p in theirs.parameters()]


@pytest.mark.parametrize("optimizer", ELEMENTWISE)
def test_every_optimizer(optimizer):
    agree(Recipe(perceptron, epochs=3, batch_size=16, optimizer=optimizer), [points()] * 3)


@pytest.mark.parametrize(
    "settings",
    [
        {"schedule": "onecycle"},
        {"schedule": "cosine"},
        {"clip_norm": 0.1},
        {"clip_value": 0.01},
        {"weight_decay": 0.1},
        {"loss": "mse"},
        {"loss": functional.cross_entropy},
        {"initializers": {"0": "kaiming_normal"}},
        {"optimizer": "sgd", "optimizer_settings": {"momentum": 0.9}},
        {"batch_size": 7},
        {"batch_size": 500},
    ],
    ids=lambda settings: "-".join(settings),
)
def test_every_setting(settings):
    usual = {"epochs": 2, "batch_size": 16, "learning_rate": 0.01}
    agree(Recipe(perceptron, **{**usual, **settings}), [points()] * 3)


@pytest.mark.parametrize(("build", "data"), [(Tied, points), (convolution, images)])
def test_other_networks(build, data):
    agree(Recipe(build, epochs=2, batch_size=8), [data()] * 3)


def test_own_data_and_own_call():
    data = [points(seed=seed) for seed in range(3)]
    agree(Recipe(perceptron, epochs=2, batch_size=16), data, forward=lambda model, inputs: 2 * model[:3](inputs))


def test_regression_with_nested_inputs():
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.leave = nn.Linear(2, 1).double()

        def forward(self, inputs):
            return self.leave(inputs["a"] + inputs["b"])

    rng = np.random.default_rng(0)
    inputs = {"a": rng.normal(size=(20, 2)), "b": rng.normal(size=(20, 2))}
    data = as_data((inputs, rng.normal(size=20)), "train")
    agree(Recipe(Sum, epochs=2, batch_size=8), [data] * 3, Regression(0.1))


def test_one_that_diverges_leaves_the_others():
    def rough():
        model = perceptron()
        with torch.no_grad():
            model[0].weight.mul_(1.0 if torch.rand(()) > 0.5 else torch.nan)
        return model

    mixed = Recipe(rough, epochs=2, batch_size=16)
    found = train_together(mixed, [points()] * 6, Classification(3), range(6))
    assert any(model is None for model in found)
    for seed, model in enumerate(found):
        if model is not None:
            alone = mixed.train(points(), Classification(3), seed)
            torch.testing.assert_close(weights(model), weights(alone))


def dropping():
    return nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5))


def normalizing():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        (Recipe(dropping), "dropout"),
        (Recipe(normalizing), "buffers"),
        (Recipe(perceptron, loss="squared_hinge"), "one network at a time"),
        (Recipe(perceptron, patience=2), "end at its own epoch"),
        (Recipe(perceptron, regularizers={"0": (0.1, 0.0)}), "added to the loss"),
        (Recipe(perceptron, optimizer="adafactor"), "adafactor"),
    ],
    ids=["dropout", "buffers", "loss", "patience", "regularizers", "optimizer"],
)
def test_reasons_against(recipe, reason):
    assert reason in reason_against(recipe, [points()])


def test_unequal_data_and_drawing_networks():
    assert "differ in size" in reason_against(Recipe(perceptron), [points(50), points(40)])

    class Noisy(nn.Linear):
        def forward(self, inputs):
            return functional.dropout(super().forward(inputs), 0.5)

    recipe = Recipe(lambda: Noisy(2, 3), epochs=1)
    with pytest.raises(RuntimeError, match="random"):
        train_together(recipe, [points()] * 2, Classification(3), SEEDS[:2])
