"""WS and NS, row by row."""

import numpy as np
import pytest
import torch
from torch import nn

from mutiny.core.errors import NotApplicable
from mutiny.faults import NeuronSwitch, WeightShuffle
from mutiny.models import WeightEdit
from references.by_hand import patch_of, weights_under
from zoo import make


def rows(tensor):
    return [row.flatten().tolist() for row in tensor]


@pytest.mark.parametrize("name", ["mlp", "lenet_modules", "lstm_bidirectional", "half_precision", "cross_attention"])
@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_each_row_is_a_permutation_of_itself(name, ratio):
    model, inputs = make(name)
    after = weights_under(WeightShuffle(ratio=ratio), model, inputs)
    moved = 0
    for key, parameter in model.named_parameters():
        if parameter.ndim == 1:
            assert torch.equal(after[key], parameter)
            continue
        for old, new in zip(rows(parameter), rows(after[key]), strict=True):
            assert sorted(old) == sorted(new)
            moved += old != new
    neurons = sum(p.shape[0] for p in model.parameters() if p.ndim > 1)
    assert 0 < moved <= (neurons if ratio == 1 else 0.4 * neurons)


def test_shuffling_has_no_favorite_place():
    model, inputs = nn.Sequential(nn.Linear(5, 400), nn.ReLU(), nn.Linear(400, 1)).eval(), torch.randn(2, 5)
    with torch.no_grad():
        model[0].weight.copy_(torch.arange(5.0).expand(400, 5))
    after = weights_under(WeightShuffle(ratio=1.0, layers=("0",)), model, inputs)["0.weight"]
    counts = torch.stack([(after == value).sum(0) for value in range(5)])
    assert float((counts - 80).abs().max()) < 5 * np.sqrt(80)


def test_nothing_to_shuffle():
    model = nn.Sequential(nn.Linear(1, 3), nn.ReLU()).eval()
    with pytest.raises(NotApplicable, match="single incoming weight"):
        patch_of(WeightShuffle(), model, torch.randn(2, 1))


@pytest.mark.parametrize("name", ["mlp", "lenet_modules", "no_biases", "resnet", "half_precision"])
@pytest.mark.parametrize("ratio", [0.05, 0.3, 0.5, 1.0])
def test_neurons_trade_places_truly(name, ratio):
    model, inputs = make(name)
    after = weights_under(NeuronSwitch(ratio=ratio), model, inputs)
    exchanged = 0
    for key, parameter in model.named_parameters():
        if parameter.ndim == 1:
            continue
        old, new = rows(parameter), rows(after[key])
        assert sorted(old) == sorted(new)  # nothing is lost or copied
        partner = [old.index(row) for row in new]
        assert [partner[p] for p in partner] == list(range(len(old)))  # pairs
        bias = key.replace("weight", "bias")
        if bias in after:
            assert torch.equal(after[bias], dict(model.named_parameters())[bias][partner])
        exchanged += sum(p != i for i, p in enumerate(partner))
    neurons = sum(p.shape[0] for p in model.parameters() if p.ndim > 1)
    layers = sum(p.ndim > 1 for p in model.parameters())
    assert abs(exchanged - max(1, round(ratio * neurons))) <= layers
    assert exchanged >= 2


def test_biases_stay_if_asked():
    model, inputs = make("mlp")
    after = weights_under(NeuronSwitch(ratio=1.0, biases=False), model, inputs)
    assert torch.equal(after["0.bias"], model[0].bias)
    assert not torch.equal(after["0.weight"], model[0].weight)


def test_gates_of_a_recurrent_unit_move_together():
    model, inputs = make("lstm_cell_loop")
    after = weights_under(NeuronSwitch(ratio=1.0, layers=("cell",)), model, inputs)
    orders = set()
    for key in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        old, new = getattr(model.cell, key).detach().reshape(4, 5, -1), after[f"cell.{key}"].reshape(4, 5, -1)
        for gate in range(4):
            orders.add(tuple(rows(old[gate]).index(row) for row in rows(new[gate])))
    assert len(orders) == 1
    assert sum(a != b for a, b in enumerate(orders.pop())) == 4  # an odd one stays


def test_a_single_neuron_has_no_partner():
    model, inputs = make("rnn_sigmoid_head")
    with pytest.raises(NotApplicable, match="at least 2 neurons"):
        patch_of(NeuronSwitch(layers=("head",)), model, inputs)
    patch = patch_of(NeuronSwitch(ratio=1.0), model, inputs)
    assert all(isinstance(edit, WeightEdit) and edit.parameter.startswith("rnn") for edit in patch.edits)
