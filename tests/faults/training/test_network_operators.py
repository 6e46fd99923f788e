"""Operators on the network: configurations against lists made by hand, and changed networks of many kinds."""

from collections import OrderedDict
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import zoo
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults.training.activations import (
    AddedActivation,
    ChangedActivation,
    RemovedActivation,
    RemovedActivationFunction,
)
from mutiny.faults.training.base import Program
from mutiny.faults.training.layers import (
    AddedBias,
    AddedLayer,
    AddedRegularizer,
    ChangedDropoutRate,
    ChangedInitializer,
    ChangedRegularizer,
    RemovedBias,
    RemovedLayer,
    RemovedRegularizer,
)
from mutiny.models import default_forward
from mutiny.subjects.architectures import DigitsCnn, ResNet20
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training import Recipe, train_originals

OPERATORS = {
    operator.code: operator
    for operator in (
        ChangedActivation,
        AddedActivation,
        RemovedActivation,
        AddedRegularizer,
        ChangedRegularizer,
        RemovedRegularizer,
        ChangedDropoutRate,
        ChangedInitializer,
        AddedBias,
        RemovedBias,
        RemovedLayer,
        AddedLayer,
        RemovedActivationFunction,
    )
}
ACTIVATIONS = "tanh softmax elu selu softplus softsign relu sigmoid hard_sigmoid linear exponential".split()
INITIALIZERS = (
    "zeros ones constant normal uniform trunc_normal orthogonal xavier_uniform xavier_normal kaiming_uniform "
    "kaiming_normal lecun_uniform lecun_normal".split()
)
RATES = [0.125, 0.25, 0.75, 1.0]
KINDS = ["l1", "l2", "l1_l2"]


class FunctionalLeNet(nn.Module):
    """A network with functions between the layers, which can be replaced by arguments."""

    def __init__(self, first=F.relu, second=torch.tanh, third=torch.relu, rate=0.25):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 6, 3)
        self.fc1, self.fc2 = nn.Linear(24, 10), nn.Linear(10, 3)
        self.first, self.second, self.third, self.rate = first, second, third, rate

    def forward(self, x):
        x = self.first(F.max_pool2d(self.conv1(x), 2))
        x = self.second(F.max_pool2d(self.conv2(x), 2))
        x = F.dropout(self.third(self.fc1(x.flatten(1))), self.rate, self.training)
        return self.fc2(x)


def lenet():
    return nn.Sequential(
        OrderedDict(
            conv1=nn.Conv2d(1, 4, 3),
            act1=nn.ReLU(),
            pool1=nn.MaxPool2d(2),
            conv2=nn.Conv2d(4, 6, 3),
            act2=nn.Tanh(),
            drop=nn.Dropout(0.25),
            flatten=nn.Flatten(),
            fc1=nn.Linear(6 * 16, 8),
            fc2=nn.Linear(8, 8),
            act3=nn.Hardsigmoid(),
            head=nn.Linear(8, 3),
        )
    )


class LstmClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm = nn.Embedding(11, 4), nn.LSTM(4, 5, 2, dropout=0.5, batch_first=True)
        self.dense, self.head = nn.Linear(5, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.dense(self.lstm(self.embed(x))[0][:, -1]))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.1, batch_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 1), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x)).mean(1))


def conv1d():
    return nn.Sequential(
        nn.Conv1d(2, 4, 3, bias=False),
        nn.BatchNorm1d(4),
        nn.ReLU(),
        nn.Conv1d(4, 4, 3, padding=1),
        nn.AvgPool1d(2),
        nn.ELU(),
        nn.Flatten(),
        nn.Linear(12, 3, bias=False),
    )


def no_biases():
    return nn.Sequential(nn.Linear(5, 6, bias=False), nn.Sigmoid(), nn.Linear(6, 3, bias=False), nn.Sigmoid())


RNG = np.random.default_rng(0)


def real(*shape):
    return RNG.normal(size=(12, *shape)).astype(np.float32)


