"""Where features are read, against hooks; truncated passes; what is chosen automatically."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mutiny.architectures import VGG16, LeNet1, LeNet5, ResNet20
from mutiny.errors import BadInput
from mutiny.models import ModelState, ModelView
from mutiny.models.places import Places
from mutiny.models.reading import reading
from zoo import ZOO, Lambda, make

UNREADABLE = ("gru", "cross_attention")
"""Their inputs do not come first, so that rows are not inputs."""


def places_of(model, inputs):
    return Places(ModelView.of(model.eval(), inputs), inputs)


@pytest.mark.parametrize(
    ("build", "shape", "encoder", "size", "hidden"),
    [
        (LeNet1, (1, 28, 28), "pool2", (12, 4, 4), 192),
        (LeNet5, (1, 28, 28), "pool2", (16, 5, 5), 84),
        (ResNet20, (3, 32, 32), "block3_3", (64, 8, 8), 64),
        (VGG16, (3, 32, 32), "pool5", (512, 1, 1), 512),
    ],
)
def test_the_last_feature_layer_of_the_papers_networks(build, shape, encoder, size, hidden):
    places = places_of(build(), torch.zeros(2, *shape))
    assert (places.encoder.name, places.encoder.shape) == (encoder, size)
    assert (places.hidden.name, places.hidden.count("unit")) == ("head:input", hidden)
    assert "classifier head" in places.encoder.describe("unit")


def test_functional_models_and_sequences():
    def forward(m, x):
        x = F.max_pool2d(F.relu(m.conv(x)), 2)
        return m.out(F.relu(m.fc(x.flatten(1))))

    model = Lambda(forward, conv=nn.Conv2d(1, 3, 3), fc=nn.Linear(27, 4), out=nn.Linear(4, 2))
    places = places_of(model, torch.zeros(2, 1, 8, 8))
    assert (places.encoder.name, places.encoder.kind, places.encoder.shape) == ("conv", "signal", (3, 3, 3))
    lstm = Lambda(lambda m, x: m.head(m.rnn(x)[0][:, -1]), rnn=nn.LSTM(3, 5, batch_first=True), head=nn.Linear(5, 2))
    assert places_of(lstm, torch.zeros(2, 7, 3)).encoder.shape == (5,)


@pytest.mark.parametrize("name", [name for name in ZOO if name not in UNREADABLE])
def test_features_are_what_hooks_see(name):
    model, inputs = make(name)
    view = ModelView.of(model, inputs)
    places = Places(view, inputs)
    before = ModelState.of(model)
    modules = [place for place in places.modules.values() if place.kind == "output" and place.path and place.calls == 1]
    for place in modules[:6]:
        seen = []

        def note(_module, _args, output, seen=seen):
            seen.append((output[0] if isinstance(output, tuple) else output).clone())

        handle = model.get_submodule(place.path).register_forward_hook(note)
        with reading(view, [place], "unit", outputs=True) as read:
            found = read(inputs)
        handle.remove()
        assert found.outputs is not None
        assert found.features.numel() == seen[0].numel()
        if len(seen[0]) == len(found.features):  # inputs come first there, too
            assert torch.equal(found.features, seen[0].flatten(1).to(found.features))
        with reading(view, [place], "unit") as read:
            assert torch.equal(read(inputs).features, found.features)  # the pass that ends early
            assert read(inputs).outputs is None
    assert before == ModelState.of(model)


def test_a_pass_ends_early_and_hooks_are_gone_after_errors():
    ran = []
    late = Lambda(lambda m, x: ran.append(1) or x)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), late, nn.Linear(4, 2)).eval()
    x = torch.randn(5, 3)
    view = ModelView.of(model, x)
    places = Places(view, x)
    before = ModelState.of(model)
    ran.clear()
    with reading(view, places.choose("1")) as read:
        assert torch.equal(read(x).features, F.relu(model[0](x)).detach())
    assert not ran
    with pytest.raises(RuntimeError), reading(view, places.choose("1")) as read:
        read(torch.randn(5, 7))
    assert before == ModelState.of(model)


def test_in_place_functions_do_not_spoil_features():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(72, 2))
    x = torch.randn(4, 1, 8, 8)
    view = ModelView.of(model.eval(), x)
    normed = model[1](model[0](x)).detach()
    with reading(view, Places(view, x).choose("1"), outputs=True) as read:
        assert torch.allclose(read(x).features, normed.flatten(1))
    with reading(view, Places(view, x).choose("0"), "neuron", outputs=True) as read:
        assert torch.allclose(read(x).features, normed.relu().mean((2, 3)), atol=1e-6)


def test_names_patterns_and_wrong_names():
    model = LeNet5().eval()
    x = torch.zeros(2, 1, 28, 28)
    places = places_of(model, x)
    assert [place.name for place in places.choose("conv*")] == ["conv1", "conv2"]
    assert [place.name for place in places.choose(["fc1", "pool2", "fc1"])] == ["fc1", "pool2"]
    assert [place.name for place in places.choose("all")] == ["conv1", "conv2", "fc1", "fc2", "head"]
    assert places.choose("conv1:output")[0].shape == (6, 28, 28)
    assert places.choose("conv1")[0].shape == (6, 14, 14)
    with pytest.raises(BadInput, match="Did you mean pool2"):
        places.choose("poool2")
    with pytest.raises(BadInput, match="at least one name"):
        places.choose([])


def test_models_whose_inputs_do_not_come_first():
    with pytest.raises(BadInput, match="batch_first"):
        places_of(*make("gru"))
    assert places_of(*make("cross_attention")).encoder.count("unit") > 0
