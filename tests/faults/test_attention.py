"""Neurons of transformers: queries, keys, values, output projection and the two linear layers."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mutiny.faults import NeuronInhibitor
from mutiny.models import WeightEdit
from references.by_hand import agree, clean, edited, mutated, patch_of, scale_columns, units_of
from zoo import Lambda, make

KEEP = 0.4


def inhibitor(layer, **settings):
    return NeuronInhibitor(**{"ratio": 0.4, "factor": 0.6, "layers": (layer,), **settings})


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
def test_hidden_neurons_of_the_block(batch_first, norm_first):
    layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=batch_first, norm_first=norm_first)
    model, inputs = nn.Sequential(layer, nn.Linear(8, 3)).eval(), torch.randn(4, 5, 8)
    operator = inhibitor("0.linear1")
    units = units_of(operator, model, inputs)["0.linear1"]
    twin = edited(model, lambda twin: scale_columns(twin[0].linear2.weight, units, KEEP))
    assert agree(mutated(operator, model, inputs), clean(twin, inputs))


@pytest.mark.parametrize("name", ["0.self_attn.out_proj", "0.linear2"])
def test_neurons_that_go_into_the_residual_stream(name):
    layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True)
    model, inputs = nn.Sequential(layer, nn.Linear(8, 3)).eval(), torch.randn(4, 5, 8)
    operator = inhibitor(name)
    scale = torch.ones(8)
    scale[units_of(operator, model, inputs)[name]] = KEEP
    dropout = layer.dropout1 if "attn" in name else layer.dropout2
    handle = dropout.register_forward_hook(lambda _module, _args, output: output * scale)
    expected = clean(model, inputs)
    handle.remove()
    assert agree(mutated(operator, model, inputs), expected)


def attention_by_hand(attend, query, key, value, scales):
    """One matrix product after another; shapes (length, batch, features)."""
    split = attend.in_proj_bias.chunk(3)
    matrices = (
        attend.in_proj_weight.chunk(3)
        if attend.in_proj_weight is not None
        else (attend.q_proj_weight, attend.k_proj_weight, attend.v_proj_weight)
    )
    q, k, v = (F.linear(x, w, b) * s for x, w, b, s in zip((query, key, value), matrices, split, scales, strict=True))
    heads, size = attend.num_heads, attend.head_dim
    q, k, v = (x.reshape(len(x), -1, heads, size).permute(1, 2, 0, 3) for x in (q, k, v))
    mixed = torch.softmax(q @ k.transpose(-1, -2) / size**0.5, -1) @ v
    return attend.out_proj(mixed.permute(2, 0, 1, 3).reshape(len(query), -1, heads * size))


@pytest.mark.parametrize("place", range(3))
def test_queries_keys_and_values_of_cross_attention(place):
    model, inputs = make("cross_attention")
    nn.init.normal_(model.attend.in_proj_bias)
    operator = inhibitor(f"attend.{'qkv'[place]}_proj")
    edits = patch_of(operator, model, inputs).edits
    biases = [edit for edit in edits if edit.parameter == "attend.in_proj_bias"]
    units = [int(index) - 6 * place for index in biases[0].indices]
    assert len(units) == 2
    assert all(0 <= unit < 6 for unit in units)
    scales = [torch.ones(6) for _ in range(3)]
    scales[place][units] = KEEP
    with torch.inference_mode():
        hidden = inputs[0] + attention_by_hand(model.attend, *inputs, scales)
        expected = model.head(model.norm(hidden).mean(0))
    assert agree(mutated(operator, model, inputs), expected)


def test_queries_keys_and_values_in_one_matrix():
    model = Lambda(lambda m, x: m.head(m.attend(x, x, x)[0]), attend=nn.MultiheadAttention(6, 2), head=nn.Linear(6, 2))
    model, inputs = model.eval(), torch.randn(5, 3, 6)
    nn.init.normal_(model.attend.in_proj_bias)
    operator = inhibitor("attend.in_proj", ratio=0.5)
    chosen = next(e for e in patch_of(operator, model, inputs).edits if e.parameter == "attend.in_proj_bias").indices
    scale = torch.ones(18)
    scale[torch.from_numpy(chosen)] = KEEP
    assert len(chosen) == 9
    with torch.inference_mode():
        expected = model.head(attention_by_hand(model.attend, inputs, inputs, inputs, scale.chunk(3)))
    assert agree(mutated(operator, model, inputs), expected)


def test_attention_written_out():
    parts = {name: nn.Linear(6, 6) for name in ("q", "k", "v")} | {"out": nn.Linear(6, 2)}

    def forward(m, x, scale=1):
        q, k, v = (part(x).view(len(x), 5, 2, 3).transpose(1, 2) for part in (m.q, m.k, m.v))
        v = v * scale
        return m.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(len(x), 5, 6))

    model, inputs = Lambda(forward, **parts).eval(), torch.randn(4, 5, 6)
    operator = inhibitor("v")
    scale = torch.ones(6)
    scale[units_of(operator, model, inputs)["v"]] = KEEP
    with torch.inference_mode():
        assert agree(mutated(operator, model, inputs), model(inputs, scale.view(2, 1, 3)))


def test_tied_embedding_is_mutated_once_and_only_the_decoder_has_neurons():
    model, inputs = make("transformer_tied")
    operator = inhibitor("embed", factor=1.0)
    units = units_of(operator, model, inputs)["embed"]
    expected = clean(model, inputs).clone()
    expected[..., units] = 0
    assert agree(mutated(operator, model, inputs), expected)
    shrunk = patch_of(NeuronInhibitor(ratio=1.0, direction="incoming", layers=("embed",)), model, inputs)
    assert sum(len(edit.indices) for edit in shrunk.edits if isinstance(edit, WeightEdit)) == 11 * 8