NETWORKS = {
    "lenet": (lenet, real(1, 14, 14)),
    "functional": (FunctionalLeNet, real(1, 14, 14)),
    "resnet": (ResNet20, real(3, 32, 32)),
    "projecting resnet": (lambda: ResNet20(shortcut="B"), real(3, 32, 32)),
    "digits": (DigitsCnn, real(1, 8, 8)),
    "lstm": (LstmClassifier, RNG.integers(0, 11, size=(12, 7))),
    "transformer": (Transformer, RNG.integers(0, 11, size=(12, 6))),
    "conv1d": (conv1d, real(2, 8)),
    "no biases": (no_biases, real(5)),
    "one layer": (lambda: nn.Linear(5, 3), real(5)),
}
LABELS = np.arange(12) % 3


def program_of(name, **settings):
    build, inputs = NETWORKS[name]
    classes = 10 if name.endswith("resnet") or name == "digits" else 3
    recipe = Recipe(build, epochs=2, batch_size=6, **settings)
    return Program(recipe, as_data((inputs, LABELS), "train"), Classification(classes, outputs="logits"))


def found(operator, program):
    """Configurations as tuples of their parameters, without the switch of LRs."""
    names = [field.name for field in fields(operator) if field.name != "inactive"]
    return [tuple(getattr(each, name) for name in names) for each in operator.configurations(program)]


def every(layers, options=None, without=()):
    """Expected configurations: each layer with each option, except the one in ``without``."""
    if options is None:
        return [(layer,) for layer in layers]
    return [(layer, option) for layer in layers for option in options if (layer, option) not in without]


