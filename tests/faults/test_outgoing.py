"""NI, NEB and NAI outgoing: as if each outgoing weight had been scaled by hand in a copy of the network."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mutiny.core.errors import NotApplicable
from mutiny.faults import NeuronActivationInverse, NeuronEffectBlock, NeuronInhibitor
from references.by_hand import agree, clean, edited, mutated, scale_columns, units_of, view_of
from zoo import Block, Lambda, lively, make

FACTORS = {
    NeuronInhibitor(ratio=0.4, factor=0.7): 0.3,
    NeuronEffectBlock(ratio=0.4): 0.0,
    NeuronActivationInverse(ratio=0.4, direction="outgoing", output_layer=False): -1.0,
}
three = pytest.mark.parametrize(("operator", "factor"), FACTORS.items(), ids=lambda x: getattr(x, "code", ""))


@three
@pytest.mark.parametrize("activation", [nn.ReLU, nn.Sigmoid, nn.Tanh, nn.GELU, nn.LogSigmoid, nn.PReLU, nn.Softsign])
def test_dense(operator, factor, activation):
    model = nn.Sequential(nn.Linear(5, 9), activation(), nn.Linear(9, 4), activation(), nn.Linear(4, 3)).eval()
    inputs = torch.randn(6, 5)
    units = units_of(operator, model, inputs)
    assert sum(map(len, units.values())) == 5

    def change(twin):
        scale_columns(twin[2].weight, units.get("0", []), factor)
        scale_columns(twin[4].weight, units.get("2", []), factor)

    assert agree(mutated(operator, model, inputs), clean(edited(model, change), inputs))


@three
@pytest.mark.parametrize("inplace", [False, True])
def test_convolution_with_batch_norm(operator, factor, inplace):
    model = lively(
        nn.Sequential(nn.Conv2d(2, 6, 3), nn.BatchNorm2d(6), nn.ReLU(inplace), nn.Conv2d(6, 4, 3), nn.Flatten())
    ).eval()
    inputs = torch.randn(4, 2, 6, 6)

    def change(twin):
        for unit in units_of(operator, model, inputs)["0"]:
            for out in range(4):
                twin[3].weight[out, unit] *= factor

    assert agree(mutated(operator, model, inputs), clean(edited(model, change), inputs))


@three
@pytest.mark.parametrize("flat", [lambda x: x.flatten(1), lambda x: x.view(x.size(0), -1), nn.Flatten()])
@pytest.mark.parametrize("channels_last", [False, True])
def test_pooling_then_activation_then_flatten(operator, factor, flat, channels_last):
    if channels_last and not isinstance(flat, nn.Flatten):
        flat = lambda x: x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2).reshape(len(x), -1)  # noqa: E731
    model = Lambda(
        lambda m, x: m.fc(flat(torch.tanh(F.max_pool2d(m.conv(x), 2)))), conv=nn.Conv2d(1, 5, 3), fc=nn.Linear(20, 3)
    ).eval()
    inputs = torch.randn(4, 1, 6, 6)
    if channels_last:
        inputs, model = inputs.to(memory_format=torch.channels_last), model.to(memory_format=torch.channels_last)

    def change(twin):
        for unit in units_of(operator, model, inputs)["conv"]:
            scale_columns(twin.fc.weight, range(4 * unit, 4 * unit + 4), factor)

    assert agree(mutated(operator, model, inputs), clean(edited(model, change), inputs))


@three
def test_two_readers_through_a_skip_connection(operator, factor):
    parts = {"enter": nn.Linear(4, 8), "inner": nn.Linear(8, 8), "leave": nn.Linear(8, 3)}

    def forward(m, x, scale=None):
        signal = torch.sigmoid(m.enter(x))
        signal = signal if scale is None else signal * scale
        return m.leave(signal + F.relu(m.inner(signal)))

    model, inputs = Lambda(forward, **parts).eval(), torch.randn(5, 4)
    only = type(operator)(**{**operator.parameters(), "layers": ("enter",)})
    scale = torch.ones(8)
    scale[units_of(only, model, inputs)["enter"]] = factor
    with torch.inference_mode():
        assert agree(mutated(only, model, inputs), model(inputs, scale))


@three
@pytest.mark.parametrize("layer", ["conv1", "conv2", "shortcut"])
def test_residual_block_with_in_place_addition(operator, factor, layer):
    model = nn.Sequential(lively(Block(2, 4, 2)), nn.Conv2d(4, 2, 1)).eval()
    inputs = torch.randn(3, 2, 6, 6)
    only = type(operator)(**{**operator.parameters(), "layers": (f"0.{layer}",)})
    scale = torch.ones(4)
    scale[units_of(only, model, inputs)[f"0.{layer}"]] = factor
    scale = scale[:, None, None]
    block = model[0]
    with torch.inference_mode():
        first, second, side = block.conv1(inputs), None, block.shortcut(inputs)
        first = F.relu(block.bn1(first)) * (scale if layer == "conv1" else 1)
        second = block.bn2(block.conv2(first)) * (scale if layer == "conv2" else 1)
        expected = model[1](F.relu(second + side * (scale if layer == "shortcut" else 1)))
    assert agree(mutated(only, model, inputs), expected)


@three
def test_reused_layer_and_concatenation(operator, factor):
    def forward(m, x, scale=1):
        once = F.relu(m.enter(x)) * scale
        twice = F.relu(m.enter(once)) * scale
        return m.leave(torch.cat([once, twice, once[:, :2]], 1))

    model, inputs = Lambda(forward, enter=nn.Linear(6, 6), leave=nn.Linear(14, 3)).eval(), torch.randn(5, 6)
    scale = torch.ones(6)
    scale[units_of(operator, model, inputs)["enter"]] = factor
    with torch.inference_mode():
        assert agree(mutated(operator, model, inputs), model(inputs, scale))


@three
def test_writing_into_a_view_scales_once(operator, factor):
    def forward(m, x):
        hidden = m.enter(x)
        half = hidden[:, :3]
        half += 1
        half *= torch.sigmoid(half)
        half[:, 1] -= 0.5
        hidden[:, 5] = 0
        return m.leave(hidden)

    model, inputs = Lambda(forward, enter=nn.Linear(4, 6), leave=nn.Linear(6, 3)).eval(), torch.randn(5, 4)
    units = units_of(operator, model, inputs)["enter"]
    expected = clean(edited(model, lambda twin: scale_columns(twin.leave.weight, units, factor)), inputs)
    assert agree(mutated(operator, model, inputs), expected)


def gelu_of_gpt2(h):
    return 0.5 * h * (1.0 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * torch.pow(h, 3.0))))


def added_in_place(m, x):
    h = x @ m.w
    view = h[:, :2]
    h += m.b
    view.neg_()
    return h.exp_().sub_(1)


def written_into_a_constant(m, x):
    total = torch.zeros(len(x), 9)
    part = total[:, :]
    part += torch.relu(m.enter(x))  # a reader: what is in the memory of the constant is scaled
    return total


BY_HAND = {
    "bias after": lambda m, x: torch.relu(x @ m.w + m.b),
    "bias before": lambda m, x: torch.relu(m.b + torch.matmul(x, m.w)),
    "bias in place": added_in_place,
    "bias as a row": lambda m, x: torch.relu(x @ m.w + m.b.view(1, -1)),
    "bias on another axis": lambda m, x: F.linear(x, m.w.T)[..., None].add(m.b[:, None]).sigmoid()[..., 0],
    "bias by keyword": lambda m, x: torch.relu(torch.add(input=m.b, other=x @ m.w)),
    "swish": lambda m, x: (lambda h: h * torch.sigmoid(h))(m.enter(x)),
    "swish in place": lambda m, x: (lambda h: h.mul_(torch.sigmoid(h)))(m.enter(x)),
    "learned swish": lambda m, x: (lambda h: h * torch.sigmoid(F.softplus(m.one) * h))(m.enter(x)),
    "gpt2": lambda m, x: gelu_of_gpt2(m.enter(x)),
    "gpt2 of a view": lambda m, x: gelu_of_gpt2(m.enter(x).view(1, len(x), 9))[0],
    "erf": lambda m, x: (lambda h: h * 0.5 * (1.0 + torch.erf(h / 2**0.5)))(m.enter(x)),
    "hard swish": lambda m, x: (lambda h: h * (h + 3).clamp(min=0, max=6) / 6)(m.enter(x)),
    "relu squared": lambda m, x: m.enter(x).relu() ** 2,
    "exponential": lambda m, x: -m.enter(x).exp(),
    "softplus": lambda m, x: torch.log1p(torch.exp(m.enter(x))),
    "reversed operators": lambda m, x: 1 - 2 / (1 + 2 ** m.enter(x)),
    "affine": lambda m, x: torch.tanh(m.enter(x) * 0.5 + 0.25),
    "learned affine": lambda m, x: torch.sigmoid(m.enter(x) * m.b + m.one),
    "buffers": lambda m, x: torch.sigmoid((m.enter(x) - m.norm.running_mean) / torch.sqrt(m.norm.running_var + 1e-5)),
    "single numbers": lambda m, x: torch.sigmoid(m.enter(x) * torch.tensor(2.0) + m.number),
    "maximum": lambda m, x: (lambda h: torch.maximum(h, torch.zeros_like(h)) + 1)(m.enter(x)),
    "after a call that copies nothing": lambda m, x: (lambda h: (lambda gate: h.contiguous() * gate)(torch.sigmoid(h)))(
        m.enter(x)
    ),
    "written into a constant": written_into_a_constant,
}


def hand_written(form):
    parts = {"b": nn.Parameter(torch.randn(9)), "one": nn.Parameter(torch.randn(1)), "norm": lively(nn.BatchNorm1d(9))}
    enter = {"w": nn.Parameter(torch.randn(5, 9))} if "bias" in form else {"enter": nn.Linear(5, 9)}
    model = Lambda(lambda m, x: m.leave(BY_HAND[form](m, x)), **enter, **parts, leave=nn.Linear(9, 3)).eval()
    model.number = torch.tensor(0.3)
    return model, torch.randn(6, 5)


@three
@pytest.mark.parametrize("form", BY_HAND)
def test_biases_and_activations_written_by_hand(operator, factor, form):
    model, inputs = hand_written(form)
    [units] = units_of(operator, model, inputs).values()
    expected = clean(edited(model, lambda twin: scale_columns(twin.leave.weight, units, factor)), inputs)
    assert agree(mutated(operator, model, inputs), expected)
    assert not agree(clean(model, inputs), expected, 1e-3)


READERS = {
    "sum with the input": lambda m, x, h, s: s * h + x,
    "sum with another layer": lambda m, x, h, s: s * h + m.other(x),
    "sum with its own other half": lambda m, x, h, s: (lambda y: y[:, :4] + y[:, 4:])(s * h).repeat(1, 2),
    "gate from another layer": lambda m, x, h, s: torch.sigmoid(m.other(x)) * (s * h),
    "gate from the layer itself": lambda m, x, h, s: (lambda a, b: a * b)(*(s * h).chunk(2, 1)).repeat(1, 2),
    "glu": lambda m, x, h, s: F.glu(s * h, 1).repeat(1, 2),
    "number from the input": lambda m, x, h, s: s * h + x.mean(),
    "input made in the forward pass": lambda m, x, h, s: s * h + torch.tensor(x.tolist()),
    "layer of constants": lambda m, x, h, s: s * h + m.other(m.seed),
    "input written into a constant": lambda m, x, h, s: (lambda z: s * h + z)(torch.zeros(6, 8).copy_(x)),
}


@three
@pytest.mark.parametrize("form", READERS)
def test_arithmetic_with_anything_else_reads_the_signal(operator, factor, form):
    def forward(m, x, scale=None):
        h = m.enter(x)
        return m.leave(torch.sigmoid(READERS[form](m, x, h, _Nothing() if scale is None else scale)))

    parts = {"enter": nn.Linear(8, 8), "other": nn.Linear(8, 8), "leave": nn.Linear(8, 3)}
    model = Lambda(forward, **parts, seed=nn.Parameter(torch.randn(8))).eval()
    inputs = torch.randn(6, 8)
    only = type(operator)(**{**operator.parameters(), "layers": ("enter",)})
    scale = torch.ones(8)
    scale[units_of(only, model, inputs)["enter"]] = factor
    with torch.inference_mode():
        assert agree(mutated(only, model, inputs), model(inputs, scale))


class _Nothing:
    """A factor that does not scale anything."""

    def __mul__(self, tensor):
        return tensor


@three
@pytest.mark.parametrize("name", ["functional_layers", "depthwise", "autoencoder", "conv1d", "half_precision"])
def test_signal_of_the_output_layer_is_what_the_caller_sees(operator, factor, name):
    model, inputs = make(name)
    settings = {**operator.parameters(), "ratio": 1.0, "output_layer": True}
    last = [layer.name for layer in view_of(model, inputs).layers][-1]
    all_of_last = type(operator)(**{**settings, "layers": (last,)})
    assert agree(mutated(all_of_last, model, inputs), clean(model, inputs) * factor, 1e-2)


def test_output_neurons_are_left_alone_unless_asked_for():
    model, inputs = make("single_linear")
    with pytest.raises(NotApplicable, match="output layer"):
        mutated(NeuronInhibitor(), model, inputs)
    both = NeuronInhibitor(ratio=1.0, factor=1.0, output_layer=True)
    assert not mutated(both, model, inputs).any()
    model, inputs = make("two_heads")
    assert units_of(NeuronInhibitor(ratio=1.0), model, inputs).keys() == {"trunk"}


def test_output_of_a_bare_recurrent_network_is_both_directions():
    model, inputs = (
        nn.Sequential(Lambda(lambda m, x: m.rnn(x)[0], rnn=nn.GRU(3, 4, 2, bidirectional=True))).eval(),
        (torch.randn(5, 2, 3)),
    )
    touched = units_of(NeuronInhibitor(ratio=1.0), model, inputs)
    assert touched.keys() == {"0.rnn.l0", "0.rnn.l0_reverse"}


def test_tied_objects_that_share_memory_are_one_layer():
    model = Lambda(lambda m, x: m.leave(F.relu(m.b(F.relu(m.a(x))))), a=nn.Linear(4, 4), b=nn.Linear(4, 4)).eval()
    model.leave = nn.Linear(4, 2).eval()
    model.b.weight = nn.Parameter(model.a.weight.data)
    inputs = torch.randn(5, 4)
    operator = NeuronInhibitor(ratio=0.5, factor=1.0)
    scale = torch.ones(4)
    scale[units_of(operator, model, inputs)["a"]] = 0
    with torch.inference_mode():
        expected = model.leave(scale * F.relu(model.b(scale * F.relu(model.a(inputs)))))
    assert agree(mutated(operator, model, inputs), expected)


def test_pooling_over_neurons_reads_them_and_keywords_do_not_matter():
    def forward(m, x, scale=None):
        signal = torch.tanh(input=m.enter(x))
        return m.leave(F.avg_pool1d(signal if scale is None else signal * scale, 2))

    model, inputs = Lambda(forward, enter=nn.Linear(4, 6), leave=nn.Linear(3, 2)).eval(), torch.randn(5, 3, 4)
    operator = NeuronInhibitor(ratio=0.5, factor=0.6)
    scale = torch.ones(6)
    scale[units_of(operator, model, inputs)["enter"]] = 0.4
    with torch.inference_mode():
        assert agree(mutated(operator, model, inputs), model(inputs, scale))
