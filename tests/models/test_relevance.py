"""Relevance against LRP written out by hand, its conservation, and what scaling a neuron really does."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mutiny.core.errors import NotApplicable
from mutiny.models import ModelState, ModelView, SignalEdit
from mutiny.models.patch import Patch
from mutiny.models.read_points import ReadPoints
from mutiny.models.relevance import explaining
from mutiny.models.torch_ops import replace_tensors
from zoo import Lambda, make

pytestmark = pytest.mark.rounding


def first(outputs):
    return outputs[:, 0]


def relevance(model, inputs, layers="all", explained=first):
    view = ModelView.of(model, inputs)
    points = ReadPoints(view, inputs).choose(layers)
    with explaining(view, points, explained) as explain:
        found = explain(inputs)
    return {point.name: values for point, values in zip(points, found.points, strict=True)}


def perceptron(sizes, seed):
    draw = torch.Generator().manual_seed(seed)
    layers = []
    for inside, outside in pairwise(sizes):
        layers += [nn.Linear(inside, outside, bias=False), nn.ReLU()]
        layers[-2].weight.data = torch.randn(outside, inside, generator=draw, dtype=torch.float64)
    return nn.Sequential(*layers[:-1]).eval()


def lrp_0(weights, x, output):
    """R_j = sum_k a_j w_kj / z_k R_k, from the output down to the first hidden layer; one input, loops."""
    activations, sums = [x.tolist()], []
    for matrix in weights:
        sums.append([sum(w * a for w, a in zip(row, activations[-1], strict=True)) for row in matrix.tolist()])
        activations.append([max(z, 0.0) for z in sums[-1]])
    above = [z if k == output else 0.0 for k, z in enumerate(sums[-1])]
    found = []
    for depth in range(len(weights) - 1, 0, -1):
        matrix, below = weights[depth].tolist(), activations[depth]
        here = [0.0] * len(below)
        for k, row in enumerate(matrix):
            for j, weight in enumerate(row):
                if above[k]:
                    here[j] += below[j] * weight / sums[depth][k] * above[k]
        found.insert(0, here)
        above = here
    return found


@given(st.lists(st.integers(1, 6), min_size=3, max_size=5), st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_without_biases_it_is_lrp_0_by_hand(sizes, seed):
    model = perceptron(sizes, seed)
    x = torch.randn(3, sizes[0], generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
    found = relevance(model, x)
    weights = [module.weight.data for module in model if isinstance(module, nn.Linear)]
    for row in range(3):
        for depth, expected in enumerate(lrp_0(weights, x[row], 0)):
            assert found[str(2 * depth)][row].tolist() == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_nothing_is_lost_from_layer_to_layer_without_biases(seed):
    model = perceptron([4, 7, 5, 3], seed)
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
    for values in relevance(model, x).values():
        assert torch.allclose(values.sum(dim=1), model(x)[:, 0].detach())


class Residual(nn.Module):
    """No biases, a skip connection, in-place operations, pooling; everything passes ``stem`` and ``mix``."""

    def __init__(self):
        super().__init__()
        self.stem, self.branch = nn.Conv2d(1, 4, 3, bias=False), nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.mix, self.head = nn.Conv2d(4, 6, 3, bias=False), nn.Linear(6, 3, bias=False)
        self.relu, self.pool = nn.ReLU(inplace=True), nn.MaxPool2d(2)

    def forward(self, x):
        x = self.pool(self.relu(self.stem(x)))
        out = self.relu(self.branch(x))
        out += x
        return self.head(self.relu(self.mix(out)).mean(dim=(2, 3)))


def test_nothing_is_lost_through_skip_connections():
    model, x = Residual().eval().double(), torch.randn(5, 1, 10, 10, dtype=torch.float64)
    found, said = relevance(model, x), model(x)[:, 0].detach()
    for layer in ("stem", "mix"):
        assert torch.allclose(found[layer].sum(dim=1), said)
    with torch.no_grad():  # the branch has its own part: what is missing without it, for the ReLU after is open or shut
        stem = model.pool(torch.relu(model.stem(x)))
        out = torch.relu(model.branch(stem))
        open_ = (model.mix(out + stem) > 0).double()
        part = model.head((model.mix(out) * open_).mean(dim=(2, 3)))[:, 0]
    assert torch.allclose(found["branch"].sum(dim=1), part)
    assert not torch.allclose(found["branch"].sum(dim=1), said)


FEED_FORWARD = (
    "mlp lenet_functional lenet_modules resnet transformer_tied conv1d depthwise dict_in_dict_out functional_layers "
    "reused_layer squashed_with_norm other_order lstm_bidirectional"
).split()


@pytest.mark.parametrize("name", FEED_FORWARD)
def test_it_is_what_scaling_a_neuron_does_in_any_architecture(name):
    """Derivative with respect to a factor on a neuron's signal, by central differences."""
    model, inputs = make(name)
    model = model.double()
    inputs = replace_tensors(inputs, lambda t: t.double() if t.is_floating_point() else t)
    before, view = ModelState.of(model), ModelView.of(model, inputs)

    def explained(outputs):
        return outputs.reshape(len(outputs), -1).square().sum(dim=1)

    for point, values in relevance(model, inputs, explained=explained).items():
        for unit in range(min(2, view.layer(point).neurons)):
            said = []
            for factor in (1 + 1e-4, 1 - 1e-4):
                patch = Patch((SignalEdit(view.layer(point), np.array([unit]), factor),))
                with patch.applied(model) as forward, torch.inference_mode():
                    said.append(explained(forward(inputs)))
            slope = (said[0] - said[1]) / 2e-4
            assert torch.allclose(values[:, unit], slope, rtol=1e-4, atol=1e-6 * float(slope.abs().max() + 1e-3))
    assert ModelState.of(model) == before