BLOCKS = [f"block{stage}_{number}" for stage in (1, 2, 3) for number in (1, 2, 3)]
CONVS = ["conv", *(f"{block}.{conv}" for block in BLOCKS for conv in ("conv1", "conv2"))]
ADDED = [name for name in ACTIVATIONS if name != "linear"]
HIDDEN = "encoder.layers.0."
EXPECTED = {
    ("lenet", "ACH"): every(
        ["conv1", "conv2", "fc2"], ACTIVATIONS, {("conv1", "relu"), ("conv2", "tanh"), ("fc2", "hard_sigmoid")}
    ),
    ("lenet", "AAL"): every(["fc1"], ADDED),
    ("lenet", "ARM"): every(["conv1", "conv2", "fc2"]),
    ("lenet", "AFRs"): every(["conv1", "conv2", "fc2"]),
    ("lenet", "RAW"): every(["conv1", "conv2", "fc1", "fc2", "head"], KINDS),
    ("lenet", "RCW"): "no layer has a regularizer",
    ("lenet", "RRW"): "no layer has a regularizer",
    ("lenet", "RCD"): every(["drop"], RATES, {("drop", 0.25)}),
    ("lenet", "WCI"): every(["conv1", "conv2", "fc1", "fc2", "head"], INITIALIZERS),
    ("lenet", "WAB"): "every layer has a bias",
    ("lenet", "WRB"): every(["conv1", "conv2", "fc1", "fc2", "head"]),
    ("lenet", "LRs"): every(["fc2"]),
    ("lenet", "LAs"): every(["conv1", "conv2", "fc1", "fc2"], ["relu", "batch_norm"], {("conv1", "relu")}),
    ("functional", "ACH"): every(
        ["conv1", "conv2", "fc1"], ACTIVATIONS, {("conv1", "relu"), ("conv2", "tanh"), ("fc1", "relu")}
    ),
    ("functional", "AAL"): "every hidden layer has an activation",
    ("functional", "ARM"): every(["conv1", "conv2", "fc1"]),
    ("functional", "RCD"): every(["fc1"], RATES, {("fc1", 0.25)}),
    ("functional", "LRs"): "no layer between the first and the last keeps the shape of its input",
    ("functional", "LAs"): every(
        ["conv1", "conv2", "fc1"], ["relu", "batch_norm"], {("conv1", "relu"), ("fc1", "relu")}
    ),
    ("resnet", "ACH"): every(CONVS, [name for name in ACTIVATIONS if name != "relu"]),
    ("resnet", "AAL"): "every hidden layer has an activation",
    ("resnet", "ARM"): every(CONVS),
    ("resnet", "RAW"): every([*CONVS, "head"], KINDS),
    ("resnet", "RCD"): "no dropout layer",
    ("resnet", "WAB"): every(CONVS),
    ("resnet", "WRB"): every(["head"]),
    ("resnet", "LAs"): every(CONVS, ["relu", "batch_norm"]),
    ("resnet", "LRs"): every(
        ["norm"]
        + [
            f"{block}.{part}"
            for block in BLOCKS
            for part in ("conv1", "norm1", "conv2", "norm2")
            if (block, part) not in {("block2_1", "conv1"), ("block3_1", "conv1")}
        ]
    ),
    ("projecting resnet", "AAL"): every(["block2_1.conv2", "block3_1.conv2"], ADDED),
    ("digits", "LRs"): every(["conv2"]),
    ("lstm", "ACH"): "the network calls no activation function",
    ("lstm", "AAL"): every(["dense"], ADDED),
    ("lstm", "ARM"): "the network calls no activation function",
    ("lstm", "RAW"): every(["lstm", "dense", "head"], KINDS),
    ("lstm", "RCD"): every(["lstm"], RATES),
    ("lstm", "WCI"): every(["lstm", "dense", "head"], INITIALIZERS),
    ("lstm", "WRB"): every(["dense", "head"]),
    ("lstm", "LAs"): every(["dense"], ["relu", "batch_norm"]),
    ("transformer", "ACH"): every([HIDDEN + "linear1"], [name for name in ACTIVATIONS if name != "relu"]),
    ("transformer", "AAL"): every([HIDDEN + "linear2"], ADDED),
    ("transformer", "ARM"): every([HIDDEN + "linear1"]),
    ("transformer", "RAW"): every([HIDDEN + "self_attn", HIDDEN + "linear1", HIDDEN + "linear2", "head"], KINDS),
    ("transformer", "RCD"): every([HIDDEN + name for name in ("self_attn", "dropout1", "dropout", "dropout2")], RATES),
    ("transformer", "WRB"): every([HIDDEN + "linear1", HIDDEN + "linear2", "head"]),
    ("transformer", "LRs"): every([HIDDEN + "norm1", HIDDEN + "norm2"]),
    ("transformer", "LAs"): every(
        [HIDDEN + "linear1", HIDDEN + "linear2"], ["relu", "batch_norm"], {(HIDDEN + "linear1", "relu")}
    ),
    ("conv1d", "ACH"): every(["0", "3"], ACTIVATIONS, {("0", "relu"), ("3", "elu")}),
    ("conv1d", "WAB"): every(["0", "7"]),
    ("conv1d", "WRB"): every(["3"]),
    ("conv1d", "LRs"): every(["1", "3"]),
    ("conv1d", "LAs"): every(["0", "3"], ["relu", "batch_norm"]),
    ("no biases", "ACH"): every(["0", "2"], [name for name in ACTIVATIONS if name != "sigmoid"]),
    ("no biases", "ARM"): every(["0"]),
    ("no biases", "WAB"): every(["0", "2"]),
    ("no biases", "WRB"): "no layer has a bias",
    ("one layer", "AAL"): "no hidden layer is a linear module or a convolution module",
    ("one layer", "RAW"): every(["model"], KINDS),
    ("one layer", "WCI"): every(["model"], INITIALIZERS),
    ("one layer", "WRB"): every(["model"]),
    ("one layer", "LAs"): "no hidden layer is a linear module or a convolution module",
}


@pytest.mark.parametrize(("name", "code"), EXPECTED)
def test_configurations(name, code):
    expected, program = EXPECTED[name, code], program_of(name)
    if isinstance(expected, str):
        with pytest.raises(NotApplicable) as error:
            OPERATORS[code]().configurations(program)
        assert str(error.value) == expected
    else:
        assert found(OPERATORS[code](), program) == expected


