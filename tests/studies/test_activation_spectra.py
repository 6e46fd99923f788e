"""Activation spectra against numpy's histograms of what forward hooks see, and the model left as it was."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults import ALL, NeuronInhibitor, WeightInhibitor
from mutiny.models import ModelState, ModuleEdit, Patch, WeightEdit
from references.by_hand import patch_of
from zoo import ZOO, Lambda, make

sys.path.append(str(Path(__file__).parents[2]))

from studies.deepcrime import activation_spectra
from studies.deepcrime.activation_spectra import ActivationRange, _histograms, activation_range, sampled, spectra

pytestmark = pytest.mark.rounding

SEQUENTIAL = ("1", "3", "6")
"""Modules after which the layers of `network` have said what they say; the output layer is "7"."""


def network(seed=0):
    """A double-precision CNN, so that rounding moves nothing from bin to bin."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return (
            nn.Sequential(
                nn.Conv2d(1, 3, 3),
                nn.Tanh(),
                nn.Conv2d(3, 4, 3),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(64, 5),
                nn.Sigmoid(),
                nn.Linear(5, 3),
            )
            .double()
            .eval()
        )


def images(n=7, seed=0):
    return torch.randn(n, 1, 8, 8, generator=torch.Generator().manual_seed(seed)).double()


def heard(model, inputs, *paths):
    """What modules return for each input, by forward hooks."""
    seen = []
    handles = [model.get_submodule(p).register_forward_hook(lambda _m, _a, out: seen.append(out)) for p in paths]
    with torch.inference_mode():
        model(inputs)
    for handle in handles:
        handle.remove()
    return [tensor.double() for tensor in seen]


def slow_spectra(values, low, high, bins):
    """One histogram after another; values of each input in one row."""
    rows = torch.cat([tensor.flatten(1) for tensor in values], dim=1).numpy()
    return np.array([np.histogram(row, bins, (low, high))[0] / len(row) for row in rows])


def means(tensors):
    return [tensor.mean((2, 3)) if tensor.ndim == 4 else tensor for tensor in tensors]


@pytest.mark.parametrize("granularity", ["unit", "neuron"])
@pytest.mark.parametrize(
    ("options", "paths"),
    [({}, SEQUENTIAL), ({"output_layer": True}, (*SEQUENTIAL, "7")), ({"layers": ["2", "7", "2"]}, ("3", "7"))],
)
def test_histograms_of_what_hooks_see(granularity, options, paths):
    model, inputs = network(), images()
    values = heard(model, inputs, *paths)
    values = values if granularity == "unit" else means(values)
    found = activation_range(model, inputs, granularity=granularity, **options)
    assert found.low == pytest.approx(min(float(one.min()) for one in values))
    assert found.high == pytest.approx(max(float(one.max()) for one in values))
    for low, high in [(found.low - 0.1, found.high + 0.1), (-3.0, 5.0)]:
        got = spectra(model, inputs, range=ActivationRange(low, high), bins=13, granularity=granularity, **options)
        assert got == pytest.approx(slow_spectra(values, low, high, 13))


def test_values_outside_the_range_count_in_the_outermost_bins():
    model, inputs = network(), images()
    values = [tensor.clamp(-0.2, 0.3) for tensor in heard(model, inputs, *SEQUENTIAL)]
    got = spectra(model, inputs, range=ActivationRange(-0.2, 0.3), bins=7)
    assert got == pytest.approx(slow_spectra(values, -0.2, 0.3, 7))


def test_functions_count_as_modules_do():
    model, inputs = make("lenet_functional")
    with torch.inference_mode():
        first = F.relu(F.max_pool2d(model.conv1(inputs), 2))
        second = F.relu(F.max_pool2d(model.conv2(first), 2))
        third = torch.tanh(model.fc1(second.flatten(1)))
    values = [tensor.double() for tensor in (first, second, third)]
    got = spectra(model, inputs, range=ActivationRange(-1.05, 2.05), bins=9)
    assert got == pytest.approx(slow_spectra([one.clamp(-1.05, 2.05) for one in values], -1.05, 2.05, 9))


def test_every_call_of_a_layer_gives_units_and_one_value_per_neuron():
    def forward(m, x):
        return m.head(torch.cat([m.conv(x).flatten(1), m.conv(x[..., ::2, ::2]).flatten(1)], 1))

    model = Lambda(forward, conv=nn.Conv2d(1, 2, 3), head=nn.Linear(2 * (36 + 4), 2)).double().eval()
    inputs = images(3)
    with torch.inference_mode():
        both = [model.conv(inputs), model.conv(inputs[..., ::2, ::2])]
    within = ActivationRange(-2.0, 2.0)
    assert spectra(model, inputs, range=within, bins=5) == pytest.approx(slow_spectra(both, -2, 2, 5))
    neurons = [torch.stack(means(both)).mean(0)]
    got = spectra(model, inputs, range=within, bins=5, granularity="neuron")
    assert got == pytest.approx(slow_spectra(neurons, -2, 2, 5))


