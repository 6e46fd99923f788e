"""Operators keep their contract on models that one would not think of."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mutiny.faults import ALL, NeuronInhibitor
from mutiny.models import ModelView, default_forward
from mutiny.testing.operators import check_operator
from references.by_hand import mutated
from zoo import Lambda


def encoder_decoder():
    return nn.Transformer(8, 2, 1, 1, 12, batch_first=True), (torch.randn(3, 4, 8), torch.randn(3, 5, 8))


def attention_with_extra_biases():
    attend = nn.MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True)
    return Lambda(lambda m, x: m.h(m.a(x, x, x)[0]), a=attend, h=nn.Linear(6, 2)), torch.randn(3, 4, 6)


def states_written_into_a_buffer():
    def forward(m, x):
        out, h = x.new_zeros(len(x), x.shape[1], 5), x.new_zeros(len(x), 5)
        for t in range(x.shape[1]):
            h = m.cell(x[:, t], h)
            out[:, t] = h
        return m.head(F.relu_(m.mid(out)).mean(1))

    return Lambda(forward, cell=nn.RNNCell(3, 5), mid=nn.Linear(5, 4), head=nn.Linear(4, 2)), torch.randn(4, 6, 3)


def mixed_precision():
    def forward(m, x):
        with torch.autocast("cpu", torch.bfloat16):
            return m.net(x).float()

    return Lambda(forward, net=nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))), torch.randn(4, 3)


def u_net():
    def forward(m, x):
        return m.out(torch.cat([F.interpolate(F.relu(m.down(x)), scale_factor=2), F.relu(m.side(x))], 1))

    parts = {"down": nn.Conv2d(1, 3, 2, 2), "side": nn.Conv2d(1, 2, 1), "out": nn.Conv2d(5, 1, 1)}
    return Lambda(forward, **parts), torch.randn(3, 1, 8, 8)


def squeeze_and_excite():
    def forward(m, x):
        x = F.silu(m.conv(x))
        return m.head((x * torch.sigmoid(m.gate(x.mean((2, 3))))[..., None, None]).flatten(1))

    parts = {"conv": nn.Conv2d(1, 4, 3), "gate": nn.Linear(4, 4), "head": nn.Linear(64, 2)}
    return Lambda(forward, **parts), torch.randn(3, 1, 6, 6)


def vector_as_weight():
    model = Lambda(lambda m, x: F.linear(F.relu(m.fc(x)), m.w), fc=nn.Linear(3, 4), w=nn.Parameter(torch.randn(4)))
    return model, torch.randn(5, 3)


def stack_of_matrices():
    def forward(m, x):
        return m.h(torch.bmm(x.transpose(0, 1), m.w).transpose(0, 1).flatten(1))

    return Lambda(forward, w=nn.Parameter(torch.randn(2, 3, 4)), h=nn.Linear(8, 2)), torch.randn(5, 2, 3)


def numbers_between_layers_that_are_not_real():
    part = Lambda(lambda _m, x: x.argmax(1))
    return nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), part, nn.Embedding(3, 2)), torch.randn(50, 3)


def tied_autoencoder():
    def forward(m, x):
        return F.linear(F.relu(m.enc(x)), m.enc.weight.t(), m.bias)

    return Lambda(forward, enc=nn.Linear(6, 4), bias=nn.Parameter(torch.zeros(6))), torch.randn(5, 6)


def written_by_hand():
    def forward(m, x):
        h = x @ m.w + m.b
        h = 0.5 * h * (1 + torch.tanh(0.8 * (h + 0.044715 * h**3)))
        h = m.middle(h)
        h += m.c
        return m.last(h * torch.sigmoid(h))

    parts = {"w": torch.randn(3, 6), "b": torch.randn(6), "c": torch.randn(5)}
    parameters = {name: nn.Parameter(value) for name, value in parts.items()}
    return Lambda(forward, **parameters, middle=nn.Linear(6, 5, bias=False), last=nn.Linear(5, 2)), torch.randn(5, 3)


def one_neuron_wide():
    return nn.Sequential(nn.Linear(2, 1), nn.Sigmoid(), nn.Linear(1, 1)), torch.randn(5, 2)


def data_parallel():
    return nn.DataParallel(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))), torch.randn(4, 3)


UNUSUAL = [
    encoder_decoder,
    attention_with_extra_biases,
    states_written_into_a_buffer,
    mixed_precision,
    u_net,
    squeeze_and_excite,
    vector_as_weight,
    stack_of_matrices,
    numbers_between_layers_that_are_not_real,
    tied_autoencoder,
    one_neuron_wide,
    data_parallel,
    written_by_hand,
]


@pytest.mark.parametrize("make", UNUSUAL, ids=lambda make: make.__name__)
@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.code)
def test_contract(kind, make):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model, inputs = make()
    check_operator(kind(), model.eval(), inputs)


def test_contract_with_a_forward_of_ones_own():
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)).eval()

    def both_ways(model, inputs):
        return (default_forward(model, inputs) + default_forward(model, inputs.flip(1))) / 2

    for kind in ALL:
        check_operator(kind(), model, torch.randn(4, 3), forward=both_ways)


def test_tied_autoencoder_has_hidden_neurons():
    model, inputs = tied_autoencoder()
    layer = ModelView.of(model.eval(), inputs).layers[0]
    assert (layer.neurons, layer.output) == (4, False)
    assert not mutated(NeuronInhibitor(ratio=1.0, factor=1.0), model, inputs).any()
