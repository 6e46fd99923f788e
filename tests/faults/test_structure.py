"""LR, LA, LD and AFR against networks that were rebuilt by hand."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults import ActivationRemoval, LayerAddition, LayerDuplication, LayerRemoval
from mutiny.models import ModelState
from references.by_hand import agree, clean, mutated, patch_of, view_of
from zoo import Lambda, lively, make

INSERTED = {
    "tanh": torch.tanh,
    "softmax": lambda x: x.exp() / x.exp().sum(-1, keepdim=True),
    "relu": lambda x: x.clamp(min=0),
    "elu": lambda x: torch.where(x > 0, x, x.exp() - 1),
    "softsign": lambda x: x / (1 + x.abs()),
    "softplus": lambda x: (1 + x.exp()).log(),
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "hard_sigmoid": lambda x: (x / 6 + 0.5).clamp(0, 1),
    "linear": lambda x: x,
    "selu": lambda x: 1.0507009873554805 * torch.where(x > 0, x, 1.6732632423543772 * (x.exp() - 1)),
}


def sequence(model, inputs, plan):
    """Runs the children of a Sequential as the plan says: a list of indices and functions."""
    with torch.inference_mode():
        for step in plan:
            inputs = step(inputs) if callable(step) else model[step](inputs)
    return inputs


def test_removal_and_duplication_in_a_sequence():
    model, inputs = make("conv1d")  # 0 conv, 1 norm, 2 relu, 3 conv that keeps the shape, ...
    for path, at in (("1", 1), ("3", 3)):
        rest = [i for i in range(8) if i != at]
        assert agree(mutated(LayerRemoval(layer=path), model, inputs), sequence(model, inputs, rest))
        twice = sorted([*range(8), at])
        assert agree(mutated(LayerDuplication(layer=path), model, inputs), sequence(model, inputs, twice))


@pytest.mark.parametrize(("at", "activation"), [(at, name) for at in range(7) for name in INSERTED])
def test_addition_in_a_sequence(activation, at):
    model, inputs = make("conv1d")
    plan = [*range(at + 1), INSERTED[activation], *range(at + 1, 8)]
    operator = LayerAddition(layer=str(at), activation=activation)
    assert agree(mutated(operator, model, inputs), sequence(model, inputs, plan))


def test_softmax_is_over_channels_of_images_and_features_of_sequences():
    image = nn.Sequential(nn.Conv2d(2, 3, 1), nn.Conv2d(3, 2, 1)).eval()
    words = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2)).eval()
    operator = LayerAddition(layer="0", activation="softmax")
    x = torch.randn(2, 2, 4, 4)
    assert agree(mutated(operator, image, x), sequence(image, x, [0, lambda x: F.softmax(x, 1), 1]))
    x = torch.randn(2, 5, 2)
    assert agree(mutated(operator, words, x), sequence(words, x, [0, lambda x: F.softmax(x, -1), 1]))


def block_by_hand(block, x, without=(), twice=(), silent=()):
    def run(name, x):
        for _ in range(0 if name in without else 2 if name in twice else 1):
            x = getattr(block, name)(x)
        return x

    identity = x if block.shortcut is None else block.shortcut(x)
    out = run("bn1", run("conv1", x))
    out = out if 0 in silent else F.relu(out)
    out = run("bn2", run("conv2", out)) + identity
    return out if 1 in silent else F.relu(out)


@pytest.mark.parametrize("part", ["conv1", "bn1", "conv2", "bn2"])
def test_inside_a_residual_block(part):
    model, inputs = make("resnet")
    for operator, how in ((LayerRemoval, "without"), (LayerDuplication, "twice")):
        with torch.inference_mode():
            hidden = block_by_hand(model[1][0], model[0](inputs), **{how: (part,)})
            expected = model[1][1:](hidden)
        assert agree(mutated(operator(layer=f"1.0.{part}"), model, inputs), expected)


@pytest.mark.parametrize("use", [0, 1])
def test_one_use_of_a_reused_in_place_activation(use):
    model, inputs = make("resnet")
    name = view_of(model, inputs).activations[1 + use].name
    assert name == f"1.0.relu:relu#{1 + use}"
    with torch.inference_mode():
        expected = model[1][1:](block_by_hand(model[1][0], model[0](inputs), silent=(use,)))
    assert agree(mutated(ActivationRemoval(activation=name), model, inputs), expected)


def test_functional_activations():
    model, inputs = make("lenet_functional")
    functions = [F.relu, F.relu, torch.tanh]
    for at in range(3):
        used = [(lambda x: x) if i == at else f for i, f in enumerate(functions)]
        with torch.inference_mode():
            x = used[0](F.max_pool2d(model.conv1(inputs), 2))
            x = used[1](F.max_pool2d(model.conv2(x), 2)).flatten(1)
            expected = model.fc2(used[2](model.fc1(x)))
        name = view_of(model, inputs).activations[at].name
        patch = patch_of(ActivationRemoval(activation=name), model, inputs)
        assert patch.first_layer == ["conv1", "conv2", "fc1"][at]
        assert agree(mutated(ActivationRemoval(activation=name), model, inputs), expected)


NOT_OF_ONE_NUMBER = {"MultiheadAttention", "GLU", "Softmin", "Softmax", "Softmax2d", "LogSoftmax"}


@pytest.mark.parametrize("kind", sorted({*nn.modules.activation.__all__} - NOT_OF_ONE_NUMBER))
def test_every_activation_of_torch_is_recognized(kind):
    activation = nn.Threshold(0.1, 0.3) if kind == "Threshold" else getattr(nn, kind)()
    model = nn.Sequential(nn.Linear(4, 5), activation, nn.Linear(5, 2)).eval()
    inputs = 3 * torch.randn(6, 4)
    assert agree(mutated(ActivationRemoval(), model, inputs), sequence(model, inputs, [0, 2]))


def test_the_activation_that_shapes_the_output_stays():
    for name in ("autoencoder", "two_heads"):
        model, inputs = make(name)
        shaping = [call.name for call in view_of(model, inputs).activations if call.output]
        assert len(shaping) == 1
        with pytest.raises(BadInput, match="AFR activation"):
            patch_of(ActivationRemoval(activation=shaping[0]), model, inputs)
    with pytest.raises(NotApplicable, match="no activation function"):
        patch_of(ActivationRemoval(), *make("rnn_sigmoid_head"))


def test_candidates_are_neither_first_nor_last_nor_activations():
    square = nn.Sequential(*[nn.Linear(4, 4) for _ in range(4)]).eval()
    inputs = torch.randn(2, 4)
    chosen = {patch_of(LayerRemoval(), square, inputs, seed).first_layer for seed in range(40)}
    assert chosen == {"1", "2"}
    after = {patch_of(LayerAddition(), square, inputs, seed).first_layer for seed in range(60)}
    assert after == {"0", "1", "2"}
    with pytest.raises(NotApplicable, match=r"except Dropout.*inactive=true"):
        patch_of(LayerRemoval(), *make("lenet_modules"))
    with pytest.raises(NotApplicable, match="keeps the shape"):
        patch_of(LayerDuplication(), *make("mlp"))
    with pytest.raises(NotApplicable, match="nothing can be inserted"):
        patch_of(LayerAddition(), *make("single_linear"))
    with pytest.raises(BadInput, match="one of 1, 2"):
        patch_of(LayerRemoval(layer="7"), square, inputs)
    with pytest.raises(BadInput, match="LA activation"):
        LayerAddition(activation="cubic")


def test_after_a_recurrent_layer_a_norm_is_not_the_first_module():
    parts = {"rnn": nn.GRU(3, 4), "norm": lively(nn.LayerNorm(4)), "head": nn.Linear(4, 2)}
    model, inputs = Lambda(lambda m, x: m.head(m.norm(m.rnn(x)[0])), **parts).eval(), torch.randn(3, 5, 3)
    with torch.inference_mode():
        expected = model.head(model.rnn(inputs)[0])
    assert agree(mutated(LayerRemoval(), model, inputs), expected)


def test_modules_called_by_keyword_or_looked_at_by_class():
    def forward(m, x):
        for layer in m.layers:
            x = layer(input=x) if isinstance(layer, (nn.Linear, nn.Tanh, nn.Identity)) else x
        return x

    layers = nn.ModuleList([nn.Linear(3, 4), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2)])
    model, inputs = Lambda(forward, layers=layers).eval(), torch.randn(5, 3)
    before = ModelState.of(model)
    for operator, plan in (
        (LayerRemoval(), [0, 2, 3]),
        (LayerDuplication(), [0, 1, 1, 2, 3]),
        (ActivationRemoval(), [0, 1, 3]),
        (LayerAddition(layer="layers.1", activation="sigmoid"), [0, 1, torch.sigmoid, 2, 3]),
    ):
        assert agree(mutated(operator, model, inputs), sequence(layers, inputs, plan))
    assert before == ModelState.of(model)


def test_a_module_that_is_used_twice_changes_at_both_uses():
    shared = nn.Linear(4, 4)
    model = nn.Sequential(nn.Linear(3, 4), shared, nn.Tanh(), shared, nn.Linear(4, 2)).eval()
    inputs = torch.randn(5, 3)
    assert agree(mutated(LayerRemoval(), model, inputs), sequence(model, inputs, [0, 2, 4]))
    assert not agree(clean(model, inputs), sequence(model, inputs, [0, 2, 4]), 1e-3)