@given(st.integers(1, 9), st.integers(1, 12), st.integers(1, 30), st.sampled_from(["unit", "neuron"]))
@settings(max_examples=20, deadline=None)
def test_spectra_sum_to_one_and_batches_do_not_matter(n, batch_size, bins, granularity):
    model, inputs = network(), images(n)
    whole = activation_range(model, inputs, granularity=granularity)
    parts = activation_range(model, inputs, granularity=granularity, batch_size=batch_size)
    assert (parts.low, parts.high) == pytest.approx((whole.low, whole.high))
    within = ActivationRange(whole.low - 0.01, whole.high + 0.01)
    known = spectra(model, inputs, range=within, bins=bins, granularity=granularity)
    assert known.shape == (n, bins)
    assert known.sum(axis=1) == pytest.approx(np.ones(n))
    got = spectra(model, inputs, range=within, bins=bins, granularity=granularity, batch_size=batch_size)
    assert got == pytest.approx(known)


def by_hand(model, patch):
    """A copy that has the patched weights for good."""
    with patch.applied(model):
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    other = network(seed=1)
    other.load_state_dict(state)
    return other


@pytest.mark.parametrize("operator", [WeightInhibitor(ratio=0.5), NeuronInhibitor(ratio=0.5, direction="incoming")])
def test_a_patched_model_is_a_model_with_other_weights(operator):
    model, inputs, within = network(), images(), ActivationRange(-2.0, 3.0)
    patch = patch_of(operator, model, inputs)
    other = by_hand(model, patch)
    got = spectra(model, inputs, range=within, patch=patch)
    assert (got == spectra(other, inputs, range=within)).all()
    assert (got != spectra(model, inputs, range=within)).any()
    assert activation_range(model, inputs, patch=patch) == activation_range(other, inputs)


@pytest.mark.parametrize("granularity", ["unit", "neuron"])
def test_outgoing_inhibition_leaves_the_neuron_and_changes_what_follows(granularity):
    model, inputs = network(), images()
    patch = patch_of(NeuronInhibitor(layers=("2",), ratio=0.5, factor=1.0), model, inputs)
    (edit,) = patch.edits
    other = network()
    with torch.no_grad():
        other[5].weight.view(5, 4, -1)[:, edit.units.tolist()] = 0
    for layers in (["0"], ["2"], ["5"], None):
        options = {"layers": layers, "range": ActivationRange(-2.0, 3.0), "granularity": granularity}
        got = spectra(model, inputs, patch=patch, **options)
        assert got == pytest.approx(spectra(other, inputs, **options))
        assert (got == spectra(model, inputs, **options)).all() == (layers in (["0"], ["2"]))


HEARD_AT_THE_END = ("single_linear", "lstm_projected")
"""Models that have no hidden layer, or none whose neurons leave their module."""


@pytest.mark.parametrize("name", sorted(set(ZOO) - {"gru", "cross_attention"}))  # these have inputs on the second axis
def test_any_model_gives_spectra_and_is_left_alone(name):
    model, inputs = make(name)
    data, before = (inputs, None), ModelState.of(model)
    for granularity in ("unit", "neuron"):
        options = {"granularity": granularity, "output_layer": name in HEARD_AT_THE_END}
        got = spectra(model, data, range=activation_range(model, data, **options), **options)
        assert got.sum(axis=1) == pytest.approx(np.ones(len(got)))
    assert before == ModelState.of(model)


@pytest.mark.parametrize("name", ["resnet", "transformer_tied", "depthwise"])
@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.code)
def test_any_operator_gives_spectra_and_the_model_is_left_alone(kind, name):
    model, inputs = make(name)
    patch = patch_of(kind(), model, inputs)
    before = ModelState.of(model)
    within = activation_range(model, inputs, patch=patch)
    got = spectra(model, inputs, range=within, patch=patch)
    assert got.sum(axis=1) == pytest.approx(np.ones(len(got)))
    assert before == ModelState.of(model)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_the_model_is_left_alone_after_an_error(error, monkeypatch):
    model, inputs = network(), images()
    patch = patch_of(WeightInhibitor(ratio=0.5), model, inputs)
    before = ModelState.of(model)

    def failing(*_):
        raise error

    monkeypatch.setattr(activation_spectra, "_histograms", failing)
    with pytest.raises(error) as kept:
        spectra(model, inputs, range=ActivationRange(0.0, 1.0), patch=patch)
    assert before == ModelState.of(model)
    assert kept.value.__traceback__ is not None  # which holds the frames that patched it


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_not_finite(value):
    model, inputs = network(), images()
    patch = Patch((WeightEdit("2.bias", np.array([1]), torch.tensor([value])),))
    shown = "activations of 2=NaN or infinite for input 0: expected finite numbers"
    with pytest.raises(BadInput, match=shown):
        activation_range(model, inputs, patch=patch)
    with pytest.raises(BadInput, match=shown):
        spectra(model, inputs, range=ActivationRange(0.0, 1.0), patch=patch)
    nn.init.constant_(model[2].bias, value)
    with pytest.raises(BadInput, match="finite weights"):
        activation_range(model, inputs)