def test_the_functional_lenet_has_what_the_other_has_with_dropout_that_never_acts_left_out():
    model, inputs = zoo.make("lenet_functional")
    program = Program(Recipe(lambda: model), as_data((inputs, [0, 1, 2]), "train"), Classification(5))
    with pytest.raises(NotApplicable, match="no dropout layer"):
        ChangedDropoutRate().configurations(program)


def test_attention_that_a_network_calls_as_a_function_is_no_dropout():
    class Pooling(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention, self.head = nn.MultiheadAttention(5, 1), nn.Linear(5, 3)

        def forward(self, x):
            own, x = self.attention, x[None]
            pooled, _ = F.multi_head_attention_forward(
                x,
                x,
                x,
                5,
                1,
                own.in_proj_weight,
                own.in_proj_bias,
                None,
                None,
                False,
                0.5,
                own.out_proj.weight,
                own.out_proj.bias,
                training=self.training,
            )
            return self.head(F.dropout(pooled[0], 0.1, self.training))

    program = replace(program_of("no biases"), recipe=Recipe(Pooling))
    assert found(ChangedDropoutRate(), program) == every(["attention.in_proj"], RATES)


REGULARIZED = {"conv1": (0.1, 0.0), "fc1": (0.0, 0.5), "fc2": (0.0, 0.0), "head": (0.2, 0.2)}


def test_regularizers_that_there_are():
    program = program_of("lenet", regularizers=REGULARIZED)
    assert found(AddedRegularizer(), program) == every(["conv2", "fc2"], KINDS)
    now = {("conv1", "l1"), ("fc1", "l2"), ("head", "l1_l2")}
    assert found(ChangedRegularizer(), program) == every(["conv1", "fc1", "head"], KINDS, now)
    assert found(RemovedRegularizer(), program) == every(["conv1", "fc1", "head"])
    rng = np.random.default_rng(0)
    recipe = ChangedRegularizer("fc1", "l1_l2").mutate(program, rng).recipe
    assert recipe.regularizers == {**REGULARIZED, "fc1": (0.01, 0.01)}
    recipe = AddedRegularizer("conv2", "l2").mutate(program, rng).recipe
    assert recipe.regularizers == {**REGULARIZED, "conv2": (0.0, 0.01)}
    recipe = RemovedRegularizer("conv1").mutate(program, rng).recipe
    assert recipe.regularizers == {name: sizes for name, sizes in REGULARIZED.items() if name != "conv1"}


def test_a_regularizer_of_a_module_around_counts():
    program = program_of("transformer", regularizers={"encoder": (0.1, 0.0)})
    assert found(AddedRegularizer(), program) == every(["head"], KINDS)
    with pytest.raises(NotApplicable, match="every layer has a regularizer"):
        AddedRegularizer().configurations(program_of("transformer", regularizers={"": (0.1, 0.0)}))


def test_weight_decay_is_no_regularizer():
    with pytest.raises(NotApplicable, match=r"no layer has a regularizer \(weight_decay"):
        RemovedRegularizer().configurations(program_of("lenet", weight_decay=0.1))


def test_the_initializer_that_a_recipe_names_is_left_out():
    program = program_of("lenet", initializers={"fc1": "zeros"})
    expected = every(["conv1", "conv2", "fc1", "fc2", "head"], INITIALIZERS, {("fc1", "zeros")})
    assert found(ChangedInitializer(), program) == expected
    changed = ChangedInitializer("fc1", "ones").mutate(program, np.random.default_rng(0))
    assert changed.recipe.initializers == {"fc1": "ones"}
    assert bool((changed.view.model.fc1.weight == 1).all())
    assert not bool((changed.view.model.fc2.weight == 1).any())


def test_some_parameters_can_be_fixed():
    program = program_of("lenet")
    without = [name for name in ACTIVATIONS if name != "relu"]
    assert found(ChangedActivation(layer="conv1"), program) == every(["conv1"], without)
    assert found(ChangedActivation(activation="relu"), program) == every(["conv2", "fc2"], ["relu"])
    assert found(ChangedDropoutRate(rate=0.9), program) == [("drop", 0.9)]
    assert found(AddedLayer(addition="relu"), program) == every(["conv2", "fc1", "fc2"], ["relu"])
    assert found(RemovedLayer(inactive=True), program) == every(["drop", "fc2"])


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        (ChangedActivation("conv1", "relu"), "activation relu would change nothing in conv1"),
        (ChangedDropoutRate(rate=0.25), "rate 0.25 would change nothing in drop"),
        (AddedLayer("conv1", "relu"), "addition relu would change nothing in conv1"),
    ],
)
def test_what_is_so_already_changes_nothing(operator, reason):
    with pytest.raises(NotApplicable) as error:
        operator.mutate(program_of("lenet"), np.random.default_rng(0))
    assert str(error.value) == reason


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda: ChangedActivation(activation="swish"), "ACH activation='swish': expected one of tanh, "),
        (lambda: AddedActivation(activation="linear"), "AAL activation='linear': expected one of tanh, "),
        (lambda: ChangedDropoutRate(rate=1.5), "RCD rate=1.5: expected a number between 0 and 1."),
        (lambda: ChangedDropoutRate(rate=True), "RCD rate=True: expected a number between 0 and 1."),
        (lambda: AddedRegularizer(kind="l3"), "RAW kind='l3': expected one of l1, l2, l1_l2."),
        (lambda: ChangedInitializer(initializer="he"), "WCI initializer='he': expected one of zeros, "),
        (lambda: AddedLayer(addition="tanh"), "LAs addition='tanh': expected one of relu, batch_norm."),
        (ChangedActivation("conv9"), "ACH layer='conv9': expected one of conv1, conv2, fc2."),
        (AddedActivation("conv1"), "AAL layer='conv1': expected one of fc1."),
        (RemovedBias("pool1"), "WRB layer='pool1': expected one of conv1, conv2, fc1, fc2, head."),
        (ChangedDropoutRate("fc1", 0.75), "RCD layer='fc1': expected one of drop."),
    ],
)
def test_bad_parameters(wrong, text):
    with pytest.raises(BadInput) as error:
        wrong() if callable(wrong) else wrong.mutate(program_of("lenet"), np.random.default_rng(0))
    assert str(error.value).startswith(text)


