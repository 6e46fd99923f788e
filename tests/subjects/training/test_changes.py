"""Each change against a network that was obviously written so, with the same weights."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mutiny.core.errors import BadInput
from mutiny.models import default_forward
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training import Recipe, fingerprint, train_originals
from mutiny.subjects.training.changes import (
    ACTIVATIONS,
    ActivationCall,
    Bias,
    DropoutCall,
    DropoutRate,
    ModuleFollowed,
    ModuleReplaced,
)


class Net(nn.Module):
    """Two layers with functions in between, each the one that is given."""

    def __init__(self, first=F.relu, second=torch.tanh):
        super().__init__()
        self.fc1, self.fc2, self.head = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 3)
        self.first, self.second = first, second

    def forward(self, x):
        return self.head(self.second(self.fc2(self.first(self.fc1(x)))))


def identity(x):
    return x


def pair(changed, reference):
    """The two with the same weights, and inputs."""
    reference.load_state_dict(changed.state_dict())
    return changed, reference, torch.randn(5, 4)


def assert_alike(changed, reference, *inputs, exact=True):
    """Outputs and gradients, in training and evaluation, and without gradients, where torch may fuse layers."""
    for mode in (True, False):
        changed.train(mode), reference.train(mode)
        results = []
        for model in (changed, reference):
            torch.manual_seed(0)
            model.zero_grad()
            output = model(*inputs)
            output.square().sum().backward()
            results.append([output, *(p.grad for p in model.parameters())])
        for one, other in zip(*results, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                torch.testing.assert_close(one, other, rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6)
    with torch.inference_mode():
        torch.testing.assert_close(changed(*inputs), reference(*inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_module_is_replaced(name):
    def network(activation):
        return nn.Sequential(nn.Linear(4, 6), activation, nn.Linear(6, 3))

    wanted = {"linear": nn.Identity(), "softmax": nn.Softmax(1), "hard_sigmoid": nn.Hardsigmoid()}
    spelled = {"relu": "ReLU", "elu": "ELU", "selu": "SELU"}
    if name == "exponential":
        wanted[name] = type("Exp", (nn.Module,), {"forward": lambda self, x: torch.exp(x)})()
    reference = network(wanted.get(name) or getattr(nn, spelled.get(name, name.capitalize()))())
    assert_alike(*pair(ModuleReplaced("1", name).apply(network(nn.ReLU())), reference))


CALLS = {
    "F.relu": F.relu,
    "torch.relu": torch.relu,
    "x.relu()": lambda x: x.relu(),
    "x.relu_()": lambda x: x.relu_(),
    "F.relu, in place": lambda x: F.relu(x, inplace=True),
    "input=": lambda x: torch.relu(input=x),
    "statement": lambda x: (x.relu_(), x)[1],
    "module": nn.ReLU(inplace=True),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("name", "wanted"), [("sigmoid", torch.sigmoid), ("linear", identity), ("softplus", F.softplus)]
)
def test_a_functional_activation_is_replaced(call, name, wanted):
    changed = ActivationCall("fc1.weight", "relu", 0, name).apply(Net(first=CALLS[call]))
    reference = Net(first=nn.Identity() if call == "module" else identity)
    reference.first = wanted if call != "module" else nn.Sequential()
    if call == "module":
        reference.first.forward = wanted
    assert_alike(*pair(changed, reference))


def test_only_the_call_after_that_layer_is_replaced():
    assert_alike(*pair(ActivationCall("fc2.weight", "relu", 0, "elu").apply(Net(F.relu, F.relu)), Net(F.relu, F.elu)))


def test_the_second_call_after_a_layer_is_told_from_the_first():
    twice = Net(first=lambda x: F.relu(F.relu(x) - 0.1))
    assert_alike(
        *pair(ActivationCall("fc1.weight", "relu", 1, "tanh").apply(twice), Net(lambda x: torch.tanh(F.relu(x) - 0.1)))
    )


def test_a_call_before_all_layers_is_replaced():
    class Before(Net):
        def forward(self, x):
            return super().forward(self.before(x))

    changed, reference = Before(), Before()
    changed.before, reference.before = torch.tanh, torch.sigmoid
    assert_alike(*pair(ActivationCall("", "tanh", 0, "sigmoid").apply(changed), reference))


def test_changes_add_up_in_their_order():
    changed = Net()
    for before, after in (("relu", "tanh"), ("tanh", "sigmoid"), ("sigmoid", "elu")):
        changed = ActivationCall("fc1.weight", before, 0, after).apply(changed)
    changed = ActivationCall("fc2.weight", "tanh", 0, "linear").apply(changed)
    assert_alike(*pair(changed, Net(F.elu, identity)))


class Looping(nn.Module):
    """A layer used once for each step, and a head that runs in training only, in the middle."""

    def __init__(self, function, steps=3):
        super().__init__()
        self.enter, self.middle, self.extra, self.leave = (nn.Linear(4, 4) for _ in range(4))
        self.function, self.steps = function, steps

    def forward(self, x):
        x = F.relu(self.enter(x))
        more = F.relu(self.extra(x)) if self.training else 0
        for _ in range(self.steps):
            x = x + self.function(self.middle(x))
        return F.relu(self.leave(x)) + more


def test_a_call_in_a_loop_is_replaced_in_every_turn_and_in_both_modes():
    changed, reference, x = pair(
        ActivationCall("middle.weight", "relu", 0, "tanh").apply(Looping(F.relu)), Looping(torch.tanh)
    )
    assert_alike(changed, reference, x)
    changed.steps = reference.steps = 5
    assert_alike(changed, reference, x)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), "saved"])
def test_changed_networks_can_be_copied(copied):
    changed = ActivationCall("fc1.weight", "relu", 0, "elu").apply(Net())
    changed = ModuleFollowed("fc2", "batch_norm").apply(ModuleFollowed("fc2", "relu").apply(changed))
    changed = DropoutCall("fc1.weight", "dropout", 0, 0.2).apply(changed)
    if copied == "saved":
        file = io.BytesIO()
        torch.save(changed, file)
        file.seek(0)
        twin = torch.load(file, weights_only=False)
    else:
        twin = copied(changed)
    with torch.no_grad():
        twin.fc1.weight.add_(1)
        x = torch.randn(5, 4)
        expected = F.elu(F.linear(x, changed.fc1.weight + 1, changed.fc1.bias))
        assert torch.equal(twin.eval()(x), changed.head(torch.tanh(changed.eval().fc2(expected))))


def test_names_of_weights_stay():
    names = list(Net().state_dict())
    assert list(ActivationCall("fc1.weight", "relu", 0, "elu").apply(Net()).state_dict()) == names
    assert list(ModuleFollowed("fc1", "relu").apply(Net()).state_dict()) == names
    assert set(ModuleFollowed("fc1", "batch_norm").apply(Net()).state_dict()) >= set(names)


def test_the_class_and_other_networks_of_it_stay():
    x, usual = torch.randn(5, 4), Net()
    before = usual(x)
    for change in (ActivationCall("fc1.weight", "relu", 0, "elu"), ModuleReplaced("fc2"), Bias("fc1", False)):
        change.apply(Net())
        assert torch.equal(usual(x), before)
        assert "forward" not in vars(usual)


def test_inputs_are_passed_as_before():
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, pairs):
            return F.relu(self.fc(pairs[0] + pairs[1]))

    changed = ActivationCall("fc.weight", "relu", 0, "linear").apply(Sum())
    x = torch.randn(2, 4)
    assert torch.equal(default_forward(changed, (x, x)), changed.fc(2 * x))


FOLLOWED = {
    "linear": (nn.Linear(4, 6), nn.BatchNorm1d(6), (5, 4)),
    "conv1d": (nn.Conv1d(2, 6, 3), nn.BatchNorm1d(6), (5, 2, 7)),
    "conv2d": (nn.Conv2d(2, 6, 3, bias=False), nn.BatchNorm2d(6), (5, 2, 7, 7)),
    "conv3d": (nn.Conv3d(1, 6, 2), nn.BatchNorm3d(6), (3, 1, 4, 4, 4)),
    "transposed": (nn.ConvTranspose2d(4, 6, 3, groups=2), nn.BatchNorm2d(6), (3, 4, 4, 4)),
    "double": (nn.Linear(4, 6).double(), nn.BatchNorm1d(6).double(), (5, 4)),
}


@pytest.mark.parametrize("case", FOLLOWED)
def test_batch_normalization_after_a_layer(case):
    layer, norm, shape = copy.deepcopy(FOLLOWED[case])
    reference = nn.Sequential(copy.deepcopy(layer), norm)
    changed = ModuleFollowed("0", "batch_norm").apply(nn.Sequential(layer))
    x = torch.randn(shape, dtype=layer.weight.dtype)
    assert_alike(changed, reference, x, exact=False)
    torch.testing.assert_close(changed[0].then1.running_mean, norm.running_mean)


def test_batch_normalization_of_sequences_is_of_their_features():
    layer, norm, x = nn.Linear(4, 6), nn.BatchNorm1d(6), torch.randn(5, 7, 4)
    expected = norm(layer(x).flatten(0, 1)).view(5, 7, 6)
    torch.testing.assert_close(ModuleFollowed("0", "batch_norm").apply(nn.Sequential(layer))(x), expected)


def test_an_activation_after_a_layer():
    assert_alike(*pair(ModuleFollowed("fc1", "tanh").apply(Net()), Net(first=lambda x: F.relu(torch.tanh(x)))))


def encoder(**more):
    settings = {"d_model": 8, "nhead": 2, "dim_feedforward": 12, "batch_first": True, "dropout": 0.0, **more}
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(**settings), 2)


def by_hand(model, x, activation=F.relu, norm1=True, bias1=True, after2=identity):
    """What an encoder computes, with changes to its first layer."""
    for number, layer in enumerate(model.layers):
        first = number == 0
        x = x + layer.self_attn(x, x, x, need_weights=False)[0]
        x = layer.norm1(x) if norm1 or not first else x
        hidden = F.linear(x, layer.linear1.weight, layer.linear1.bias if bias1 or not first else None)
        inner = (activation if first else F.relu)(hidden)
        inner = F.linear(inner, layer.linear2.weight, layer.linear2.bias)
        x = layer.norm2(x + (after2(inner) if first else inner))
    return x


@pytest.mark.parametrize("given", ["relu", nn.ReLU()])
@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (ModuleReplaced("layers.0.norm1"), {"norm1": False}),
        (ModuleFollowed("layers.0.linear2", "tanh"), {"after2": torch.tanh}),
        (Bias("layers.0.linear1", False), {"bias1": False}),
        ("activation", {"activation": torch.tanh}),
    ],
)
def test_parts_of_a_transformer_are_changed_also_where_torch_would_fuse_them(given, change, wanted):
    if change == "activation":
        path, weight = "layers.0.activation", "layers.0.linear1.weight"
        change = ModuleReplaced(path, "tanh") if given != "relu" else ActivationCall(weight, "relu", 0, "tanh")
    model, x = encoder(activation=given), torch.randn(3, 5, 8)
    usual = copy.deepcopy(model)
    padded = torch.zeros(3, 5, dtype=torch.bool)
    padded[:, 4] = True
    changed = change.apply(model)
    expected = by_hand(usual, x, **wanted)
    for mode in (True, False):
        torch.testing.assert_close(changed.train(mode)(x), expected, rtol=1e-4, atol=1e-5)
        with torch.no_grad():
            torch.testing.assert_close(changed(x), expected, rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        found = changed(x, src_key_padding_mask=padded)
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            torch.testing.assert_close(found, changed(x, src_key_padding_mask=padded), rtol=1e-4, atol=1e-5)
        finally:
            torch.backends.mha.set_fastpath_enabled(True)


LAYERS = [
    (nn.Linear(4, 6), (5, 4)),
    (nn.Conv1d(2, 6, 3), (5, 2, 7)),
    (nn.Conv2d(2, 6, 3, groups=2), (5, 2, 7, 7)),
    (nn.ConvTranspose1d(4, 6, 3, groups=2), (5, 4, 7)),
]


@pytest.mark.parametrize(("layer", "shape"), LAYERS)
def test_a_bias_goes_and_comes(layer, shape):
    layer, x = copy.deepcopy(layer), torch.randn(shape)
    rest = (1,) * (len(shape) - 2)
    usual, bias = layer(x), layer.bias.detach().view(1, -1, *rest)
    without = Bias("0", False).apply(nn.Sequential(layer))
    assert list(without.state_dict()) == ["0.weight"]
    torch.testing.assert_close(without(x), usual - bias)
    with_one = Bias("0", True).apply(without)
    torch.testing.assert_close(with_one(x), usual - bias + with_one[0].bias.view(1, -1, *rest))
    assert list(with_one.state_dict()) == ["0.weight", "0.bias"]


def test_a_new_bias_begins_as_torch_begins_it():
    layer = nn.Linear(100, 5000)
    new = Bias("0", True).apply(nn.Sequential(nn.Linear(100, 5000, bias=False)))[0].bias
    assert new.requires_grad
    assert new.abs().max() <= 0.1
    assert new.std().item() == pytest.approx(layer.bias.std().item(), rel=0.05)


def test_the_rate_of_a_dropout_module():
    changed = DropoutRate("1", 0.75).apply(nn.Sequential(nn.Linear(4, 60), nn.Dropout(0.5), nn.Linear(60, 3)))
    assert_alike(*pair(changed, nn.Sequential(nn.Linear(4, 60), nn.Dropout(0.75), nn.Linear(60, 3))))


@pytest.mark.parametrize(
    ("function", "call"),
    [
        ("dropout", lambda x, p, on: F.dropout(x, p, on)),
        ("dropout", lambda x, p, on: F.dropout(x, p=p, training=on, inplace=True)),
        ("dropout", lambda x, p, on: torch.dropout(x, p, on)),
        ("dropout", lambda x, p, on: torch.dropout(x, train=on, p=p)),
        ("alpha_dropout", lambda x, p, on: F.alpha_dropout(x, p, on)),
    ],
)
@pytest.mark.parametrize("rate", [0.125, 1.0])
def test_the_rate_of_a_functional_dropout(function, call, rate):
    changed, reference = Net(), Net()
    changed.first = lambda x: call(x, 0.5, changed.training)
    reference.first = lambda x: call(x, rate, reference.training)
    changed.second = lambda x: call(x, 0.3, changed.training)
    reference.second = lambda x: call(x, 0.3, reference.training)
    assert_alike(*pair(DropoutCall("fc1.weight", function, 0, rate).apply(changed), reference))


def test_the_rate_of_dropout_inside_recurrent_and_attention_layers():
    torch.manual_seed(0)
    lstm = nn.LSTM(4, 5, 2, dropout=0.2)
    torch.testing.assert_close(DropoutRate("", 0.9).apply(lstm).dropout, 0.9)
    attention, x = nn.MultiheadAttention(8, 2, dropout=0.1), torch.randn(5, 3, 8)
    changed = DropoutRate("", 1.0).apply(attention)
    torch.testing.assert_close(changed(x, x, x)[0], attention.out_proj.bias.expand(5, 3, 8))


def test_a_module_with_several_names_is_changed_under_all_of_them():
    shared = nn.ReLU()
    model = nn.Sequential(nn.Linear(4, 6), shared, nn.Linear(6, 6), shared)
    model.others = [shared]
    changed = ModuleReplaced("1", "tanh").apply(model)
    assert changed[3] is changed[1] is changed.others[0]
    x = torch.randn(2, 4)
    assert torch.equal(changed(x), torch.tanh(changed[2](torch.tanh(changed[0](x)))))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (ModuleReplaced("fc9"), "path='fc9': expected a module of the network: fc1, fc2, head"),
        (ModuleReplaced("fc1", "swish"), "activation='swish': expected one of tanh, "),
        (ModuleFollowed("norm", "batch_norm"), "path=LayerNorm: expected a linear layer or a convolution"),
    ],
)
def test_what_cannot_be_changed(change, text):
    model = Net()
    if "norm" in change.path:
        model.norm = nn.LayerNorm(3)
    with pytest.raises(BadInput, match="expected") as error:
        change.apply(model)
    assert text in str(error.value)


class Dropping(Net):
    """With all that the changes below need."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.head(self.drop(torch.tanh(self.fc2(F.dropout(F.relu(self.fc1(x)), 0.2, self.training)))))