def test_modules_give_what_their_layers_give():
    model, x = Residual().eval(), torch.randn(5, 1, 10, 10)
    found = relevance(model, x, ["stem", "stem:output", "branch:input", "head:input", "mix"])
    assert torch.allclose(found["stem"], found["stem:output"], atol=1e-6)  # ReLU and pooling change no relevance
    assert torch.allclose(found["stem"], found["branch:input"], atol=1e-6)
    assert torch.allclose(found["mix"], found["head:input"], atol=1e-6)


def test_what_is_read_before_any_layer_has_relevance_too():
    model, x = nn.Sequential(nn.Linear(3, 2, bias=False)).eval(), torch.randn(4, 3)
    assert torch.allclose(relevance(model, x, "0:input")["0:input"], x * model[0].weight[0].detach())


def test_a_saved_value_may_be_overwritten():
    """A model that overwrites the value that the derivative of a sigmoid needs, so it cannot be trained."""
    parts = {"one": nn.Linear(3, 4), "two": nn.Linear(4, 2)}
    careless = Lambda(lambda m, x: m.two(torch.sigmoid(m.one(x)).mul_(2).add_(1)), **parts).eval()
    careful = Lambda(lambda m, x: m.two(torch.sigmoid(m.one(x)) * 2 + 1), **parts).eval()
    x = torch.randn(5, 3)
    assert torch.equal(relevance(careless, x)["one"], relevance(careful, x)["one"])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        careless(x).sum().backward()


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_neither_frozen_weights_nor_the_callers_mode_matter(frozen, mode):
    words = Lambda(
        lambda m, x: m.head(torch.relu(m.hidden(m.table(x).mean(dim=1)))),
        table=nn.Embedding(7, 3),
        hidden=nn.Linear(3, 4),
        head=nn.Linear(4, 2),
    ).eval()
    x = torch.randint(0, 7, (5, 6))
    expected = relevance(words, x)["hidden"]
    assert expected.abs().sum() > 0
    before = ModelState.of(words.requires_grad_(not frozen))
    with mode():
        assert torch.equal(relevance(words, x)["hidden"], expected)
    assert ModelState.of(words) == before


def test_gradients_that_the_model_holds_are_left_alone():
    model, x = perceptron([3, 4, 2], 0).float(), torch.randn(5, 3)
    model(x).sum().backward()
    before = ModelState.of(model)
    relevance(model, x)
    assert ModelState.of(model) == before


def test_the_model_is_untouched_after_an_error():
    model, x = Residual().eval(), torch.randn(2, 1, 10, 10)
    before = ModelState.of(model)

    def broken(_outputs):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        relevance(model, x, ["stem", "head:input"], broken)
    assert ModelState.of(model) == before
    assert len(relevance(model, x)) == 4  # nothing global is left behind either


def test_inputs_do_not_influence_each_other():
    model, x = Residual().eval().double(), torch.randn(6, 1, 10, 10, dtype=torch.float64)
    together = relevance(model, x)
    for name, values in relevance(model, x[2:5]).items():
        assert torch.allclose(values, together[name][2:5])


def test_a_part_that_nothing_depends_on_is_irrelevant():
    model = Lambda(
        lambda m, x: m.head(torch.relu(m.used(x)) + 0 * m.idle(x).detach()),
        used=nn.Linear(3, 4),
        idle=nn.Linear(3, 4),
        head=nn.Linear(4, 2),
    ).eval()
    found = relevance(model, torch.randn(5, 3))
    assert not found["idle"].any()
    assert found["used"].any()


def test_outputs_without_gradients_are_not_applicable():
    model = Lambda(lambda m, x: m.one(x).detach(), one=nn.Linear(3, 2)).eval()
    with pytest.raises(NotApplicable, match="gradients"):
        relevance(model, torch.randn(4, 3))
