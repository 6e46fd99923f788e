"""Variants of a model, many at once: against one patched pass after another."""

import numpy as np
import pytest
import torch
from torch import nn

import zoo
from mutiny.models import ModelState, ModelView, default_forward
from mutiny.models.capture import visible_output
from mutiny.models.patch import Patch, WeightEdit
from mutiny.models.torch_ops import ATTENTION, replace_tensors, tensors, weighted_call
from mutiny.models.variants import Interventions, WeightVariants
from mutiny.models.view import parameter_names

pytestmark = pytest.mark.rounding

COUNT = 5


def one_by_one(model, inputs, values, entries):
    found = []
    for variant in range(COUNT):
        edits = tuple(WeightEdit(name, entries[name], new[variant]) for name, new in values.items())
        with Patch(edits).applied(model) as call, torch.no_grad():
            found.append(call(replace_tensors(inputs, torch.Tensor.clone)))
    return torch.stack(found)


def close(ours, theirs):
    loose = 0.05 if ours.dtype in (torch.half, torch.bfloat16) else 1e-5
    torch.testing.assert_close(ours, theirs, atol=loose, rtol=10 * loose)


@pytest.mark.parametrize("name", zoo.ZOO)
@pytest.mark.parametrize("where", ["first", "last", "both"])
def test_weights_of_any_network(name, where):
    model, inputs = zoo.make(name)
    view = ModelView.of(model, inputs)
    layers = {"first": view.layers[:1], "last": view.layers[-1:], "both": (view.layers[0], view.layers[-1])}[where]
    rng = np.random.default_rng(0)
    entries = {}
    for weight in (weight for layer in layers for weight in layer.weights):
        entries[weight.parameter] = np.sort(rng.choice(weight.all, min(3, weight.size), replace=False))
    values = {name: torch.from_numpy(rng.normal(size=(COUNT, len(at)))).float() for name, at in entries.items()}
    state = ModelState.of(model)
    variants = WeightVariants(model, inputs, entries)
    for _ in range(2):
        close(variants.outputs(values), one_by_one(model, inputs, values, entries))
    assert state == ModelState.of(model)


class Slow:
    """``do(h = v)`` the obvious way: one pass, one neuron, one value."""

    def __init__(self, model, layer):
        self.names, self.layer = parameter_names(model), layer

    def __call__(self, model, inputs, unit, value):
        layer, names = self.layer, self.names
        output, offset = visible_output(layer)

        class Held(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                result = func(*args, **(kwargs or {}))
                call = weighted_call(func.__name__, args, kwargs or {})
                kind = ATTENTION if layer.kind == "attention_out" else layer.kind
                mine = call is not None and call.kind == kind
                if mine and layer.weights[0].parameter in [names.get(id(w)) for w in call.weights]:
                    tensor = result if output < 0 else result[output]
                    tensor.select(layer.channel, unit + offset).fill_(value)
                return result

        with torch.no_grad(), Held():
            return default_forward(model, replace_tensors(inputs, torch.Tensor.clone))


@pytest.mark.parametrize("name", zoo.ZOO)
def test_held_neurons_of_any_network(name):
    model, inputs = zoo.make(name)
    view = ModelView.of(model, inputs)
    layers = [layer for layer in view.layers if layer.neurons and visible_output(layer) is not None]
    if not layers:
        pytest.skip("no layer whose neurons can be seen")
    for layer in {layers[0].name: layers[0], layers[-1].name: layers[-1]}.values():
        units, values = torch.tensor([0, layer.neurons - 1, 0]), torch.tensor([0.0, 1.5, -2.0])
        found = Interventions(model, inputs, layer).outputs((units, values))
        slow = Slow(model, layer)
        each = [slow(model, inputs, int(unit), float(value)) for unit, value in zip(units, values, strict=True)]
        close(found, torch.stack(each))


def test_what_comes_before_runs_once():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
    variants = WeightVariants(model, torch.rand(6, 3), {"4.weight": np.array([0, 3])})
    counted = []

    class Count(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            counted.append(str(func))
            return func(*args, **(kwargs or {}))

    with Count():
        variants.outputs({"4.weight": torch.rand(10, 2)})
    assert variants.replays
    assert variants.together
    assert not any("relu" in name for name in counted)  # both lie before the last layer
    assert sum("mm" in name for name in counted) == 1


def test_models_that_look_at_their_values_run_one_by_one():
    class Looking(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x):
            said = self.fc(x)
            return said if said.sum() > 0 else -said

    model, inputs, entries = Looking().eval(), torch.rand(3, 2), {"fc.weight": np.arange(4)}
    variants = WeightVariants(model, inputs, entries)
    values = {"fc.weight": torch.randn(COUNT, 4)}
    torch.testing.assert_close(variants.outputs(values), one_by_one(model, inputs, values, entries))
    assert not variants.together


def test_a_model_that_spoils_what_it_remembers():
    class Spoiling(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x):
            early = self.one(x)
            late = self.two(early)
            early.add_(1)
            return late + early

    model, inputs, entries = Spoiling().eval(), torch.rand(3, 2), {"two.weight": np.arange(4)}
    variants = WeightVariants(model, inputs, entries)
    values = {"two.weight": torch.randn(COUNT, 4)}
    torch.testing.assert_close(variants.outputs(values), one_by_one(model, inputs, values, entries))
    assert not variants.replays


def test_errors_of_the_model_are_its_own():
    def forward(model, inputs):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        WeightVariants(nn.Linear(2, 2).eval(), torch.rand(1, 2), {"weight": np.arange(4)}, forward)


def test_inputs_stay():
    model, inputs = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(3, 2)).eval(), torch.randn(4, 3)
    before = inputs.clone()
    WeightVariants(model, inputs, {"1.weight": np.arange(2)}).outputs({"1.weight": torch.zeros(3, 2)})
    assert torch.equal(inputs, before)
    assert next(tensors(inputs)) is inputs