CHANGES = [
    ModuleReplaced("fc2"),
    ModuleReplaced("drop", "softsign"),
    ModuleFollowed("fc1", "batch_norm"),
    ModuleFollowed("fc1", "tanh"),
    Bias("fc2", False),
    DropoutRate("drop", 0.5),
    ActivationCall("fc1.weight", "relu", 0, "sigmoid"),
    DropoutCall("fc1.weight", "dropout", 0, 0.75),
]
X = np.random.default_rng(0).normal(size=(24, 4)).astype(np.float32)
DATA = as_data((X, np.arange(24) % 3), "train")
TASK = Classification(3)


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_changed_networks_are_trained_stored_and_loaded(change, tmp_path):
    recipe = Recipe(Dropping, epochs=2, batch_size=8, changes=(change,), regularizers={"fc1": (0.0, 0.01)})
    models, told = [], []
    for _ in range(2):
        epochs = []
        models += train_originals(
            recipe, DATA, TASK, 1, 0, folder=tmp_path, progress=lambda *at, to=epochs: to.append(at)
        )
        told.append(epochs)
    assert told == [[(1, 2), (2, 2)], [(2, 2)]]  # trained, then loaded
    first, again = models
    x = torch.from_numpy(X)
    assert torch.equal(first(x), again(x))
    usual = Dropping()
    if first.state_dict().keys() == usual.state_dict().keys() and "ropout" not in str(change):
        usual.load_state_dict(first.state_dict())
        assert not torch.equal(usual.eval()(x), first(x))


def test_a_store_tells_changes_apart():
    recipes = [Recipe(Dropping, changes=(change,)) for change in CHANGES] + [Recipe(Dropping)]
    found = [fingerprint(recipe, DATA, TASK, 0) for recipe in recipes]
    assert len(set(found)) == len(found)
    again = [Recipe(Dropping, changes=(copy.copy(change),)) for change in CHANGES]
    assert [fingerprint(recipe, DATA, TASK, 0) for recipe in again] == found[:-1]
