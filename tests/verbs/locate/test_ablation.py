"""Silencing: whatever reads a neuron sees 0, also what reads it inside its own module."""

import numpy as np
import pytest
import torch
from torch import nn

import toys
from mutiny.models import ModelView
from mutiny.verbs.locate.ablation import silenced
from references.by_hand import agree, clean, edited, scale_columns
from zoo import Lambda

pytestmark = pytest.mark.rounding


def outputs(model, inputs, neurons):
    neurons = {name: np.array(units, np.int64) for name, units in neurons.items()}
    with silenced(ModelView.of(model, inputs), neurons).applied(model) as call, torch.no_grad():
        return call(inputs)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_recurrent_layer_does_not_hear_its_silenced_neurons(kind):
    rnn, units = kind(3, 5, batch_first=True), [1, 4]
    model = Lambda(lambda m, x: m.head(m.rnn(x)[0][:, -1]), rnn=rnn, head=nn.Linear(5, 3)).eval()
    inputs = torch.randn(6, 4, 3)

    def forget(twin, hears=True):
        scale_columns(twin.head.weight, units, 0.0)
        if hears:
            scale_columns(twin.rnn.weight_hh_l0, units, 0.0)

    found = outputs(model, inputs, {"rnn.l0": units})
    assert agree(found, clean(edited(model, forget), inputs))
    assert not agree(found, clean(edited(model, lambda twin: forget(twin, hears=False)), inputs), 1e-4)


@pytest.mark.parametrize("cell", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_a_loop_over_a_cell_does_not_hear_them_either(cell):
    def steps(m, x):
        state = None
        for step in x:
            state = m.cell(step, state)
        return m.head(state[0] if isinstance(state, tuple) else state)

    model, units = Lambda(steps, cell=cell(3, 5), head=nn.Linear(5, 3)).eval(), [0, 2]
    inputs = torch.randn(4, 6, 3)

    def forget(twin):
        for weight in (twin.head.weight, twin.cell.weight_hh):
            scale_columns(weight, units, 0.0)

    assert agree(outputs(model, inputs, {"cell": units}), clean(edited(model, forget), inputs))


def test_several_layers_and_none():
    net, x = toys.classifier(), toys.blobs(30)[0]

    def forget(twin):
        scale_columns(twin[2].weight, [0, 3], 0.0)

    assert agree(outputs(net, x, {"0": [3, 0], "2": []}), clean(edited(net, forget), x))
    assert torch.equal(outputs(net, x, {}), clean(net, x))