def changed_network(operator, program):
    """The changed network and the original one, both with the weights of the program's view."""
    return operator.mutate(program, np.random.default_rng(0)).view.model


REWRITTEN = [
    (ChangedActivation("conv1", "elu"), {"first": F.elu}),
    (ChangedActivation("conv2", "softmax"), {"second": lambda x: F.softmax(x, 1)}),
    (ChangedActivation("fc1", "exponential"), {"third": torch.exp}),
    (RemovedActivation("conv2"), {"second": lambda x: x}),
    (RemovedActivationFunction("fc1"), {"third": lambda x: x}),
    (ChangedDropoutRate("fc1", 0.75), {"rate": 0.75}),
]


@pytest.mark.parametrize(("operator", "parts"), REWRITTEN, ids=lambda each: getattr(each, "code", ""))
def test_functions_against_a_network_written_so(operator, parts):
    program = program_of("functional")
    changed, reference = changed_network(operator, program), FunctionalLeNet(**parts)
    reference.load_state_dict(program.view.model.state_dict())
    x = torch.from_numpy(NETWORKS["functional"][1])
    for mode in (True, False):
        outputs, gradients = [], []
        for model in (changed.train(mode), reference.train(mode)):
            torch.manual_seed(0)
            model.zero_grad()
            outputs.append(model(x))
            outputs[-1].sum().backward()
            gradients.append([parameter.grad for parameter in model.parameters()])
        assert torch.equal(*outputs)
        assert all(map(torch.equal, *gradients))


