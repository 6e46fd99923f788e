"""Validation, early stopping, clipping, regularizers and initializers, each against an obvious reading of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import toys
from mutiny.core.errors import BadInput, Diverged
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training import Recipe, fingerprint
from mutiny.subjects.training.initializers import INITIALIZERS
from mutiny.subjects.training.loop import stops

TASK = Classification(3)


def data(n=120):
    x, y = toys.blobs(n)
    return as_data((x, y), "train")


def build():
    return nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))


RECIPE = Recipe(build, epochs=6, batch_size=16, learning_rate=0.05)


def trained(recipe, watch=None):
    return recipe.train(data(), TASK, 3, watch=watch)


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def test_looking_on_changes_nothing():
    seen = []
    watched = trained(RECIPE, lambda epoch: seen.append((epoch.number, len(epoch.curve), weights(epoch.model))))
    assert torch.equal(weights(trained(RECIPE)), weights(watched))
    assert [(number, length) for number, length, _ in seen] == [(n, n) for n in range(1, 7)]
    assert torch.equal(seen[-1][2], weights(watched))
    assert torch.equal(seen[1][2], weights(trained(replace(RECIPE, epochs=2))))  # a shorter training is a prefix


def test_validation_data_are_only_looked_at():
    curves, recipe = [], replace(RECIPE, validation=0.25)
    model = trained(recipe, lambda epoch: curves.append(epoch.curve))
    poisoned, changed = data(), []
    for item in range(0, 120, 10):
        targets = poisoned.targets.copy()
        targets[item] = (targets[item] + 1) % 3
        other = as_data((poisoned.read(slice(0, 120)), targets), "train")
        changed.append(not torch.equal(weights(recipe.train(other, TASK, 3)), weights(model)))
    assert 5 <= sum(changed) <= 11  # about three quarters of twelve are learned from
    assert len(curves[-1]) == 6


def reference_stop(curve, patience):
    best, waited = float("inf"), 0
    for epoch, loss in enumerate(curve, 1):
        if loss < best:
            best, waited = loss, 0
        else:
            waited += 1
            if waited >= patience:
                return epoch
    return len(curve)


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_training_stops_as_keras_does(patience):
    rng = np.random.default_rng(0)
    for _ in range(200):
        curve = rng.integers(0, 6, 12).astype(float).tolist()
        ours = next((n for n in range(1, 13) if stops(curve[:n], patience)), 12)
        assert ours == reference_stop(curve, patience)
    last = []
    noisy = replace(RECIPE, learning_rate=0.8, epochs=30, validation=0.3, patience=patience)
    stopped = trained(noisy, last.append)
    assert last[-1].number == reference_stop([*last[-1].curve, *[0.0] * 0], patience) < 30
    whole = []
    trained(replace(noisy, patience=None), lambda epoch: whole.append((epoch.curve, weights(epoch.model))))
    assert whole[last[-1].number - 1][0] == last[-1].curve  # patience only cuts the end off
    assert torch.equal(whole[last[-1].number - 1][1], weights(stopped))


def one_step(**settings):
    """All data in one batch, one step of plain gradient descent with rate 1: weights before and after."""
    recipe = Recipe(lambda: nn.Linear(2, 3), epochs=1, batch_size=120, learning_rate=1.0, optimizer="sgd", **settings)
    before = []
    x, y = data().read(slice(0, 120)), torch.from_numpy(data().targets).long()
    after = recipe.train(data(), TASK, 0)
    from mutiny.core.random import seed_for
    from mutiny.subjects.data.seeded import seeded

    with seeded(seed_for(0, "train")):
        start = nn.Linear(2, 3)
        for name in recipe.initializers.values():
            with torch.no_grad():
                INITIALIZERS[name](start.weight)
    before = torch.cat([start.weight.detach().flatten(), start.bias.detach()])
    loss = nn.functional.cross_entropy(start(x), y)
    return start, loss, before - weights(after), x, y


def flat(gradients):
    return torch.cat([gradient.flatten() for gradient in gradients])


def test_clipping():
    start, loss, step, _, _ = one_step(clip_value=0.01)
    slope = flat(torch.autograd.grad(loss, [*start.parameters()]))
    torch.testing.assert_close(step, slope.clamp(-0.01, 0.01), atol=1e-6, rtol=1e-4)
    start, loss, step, _, _ = one_step(clip_norm=0.05)
    slope = flat(torch.autograd.grad(loss, [*start.parameters()]))
    assert slope.norm() > 0.05
    torch.testing.assert_close(step, 0.05 * slope / slope.norm(), atol=1e-6, rtol=1e-3)


def test_regularizers_are_part_of_the_loss():
    start, loss, step, _, _ = one_step(regularizers={"": (0.3, 0.2)})
    total = loss + 0.3 * start.weight.abs().sum() + 0.2 * (start.weight**2).sum()
    torch.testing.assert_close(step, flat(torch.autograd.grad(total, [*start.parameters()])), atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("name", INITIALIZERS)
def test_initializers(name):
    start, loss, step, _, _ = one_step(initializers={"": name})
    torch.testing.assert_close(step, flat(torch.autograd.grad(loss, [*start.parameters()])), atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "spread"),
    [
        ("kaiming_normal", (2 / 300) ** 0.5),
        ("lecun_normal", (1 / 300) ** 0.5),
        ("xavier_normal", (2 / 500) ** 0.5),
        ("lecun_uniform", (1 / 300) ** 0.5),
        ("normal", 0.05),
        ("uniform", 0.05 / 3**0.5),
    ],
)
def test_spreads(name, spread):
    torch.manual_seed(0)
    assert float(INITIALIZERS[name](torch.empty(200, 300)).std()) == pytest.approx(spread, rel=0.03)


def test_a_training_that_diverges():
    huge = Recipe(build, epochs=3, learning_rate=1e30, optimizer="sgd")
    with pytest.raises(Diverged, match="finite loss, but in epoch 1"):
        huge.train(data(), TASK, 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"validation": 1.0}, "share from 0 to below 1"),
        ({"patience": 0}, "whole number"),
        ({"clip_norm": -1.0}, "number above 0"),
        ({"regularizers": {"0": (0.1,)}}, "two numbers"),
        ({"regularizers": {"0": (-1.0, 0.0)}}, "at least 0"),
        ({"initializers": {"0": "magic"}}, "one of zeros"),
    ],
)
def test_mistakes(settings, message):
    with pytest.raises(BadInput, match=message):
        replace(RECIPE, **settings)


@pytest.mark.parametrize("settings", [{"regularizers": {"9": (0.1, 0)}}, {"initializers": {"1": "zeros"}}])
def test_layers_that_are_not_there(settings):
    with pytest.raises(BadInput, match="a module with weights: 0, 3"):
        trained(replace(RECIPE, **settings))


def test_later_settings_count_only_where_they_are_used():
    plain = fingerprint(RECIPE, data(), TASK, 0)
    for settings in (
        {"validation": 0.1},
        {"patience": 2},
        {"clip_norm": 1.0},
        {"regularizers": {"0": (0.1, 0.0)}},
        {"initializers": {"0": "zeros"}},
    ):
        assert fingerprint(replace(RECIPE, **settings), data(), TASK, 0) != plain


def test_orthogonal_for_any_type_and_layout():
    weight = torch.empty(4, 2, 3, 3, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    rows = INITIALIZERS["orthogonal"](weight).float().flatten(1)
    torch.testing.assert_close(rows @ rows.T, torch.eye(4), atol=0.02, rtol=0)
