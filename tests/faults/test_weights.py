"""WI and GF, and the incoming forms of NI, NEB and NAI, weight by weight."""

import numpy as np
import pytest
import torch
from torch import nn

from mutiny.faults import (
    GaussianFuzzing,
    NeuronActivationInverse,
    NeuronEffectBlock,
    NeuronInhibitor,
    WeightInhibitor,
)
from references.by_hand import agree, clean, edited, mutated, patch_of, view_of, weights_under
from zoo import Lambda, make, weight


def zero_first(model):
    model[0].weight.zero_()


def test_whole_layer_inhibited_is_a_layer_of_zeros():
    model, inputs = make("mlp")
    operator = WeightInhibitor(ratio=1.0, factor=1.0, layers=("0",))
    assert agree(mutated(operator, model, inputs), clean(edited(model, zero_first), inputs))


@pytest.mark.parametrize("name", ["mlp", "resnet", "channels_last", "half_precision", "gru", "transformer_tied"])
def test_chosen_weights_shrink_and_the_others_stay(name):
    model, inputs = make(name)
    before = dict(model.named_parameters())
    after = weights_under(WeightInhibitor(ratio=0.1, factor=0.25), model, inputs)
    changed = total = 0
    for key, old in before.items():
        new, old = after[key].double().flatten(), old.detach().double().flatten()
        moved = new != old
        assert agree(new[moved], 0.75 * old[moved], 1e-2 if name == "half_precision" else 1e-6)
        changed += int(moved.sum())
        is_weight = before[key].ndim > 1
        assert is_weight or not moved.any()
        total += new.numel() if is_weight else 0
    assert changed == max(1, round(0.1 * total))


@pytest.mark.parametrize("ratio", [0.0001, 0.013, 0.05, 0.5, 0.999, 1.0])
def test_count_is_exact_and_over_the_whole_network(ratio):
    model, inputs = make("lenet_modules")
    total = sum(p.numel() for p in model.parameters() if p.ndim > 1)
    patch = patch_of(WeightInhibitor(ratio=ratio), model, inputs)
    chosen = [(edit.parameter, int(i)) for edit in patch.edits for i in edit.indices]
    assert len(chosen) == len(set(chosen)) == max(1, round(ratio * total))
    with_biases = patch_of(WeightInhibitor(ratio=ratio, biases=True), model, inputs)
    everything = sum(p.numel() for p in model.parameters())
    assert sum(len(edit.indices) for edit in with_biases.edits) == max(1, round(ratio * everything))


def test_tied_weights_count_once():
    model, inputs = make("transformer_tied")
    patch = patch_of(WeightInhibitor(ratio=1.0), model, inputs)
    names = [edit.parameter for edit in patch.edits]
    assert len(names) == len(set(names))
    assert "decoder.weight" not in names
    assert sum(len(edit.indices) for edit in patch.edits) == sum(p.numel() for p in model.parameters() if p.ndim > 1)


def test_noise_has_the_moments_it_should():
    model, inputs = nn.Sequential(nn.Linear(100, 200), nn.ReLU(), nn.Linear(200, 3)).eval(), torch.randn(2, 100)
    after = weights_under(GaussianFuzzing(ratio=1.0, sd=0.5, clip="none"), model, inputs)["0.weight"]
    noise = (after / model[0].weight.detach() - 1).double().numpy().ravel()
    assert abs(noise.mean()) < 4 * 0.5 / np.sqrt(noise.size)
    assert abs(noise.std() - 0.5) < 4 * 0.5 / np.sqrt(2 * noise.size)
    assert np.mean(np.abs(noise) < 0.5) == pytest.approx(0.6827, abs=0.015)


@pytest.mark.parametrize("clip", ["mutated", "layer", "none"])
def test_clipping(clip):
    model, inputs = nn.Sequential(nn.Linear(4, 30), nn.ReLU(), nn.Linear(30, 30)).eval(), torch.randn(2, 4)
    with torch.no_grad():
        model[0].weight.mul_(10)
        model[2].weight.mul_(20)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    free = weights_under(GaussianFuzzing(ratio=0.1, clip="none", layers=("0",)), model, inputs)
    after = weights_under(GaussianFuzzing(ratio=0.1, clip=clip, layers=("0",)), model, inputs)
    drawn = free["0.weight"] != before["0.weight"]
    for row in range(30):
        for column in range(4):
            value = free["0.weight"][row, column]
            clipped = clip == "layer" or (clip == "mutated" and drawn[row, column])
            expected = min(1.0, max(-1.0, float(value))) if clipped else float(value)
            assert float(after["0.weight"][row, column]) == pytest.approx(expected, rel=1e-6)
    assert int(drawn.sum()) == 12
    assert torch.equal(after["2.weight"], before["2.weight"])
    nothing = weights_under(GaussianFuzzing(sd=0.0, clip=clip), model, inputs)
    assert all(torch.equal(nothing[name], before[name]) for name in before)


def test_noise_of_a_weight_does_not_depend_on_the_ratio():
    model, inputs = make("mlp")
    few = weights_under(GaussianFuzzing(ratio=0.1, clip="none"), model, inputs)
    many = weights_under(GaussianFuzzing(ratio=0.6, clip="none"), model, inputs)
    for name, p in model.named_parameters():
        moved = few[name] != p
        assert torch.equal(few[name][moved], many[name][moved])


