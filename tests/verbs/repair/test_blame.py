"""Blame of weights: against slow loops over inputs, weights and places, and by its laws."""

import numpy as np
import pytest
import torch
from torch import nn

import zoo
from mutiny.models import ModelState, ModelView, default_forward
from mutiny.subjects.tasks import Classification, Regression
from mutiny.verbs.repair.blame import Blame, blame
from mutiny.verbs.repair.search import fronts

pytestmark = pytest.mark.rounding


def found(model, inputs, targets, task, parts=1):
    view = ModelView.of(model, inputs)
    layers = tuple(layer for layer in view.layers if layer.neurons)
    cut = -(-len(targets) // parts)
    batches = [(inputs[at : at + cut], targets[at : at + cut]) for at in range(0, len(targets), cut)]
    return layers, blame(view, layers, batches, task, default_forward, np.random.default_rng(0))


def network():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(2, 3, 2, stride=2), nn.Tanh(), nn.Flatten(), nn.Linear(12, 5), nn.Tanh(), nn.Linear(5, 3)
        )
        return model.double().eval(), torch.randn(4, 2, 4, 4).double(), torch.tensor([0, 2, 1, 1])


def jacobian(tail, said):
    """Sum over outputs of how much each moves with each number, for one input."""
    rows = torch.autograd.functional.jacobian(lambda one: tail(one[None])[0], said)
    return rows.abs().sum(dim=0)


def test_impact_is_the_product_of_two_mean_shares():
    model, inputs, targets = network()
    layers, ours = found(model, inputs, targets, Classification(3, "logits"))
    assert [layer.name for layer in layers] == ["0", "3", "5"]
    expected = []
    for place, tail in ((0, model[1:]), (3, model[4:]), (5, nn.Identity())):
        layer, weight = model[place], model[place].weight.detach()
        share, moves = torch.zeros_like(weight), torch.zeros(len(weight)).double()
        for one in inputs:
            read = model[:place](one[None])[0].detach()
            said = layer(read[None])[0].detach()
            each = jacobian(tail, said).reshape(len(weight), -1).sum(dim=1)
            moves += each / each.sum() / len(inputs)
            if place:
                part = (weight * read).abs()
                share += part / part.sum(dim=1, keepdim=True) / len(inputs)
            else:
                for row in range(2):
                    for column in range(2):
                        window = read[:, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
                        part = (weight * window).abs()
                        share += part / part.sum(dim=(1, 2, 3), keepdim=True) / len(inputs) / 4
        expected.append((share.flatten(1) * moves[:, None]).flatten())
    np.testing.assert_allclose(ours.impact, torch.cat(expected).numpy(), rtol=1e-6)


def test_the_gradient_is_a_finite_difference():
    model, inputs, targets = network()
    layers, ours = found(model, inputs, targets, Classification(3, "logits"))
    start = 0
    for layer in layers:
        weight = dict(model.named_parameters())[layer.weights[0].parameter]
        for at in (0, weight.numel() - 1):
            losses = []
            for move in (1e-6, -2e-6):
                with torch.no_grad():
                    weight.view(-1)[at] += move
                    losses.append(nn.functional.cross_entropy(model(inputs), targets).item())
            with torch.no_grad():
                weight.view(-1)[at] += 1e-6
            assert ours.gradient[start + at] == pytest.approx(abs(losses[0] - losses[1]) / 2e-6, rel=1e-3, abs=1e-7)
        start += weight.numel()


def test_neurons_that_hear_nothing_have_no_impact():
    model, inputs, targets = network()
    with torch.no_grad():
        model[3].weight[2] = 0
    _, ours = found(model, inputs, targets, Classification(3, "logits"))
    assert np.isfinite(ours.impact).all()
    assert not ours.impact[24 + 2 * 12 : 24 + 3 * 12].any()
    assert ours.impact[24 : 24 + 2 * 12].all()


def test_batches_do_not_matter():
    model, inputs, targets = network()
    task = Classification(3, "logits")
    whole, parts = (found(model, inputs, targets, task, parts=parts)[1] for parts in (1, 3))
    for ours, theirs in zip(whole, parts, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("name", zoo.ZOO)
def test_any_network(name):
    model, inputs = zoo.make(name)
    view = ModelView.of(model, inputs)
    layers = tuple(layer for layer in view.layers if layer.neurons)
    outputs = default_forward(model, inputs)
    state = ModelState.of(model)
    rows = len(outputs)
    targets = torch.zeros(rows, outputs[0].numel(), dtype=torch.float64)
    ours = blame(view, layers, [(inputs, targets)], Regression(0.1), default_forward, np.random.default_rng(0))
    assert state == ModelState.of(model)
    assert len(ours.gradient) == len(ours.impact) == sum(layer.size for layer in layers)
    assert np.isfinite(ours.gradient).all()
    assert np.isfinite(ours.impact).all()
    assert ours.impact.max() > 0
    start = 0
    for layer in layers:  # shares of a layer sum to 1 at most, and to 1 where all neurons hear something
        total = ours.impact[start : start + layer.size].sum()
        assert total <= 1 + 1e-3, layer.name
        start += layer.size


def test_passing_inputs_excuse():
    fail, passing = Blame(np.array([1.0, 1.0]), np.array([0.5, 0.5])), Blame(np.array([0.0, 3.0]), np.array([1.0, 0.0]))
    ours = fail.over(passing)
    assert ours.gradient.tolist() == [1.0, 0.25]
    assert ours.impact.tolist() == [0.25, 0.5]


def test_fronts_are_added_until_there_are_enough():
    held = Blame(np.array([3.0, 1.0, 2.0, 0.5, 2.5]), np.array([1.0, 3.0, 2.0, 0.5, 1.5]))
    assert fronts(held, None).tolist() == [0, 1, 2, 4]
    assert fronts(held, 5).tolist() == [0, 1, 2, 3, 4]
    assert fronts(held, 99).tolist() == [0, 1, 2, 3, 4]


def test_inputs_with_many_outputs_are_sampled():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 40)).eval()
    layers, ours = found(model, torch.rand(5, 3), torch.arange(5), Classification(40, "logits"))
    assert len(layers) == 2
    rows = ours.impact[12:].reshape(40, 4).sum(axis=1)
    assert (rows > 0).sum() == 16  # only outputs that were drawn depend on themselves