def test_one_use_of_a_shared_module_is_changed():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c, self.act = nn.Linear(5, 5), nn.Linear(5, 5), nn.Linear(5, 3), nn.ReLU(inplace=True)

        def forward(self, x):
            return self.c(self.act(self.b(self.act(self.a(x)))))

    program = replace(program_of("no biases"), recipe=Recipe(Shared))
    model = changed_network(ChangedActivation("b", "tanh"), program)
    x = torch.randn(3, 5)
    assert torch.equal(model(x), model.c(torch.tanh(model.b(F.relu(model.a(x))))))


def test_several_activations_after_one_layer_have_names():
    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.gates, self.head = nn.Linear(10, 10), nn.Linear(5, 3)

        def forward(self, x):
            h = torch.tanh(x)
            for _ in range(2):
                keep, new = self.gates(torch.cat([x, h], 1)).chunk(2, 1)
                h = torch.sigmoid(keep) * h + torch.tanh(torch.tanh(new))
            return self.head(h)

    program = replace(program_of("no biases"), recipe=Recipe(Gated))
    layers = ["input:tanh", "gates:sigmoid", "gates:tanh", "gates:tanh2"]
    assert found(RemovedActivation(), program) == every(layers)
    assert len(ChangedActivation().configurations(program)) == 4 * 10
    model = changed_network(ChangedActivation("gates:tanh2", "elu"), program)
    x = torch.randn(3, 5)
    h = torch.tanh(x)
    for _ in range(2):
        keep, new = model.gates(torch.cat([x, h], 1)).chunk(2, 1)
        h = torch.sigmoid(keep) * h + F.elu(torch.tanh(new))
    assert torch.equal(model(x), model.head(h))


def test_functions_outside_the_network_are_left_alone():
    def forward(model, x):
        return torch.sigmoid(model.fc2(torch.relu(model.fc1(x.flatten(1)[:, :24]))))

    program = replace(program_of("functional"), forward=forward)
    assert len(program.view.activations) == 2
    with pytest.raises(NotApplicable, match="the network calls no activation function"):
        ChangedActivation().configurations(program)
    around = replace(program_of("functional"), forward=lambda model, x: torch.sigmoid(model(x)))
    assert found(RemovedActivation(), around) == every(["conv1", "conv2", "fc1"])
    inside = replace(program_of("lenet"), forward=lambda model, x: nn.Sequential(*model)(x))
    assert found(RemovedActivation(), inside) == every(["conv1", "conv2", "fc2"])


def test_layers_put_in_and_left_out():
    program = program_of("lenet")
    x = torch.from_numpy(NETWORKS["lenet"][1])
    usual = program.view.model
    model = changed_network(RemovedLayer("fc2"), program)
    assert torch.equal(model(x), usual.head(usual.act3(usual[:-3](x))))
    model = changed_network(AddedLayer("fc1", "relu"), program)
    assert torch.equal(model(x), usual[-3:](F.relu(usual[:-3](x))))
    model = changed_network(AddedActivation("fc1", "softsign"), program)
    assert torch.equal(model(x), usual[-3:](F.softsign(usual[:-3](x))))
    model = changed_network(AddedLayer("conv1", "batch_norm"), program).train()
    inner = nn.BatchNorm2d(4)(usual.conv1(x))
    model.drop.eval()
    torch.testing.assert_close(model(x), usual[1:](inner), rtol=1e-4, atol=1e-5)


def test_relu_that_matters_is_not_taken_for_needless_where_weights_begin_at_zero():
    def build():
        model = ResNet20()
        for block in (model.block1_1, model.block1_2):
            nn.init.zeros_(block.norm2.weight)
        nn.init.zeros_(model.head.weight)
        return model

    program = replace(program_of("resnet"), recipe=Recipe(build))
    assert found(AddedLayer("block1_1.conv2"), program) == every(["block1_1.conv2"], ["relu", "batch_norm"])