def test_the_input_that_is_not_finite_is_named():
    model = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 2)).eval()
    _ = [nn.init.ones_(parameter) for parameter in model.parameters()]
    inputs = torch.tensor([[1.0], [2.0], [3.0e38], [4.0]])
    with torch.no_grad():
        model[0].weight[1] = 2.0
    with pytest.raises(BadInput, match="activations of 0=NaN or infinite for input 2"):
        activation_range(model, inputs, batch_size=2)


@pytest.mark.parametrize("constant", [0.0, 3.5, 1e20])
def test_constant_activations(constant):
    model = network()
    for layer in (model[0], model[2], model[5]):
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
    nn.init.constant_(model[2].bias, constant)
    within = activation_range(model, images(), ["2"])
    assert (within.low, within.high) == (constant, constant)
    got = spectra(model, images(), ["2"], range=within, bins=5)
    assert (got.max(axis=1) == 1).all()
    assert (np.count_nonzero(got, axis=1) == 1).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("ends", [(0.0, 0.0), (0.0, 1e-42), (-1e-31, 0.0), (5.0, 5.0 + 1e-15)])
def test_ranges_too_narrow_to_divide(dtype, ends):
    got = _histograms(torch.tensor([ends, ends], dtype=dtype), ActivationRange(*ends), 4)
    assert got.sum(dim=1).tolist() == [2, 2]


def test_one_input_and_one_bin():
    got = spectra(network(), images(1), range=ActivationRange(0.0, 1.0), bins=1)
    assert got.tolist() == [[1.0]]


def test_a_sample():
    data = (torch.arange(40.0)[:, None], torch.arange(40))
    some = sampled(data, 0.25, seed=1)
    assert len(some) == 10
    assert (np.diff(some.targets) > 0).all()
    assert (some.read(slice(None))[:, 0].numpy() == some.targets).all()
    assert (some.targets == sampled(data, 0.25, seed=1).targets).all()
    assert (some.targets != sampled(data, 0.25, seed=2).targets).any()
    assert len(sampled(data, 0.001)) == 1
    assert len(sampled(data, 1)) == 40


def test_a_layer_that_never_runs():
    model = nn.Sequential(nn.Linear(5, 5), nn.Sigmoid(), nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 2)).eval()
    inputs = torch.randn(6, 5)
    patch = Patch((ModuleEdit("2", "remove"),))
    assert spectra(model, inputs, range=ActivationRange(0.0, 1.0), patch=patch).sum() == pytest.approx(len(inputs))
    for call in (
        lambda: activation_range(model, inputs, ["2"], patch=patch),
        lambda: spectra(model, inputs, "2", range=ActivationRange(0.0, 1.0), patch=patch),
    ):
        with pytest.raises(NotApplicable, match="takes part in the forward pass"):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, x: spectra(m, x, range=ActivationRange(0.0, 1.0), bins=0), "bins=0"),
        (lambda m, x: spectra(m, x, range=ActivationRange(1.0, 0.0)), "range=1.0 to 0.0: expected finite numbers"),
        (lambda m, x: spectra(m, x, range=ActivationRange(0.0, float("inf"))), "range=0.0 to inf"),
        (lambda m, x: ActivationRange.over([]), "that of at least one network"),
        (lambda m, x: activation_range(m, x, granularity="channel"), "granularity='channel': expected unit or neuron"),
        (lambda m, x: activation_range(m, x, batch_size=0), "batch_size=0"),
        (lambda m, x: activation_range(m, x, "nosuch"), "layer='nosuch': expected one of 0, 2, 5, 7"),
        (lambda m, x: activation_range(m, x, []), "layers=none"),
        (lambda m, x: activation_range(m, x[:, :, :2]), "model=RuntimeError"),
        (lambda m, x: activation_range(m, x[:0]), "data=an empty split"),
        (lambda m, x: activation_range(m.train(), x), "training mode"),
        (lambda m, x: activation_range("model", x), "an nn.Module"),
        (lambda m, x: activation_range(*make("single_linear")), "hidden layers .* Use output_layer=True to read "),
        (lambda m, x: sampled(x, 0.0), "share=0.0"),
        (lambda m, x: sampled(x, 1.5), "share=1.5"),
        (lambda m, x: sampled(x, seed=-1), "seed=-1"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(BadInput, match=message):
        call(network(), images())
