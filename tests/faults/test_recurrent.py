"""Neurons of recurrent layers: outgoing weights are the recurrent matrix, the next layer and the head."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mutiny.faults import NeuronInhibitor
from mutiny.models import WeightEdit
from references.by_hand import agree, clean, edited, mutated, patch_of, scale_columns, units_of
from zoo import Lambda, make

NI = NeuronInhibitor(ratio=0.5, factor=0.6)
KEEP = 0.4


def columns_of(model, inputs, head, units):
    """Scales by hand every column that reads one of the units."""

    def change(twin):
        rnn = next(module for module in twin.modules() if isinstance(module, nn.RNNBase))
        directions = 2 if rnn.bidirectional else 1
        for layer in range(rnn.num_layers):
            for d, end in enumerate(["", "_reverse"][:directions]):
                chosen = units.get(f"rnn.l{layer}{end}", [])
                scale_columns(getattr(rnn, f"weight_hh_l{layer}{end}"), chosen, KEEP)
                shifted = [d * rnn.hidden_size + unit for unit in chosen]
                if layer + 1 < rnn.num_layers:
                    for reader in ["", "_reverse"][:directions]:
                        scale_columns(getattr(rnn, f"weight_ih_l{layer + 1}{reader}"), shifted, KEEP)
                else:
                    scale_columns(twin.head.weight, shifted, KEEP)

    return clean(edited(model, change), inputs)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_outgoing_is_scaled_columns(kind, bidirectional, bias):
    rnn = kind(3, 4, 2, bidirectional=bidirectional, bias=bias, batch_first=True)
    model = Lambda(lambda m, x: m.head(m.rnn(x)[0][:, -1]), rnn=rnn, head=nn.Linear(8 if bidirectional else 4, 3))
    model, inputs = model.eval(), torch.randn(5, 6, 3)
    units = units_of(NI, model, inputs)
    assert sum(map(len, units.values())) == rnn.num_layers * (2 if bidirectional else 1) * 2
    assert agree(mutated(NI, model, inputs), columns_of(model, inputs, "head", units))


def test_final_state_is_read_scaled():
    model = Lambda(lambda m, x: m.head(m.rnn(x)[1][0][-1]), rnn=nn.LSTM(3, 4, 2), head=nn.Linear(4, 2)).eval()
    inputs = torch.randn(6, 5, 3)
    assert agree(mutated(NI, model, inputs), columns_of(model, inputs, "head", units_of(NI, model, inputs)))


@pytest.mark.parametrize(("kind", "cell"), [(nn.LSTM, nn.LSTMCell), (nn.GRU, nn.GRUCell), (nn.RNN, nn.RNNCell)])
def test_a_loop_over_cells_is_the_layer(kind, cell):
    whole = Lambda(lambda m, x: m.head(m.rnn(x)[0][-1]), rnn=kind(3, 4), head=nn.Linear(4, 2)).eval()

    def steps(m, x):
        state = None
        for step in x:
            state = m.rnn(step, state)
        return m.head(state[0] if isinstance(state, tuple) else state)

    loop = Lambda(steps, rnn=cell(3, 4), head=whole.head).eval()
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        setattr(loop.rnn, name, getattr(whole.rnn, f"{name}_l0"))
    inputs = torch.randn(6, 5, 3)
    assert units_of(NI, whole, inputs)["rnn.l0"] == units_of(NI, loop, inputs)["rnn"]
    assert agree(mutated(NI, whole, inputs), mutated(NI, loop, inputs))
    assert not agree(mutated(NI, whole, inputs), clean(whole, inputs), 1e-3)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_feeding_the_state_back_is_running_on(kind):
    rnn, head = kind(3, 4, 2), nn.Linear(4, 2)
    whole = Lambda(lambda m, x: m.head(m.rnn(x)[0][-1]), rnn=rnn, head=head).eval()

    def pieces(m, x):
        _, state = m.rnn(x[:2])
        _, state = m.rnn(x[2:3], state)
        return m.head(m.rnn(x[3:], state)[0][-1])

    inputs = torch.randn(6, 5, 3)
    assert agree(mutated(NI, whole, inputs), mutated(NI, Lambda(pieces, rnn=rnn, head=head).eval(), inputs))


def test_encoder_state_is_scaled_for_the_decoder():
    parts = {"encoder": nn.GRU(3, 4), "decoder": nn.GRU(3, 4), "head": nn.Linear(4, 2)}

    def forward(m, x, scale=None):
        state = m.encoder(x)[1]
        return m.head(m.decoder(x, state if scale is None else state * scale)[0][-1])

    model, inputs = Lambda(forward, **parts).eval(), torch.randn(6, 5, 3)
    only = NeuronInhibitor(ratio=0.5, factor=0.6, layers=("encoder.l0",))
    units, scale = units_of(only, model, inputs)["encoder.l0"], torch.ones(4)
    scale[units] = KEEP
    twin = edited(model, lambda twin: scale_columns(twin.encoder.weight_hh_l0, units, KEEP))
    with torch.inference_mode():
        assert agree(mutated(only, model, inputs), twin(inputs, scale))


def test_packed_sequences():
    def packed(m, x, lengths):
        output, _ = m.rnn(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
        return m.head(pad_packed_sequence(output, batch_first=True)[0].sum(1))

    model = Lambda(packed, rnn=nn.LSTM(3, 4, 2, batch_first=True), head=nn.Linear(4, 2, bias=False)).eval()
    inputs = (torch.randn(3, 5, 3), torch.tensor([2, 5, 3]))
    single = Lambda(lambda m, x: m.head(m.rnn(x)[0].sum(1)), rnn=model.rnn, head=model.head).eval()
    rows = [mutated(NI, single, x[None, :n]) for x, n in zip(*inputs, strict=True)]
    assert agree(mutated(NI, model, inputs), torch.cat(rows))


def test_projection_is_the_only_reader_of_its_hidden_units():
    model, inputs = make("lstm_projected")
    edits = patch_of(NI, model, inputs).edits
    assert {edit.parameter for edit in edits} <= {"lstm.weight_hr_l0", "lstm.weight_hr_l1"}
    for edit in edits:
        assert isinstance(edit, WeightEdit)
        assert len(edit.indices) % 4 == 0  # whole columns of a (4, 6) matrix
    whole = NeuronInhibitor(ratio=1.0, factor=1.0)
    assert agree(mutated(whole, model, inputs), model.head.bias.expand(4, 4))


def test_incoming_scales_each_gate_of_the_unit():
    model, inputs = make("lstm_cell_loop")
    operator = NeuronInhibitor(ratio=0.4, factor=0.6, direction="incoming", biases=True, layers=("cell",))
    patch = patch_of(operator, model, inputs)
    units = {int(i) % 5 for edit in patch.edits if edit.parameter == "cell.bias_ih" for i in edit.indices}
    assert len(units) == 2

    def change(twin):
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            for gate in range(4):
                for unit in units:
                    getattr(twin.cell, name)[5 * gate + unit] *= KEEP

    assert agree(mutated(operator, model, inputs), clean(edited(model, change), inputs))


def test_a_learned_initial_state_is_not_taken_for_a_weight():
    def forward(m, x):
        return m.head(m.rnn(x, (m.h, m.c))[0][-1])

    state = {"h": nn.Parameter(torch.randn(1, 5, 4)), "c": nn.Parameter(torch.randn(1, 5, 4))}
    model = Lambda(forward, rnn=nn.LSTM(3, 4), head=nn.Linear(4, 2), **state).eval()
    inputs = torch.randn(6, 5, 3)
    assert units_of(NI, model, inputs).keys() == {"rnn.l0"}
    assert agree(mutated(NI, model, inputs), columns_of(model, inputs, "head", units_of(NI, model, inputs)))