@pytest.mark.parametrize(
    ("operator", "factor"),
    [
        (NeuronInhibitor(direction="incoming", factor=0.7, ratio=0.5), 0.3),
        (NeuronEffectBlock(direction="incoming", ratio=0.5), 0.0),
        (NeuronActivationInverse(ratio=0.5), -1.0),
    ],
    ids=lambda value: getattr(value, "code", ""),
)
@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("name", ["resnet", "autoencoder", "functional_layers", "depthwise", "no_biases", "conv3d"])
def test_incoming_multiplies_all_that_feeds_a_neuron(operator, factor, biases, name):
    model, inputs = make(name)
    operator = type(operator)(**{**operator.parameters(), "biases": biases, "output_layer": True})
    after = weights_under(operator, model, inputs)
    neurons = 0
    for module in model.modules():
        if not isinstance(module, (nn.Linear, nn.modules.conv._ConvNd)):
            continue
        path = next(key for key, found in model.named_modules() if found is module)
        for unit in range(module.out_features if isinstance(module, nn.Linear) else module.out_channels):
            old, new = feeding(module, module.weight.detach(), unit), feeding(module, after[f"{path}.weight"], unit)
            hit = not torch.equal(old, new)
            assert agree(new, old * factor if hit else old, 1e-6)
            neurons += hit
            if module.bias is not None:
                bias = module.bias.detach()[unit]
                assert agree(after[f"{path}.bias"][unit], bias * factor if hit and biases else bias, 1e-6)
    if name != "functional_layers":
        total = sum(layer.neurons for layer in view_of(model, inputs).layers)
        assert neurons == round(0.5 * total)


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize(
    "add",
    [
        lambda h, b: h + b,
        lambda h, b: b + h,
        lambda h, b: h.add_(b),
        torch.add,
        lambda h, b: torch.add(b, other=h),
        lambda h, b: h.__iadd__(b),
    ],
)
@pytest.mark.parametrize("product", [lambda x, w: x @ w, torch.mm, lambda x, w: torch.nn.functional.linear(x, w.t())])
@pytest.mark.parametrize(("kind", "factor"), [(NeuronEffectBlock, 0.0), (NeuronActivationInverse, -1.0)])
def test_a_bias_that_is_added_by_hand_is_a_bias(kind, factor, product, add, biases):
    model = Lambda(lambda m, x: m.leave(torch.relu(add(product(x, m.w), m.b))), w=weight(4, 6), b=weight(6))
    model.leave = nn.Linear(6, 2)
    model, inputs = model.eval(), torch.randn(5, 4)
    assert [tensor.parameter for tensor in view_of(model, inputs).layer("w").biases] == ["b"]
    after = weights_under(kind(direction="incoming", ratio=0.5, biases=biases, layers=("w",)), model, inputs)
    hit = (after["w"] != model.w).any(dim=0)
    assert int(hit.sum()) == 3
    assert agree(after["w"], torch.where(hit, factor * model.w, model.w))
    assert agree(after["b"], torch.where(hit & biases, factor * model.b, model.b))


def test_what_is_added_later_or_elsewhere_is_no_bias():
    parts = {"w": weight(4, 6), "b": weight(6), "c": weight(6), "p": weight(5, 6), "u": weight(6, 6), "v": weight(6, 6)}

    def forward(m, x):
        x = torch.relu_(x @ m.w) + m.b  # after the activation
        x = torch.tanh(x @ m.u + m.p)  # one number per input and neuron
        x = (x @ m.v + m.c) + m.b  # only the first
        return m.leave(x) + m.end + m.leave.bias

    model = Lambda(forward, **parts, leave=nn.Linear(6, 6), end=weight(6)).eval()
    layers = view_of(model, torch.randn(5, 4)).layers
    biases = {layer.name: [tensor.parameter for tensor in layer.biases] for layer in layers}
    assert biases == {"w": [], "u": [], "v": ["c"], "leave": ["leave.bias"]}


def test_a_shared_bias_and_that_of_channels_count_once():
    def forward(m, x):
        x = torch.relu(torch.nn.functional.conv1d(x, m.kernel) + m.shift).flatten(1)
        return torch.relu(x @ m.w + m.b) @ m.u + m.b

    parts = {"kernel": weight(3, 2, 1), "shift": nn.Parameter(torch.randn(3, 1)), "w": weight(12, 6), "u": weight(6, 6)}
    model = Lambda(forward, **parts, b=weight(6)).eval()
    layers = view_of(model, torch.randn(5, 2, 4)).layers
    assert [[tensor.parameter for tensor in layer.biases] for layer in layers] == [["shift"], ["b"], []]


def feeding(module, weight, unit):
    """The weights that feed one output channel."""
    if not isinstance(module, nn.ConvTranspose2d):
        return weight[unit]
    group, inside = divmod(unit, weight.shape[1])
    size = module.in_channels // module.groups
    return weight[group * size : (group + 1) * size, inside]


def test_transposed_convolution_blocked_by_channel():
    model, inputs = make("autoencoder")
    operator = NeuronEffectBlock(direction="incoming", ratio=0.5, layers=("2",))
    with patch_of(operator, model, inputs).applied(model), torch.inference_mode():
        blocked = (model[:3](inputs) == 0).all(dim=(0, 2, 3))
    assert int(blocked.sum()) == 3


def test_columns_are_the_neurons_of_a_plain_product():
    model, inputs = make("functional_layers")
    for key, axis in (("first", 0), ("second", 1), ("turned", 0), ("last", 1)):
        after = weights_under(NeuronEffectBlock(direction="incoming", ratio=0.5, layers=(key,)), model, inputs)[key]
        zero = (after == 0).all(dim=1 - axis)
        assert int(zero.sum()) == round(0.5 * after.shape[axis])
        assert int((after == 0).sum()) == int(zero.sum()) * after.shape[1 - axis]