def test_what_is_open_is_drawn():
    program = program_of("lenet")
    for code, operator in OPERATORS.items():
        if isinstance(EXPECTED["lenet", code], str):
            continue
        drawn = [operator().mutate(program, np.random.default_rng(seed)).recipe for seed in range(8)]
        assert drawn == [operator().change(program, np.random.default_rng(seed)).recipe for seed in range(8)]
        possible = [
            each.mutate(program, np.random.default_rng(0)).recipe for each in operator().configurations(program)
        ]
        assert all(recipe in possible for recipe in drawn)
        assert len(possible) == 1 or any(recipe != drawn[0] for recipe in drawn)


NOTHING = {
    "lenet": "RCW RRW WAB",
    "functional": "AAL RCW RRW WAB LRs",
    "lstm": "ACH ARM RCW RRW WAB LRs AFRs",
    "transformer": "RCW RRW WAB",
    "conv1d": "AAL RCW RRW RCD",
    "no biases": "AAL RCW RRW RCD WRB LRs",
    "one layer": "ACH AAL ARM RCW RRW RCD WAB LRs LAs AFRs",
}
"""Operators that find nothing to change, by network."""
APPLICABLE = [(name, code) for name, codes in NOTHING.items() for code in OPERATORS if code not in codes.split()]


@pytest.mark.parametrize("name", NOTHING)
def test_operators_that_find_nothing_say_so(name):
    program = program_of(name)
    for code in NOTHING[name].split():
        with pytest.raises(NotApplicable):
            OPERATORS[code]().configurations(program)


@pytest.mark.parametrize(("name", "code"), APPLICABLE)
def test_mutants_differ_from_each_other_and_leave_the_program_as_it_was(name, code):
    program = program_of(name)
    x = program.data.first(4)
    before = default_forward(program.view.model, x)
    recipes = []
    for each in OPERATORS[code]().configurations(program):
        assert all(value is not None for value in each.parameters().values())
        mutant = each.mutate(program, np.random.default_rng(0))
        assert mutant.data is program.data
        recipes.append(mutant.recipe)
        default_forward(mutant.view.model, x).sum().backward()
        assert any(parameter.grad is not None for parameter in mutant.view.model.parameters())
    assert all(one != other for place, one in enumerate(recipes) for other in [program.recipe, *recipes[:place]])
    assert program.recipe == program_of(name).recipe
    assert torch.equal(default_forward(program.view.model, x), before)
    assert torch.equal(default_forward(program_of(name).view.model, x), before)


STORED = [case for case in APPLICABLE if case[0] in ("lenet", "functional", "transformer")]


@pytest.mark.parametrize(("name", "code"), [*STORED, ("resnet", "ACH"), ("resnet", "LRs")])
def test_mutants_are_trained_stored_and_loaded(name, code, tmp_path):
    program = program_of(name)
    recipe = OPERATORS[code]().configurations(program)[-1].mutate(program, np.random.default_rng(0)).recipe
    models, told = [], []
    for _ in range(2):
        epochs = []
        models += train_originals(
            recipe, program.data, program.task, 1, 0, folder=tmp_path, progress=lambda *at, to=epochs: to.append(at)
        )
        told.append(epochs)
    assert told == [[(1, 2), (2, 2)], [(2, 2)]]  # trained, then loaded
    x = program.data.first(12)
    assert torch.equal(models[0](x), models[1](x))
    with torch.no_grad():
        assert torch.equal(models[0](x), models[1](x))


@pytest.mark.parametrize("name", zoo.ZOO)
def test_every_animal_is_borne(name):
    model, inputs = zoo.make(name)

    class Given:
        """A data set with these inputs."""

        def first(self, count):
            return inputs

    program = Program(Recipe(lambda: zoo.make(name)[0]), Given(), Classification(2))
    usual = default_forward(model, inputs)
    for code, operator in OPERATORS.items():
        try:
            configurations = operator().configurations(program)
        except NotApplicable:
            continue
        if code not in ("WCI", "RAW"):  # these only set the recipe
            mutant = configurations[0].mutate(program, np.random.default_rng(0)).view.model
            output = default_forward(mutant, inputs)
            assert output.shape == usual.shape
            output.float().sum().backward()
        if code in ("ARM", "AAL", "LRs"):
            assert not torch.equal(output, usual)
