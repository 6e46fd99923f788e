"""Captured activations against forward hooks, layer by layer."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence

from mutiny.core.errors import BadInput
from mutiny.models import ModelState, activations
from references.by_hand import agree, view_of
from zoo import ZOO, Lambda, lively, make


def capture(model, inputs, **settings):
    return next(activations(view_of(model, inputs), [inputs], **settings))


def hooked(model, inputs, *paths):
    """Copies of the outputs of modules, by path."""
    seen, handles = {}, []
    for path in paths:
        module = model.get_submodule(path)

        def note(_module, _args, output, path=path):
            seen.setdefault(path, []).append((output[0] if isinstance(output, tuple) else output).clone())

        handles.append(module.register_forward_hook(note))
    with torch.inference_mode():
        model(inputs)
    for handle in handles:
        handle.remove()
    return seen


@pytest.mark.parametrize(
    "name", ["mlp", "lenet_modules", "conv1d", "conv3d", "depthwise", "channels_last", "autoencoder"]
)
def test_outputs_are_spatial_means_of_what_hooks_see(name):
    model, inputs = make(name)
    found = capture(model, inputs, of="output")
    expected = hooked(model, inputs, *found)
    for path, values in found.items():
        value = expected[path][0]
        axes = tuple(range(2, value.ndim))
        assert agree(values, value.mean(axes) if axes else value)


def test_signals_are_read_after_what_belongs_to_the_neuron():
    model, inputs = make("conv1d")
    found, seen = capture(model, inputs), hooked(model, inputs, "2", "5", "7")
    for layer, after in (("0", "2"), ("3", "5"), ("7", "7")):
        value = seen[after][0]
        assert agree(found[layer], value.mean(2) if value.ndim == 3 else value)


def test_in_place_additions_do_not_leak_into_the_signal():
    model, inputs = make("resnet")
    for of in ("signal", "output"):
        found = capture(model, inputs, of=of)
        seen = hooked(model, inputs, "1.0.conv2", "1.0.bn2", "1.1.shortcut", "1.0.conv1")
        after = "1.0.bn2" if of == "signal" else "1.0.conv2"
        assert agree(found["1.0.conv2"], seen[after][0].mean((2, 3)))
        assert agree(found["1.1.shortcut"], seen["1.1.shortcut"][0].mean((2, 3)))
    assert agree(found["1.0.conv1"], seen["1.0.conv1"][0].mean((2, 3)))


def test_recurrent_layers_and_their_batch_axis():
    model, inputs = make("lstm_bidirectional")
    whole = hooked(model, inputs, "lstm")["lstm"][0]
    found = capture(model, inputs)
    assert set(found) == {"lstm.l1", "lstm.l1_reverse", "head"}  # lower layers stay inside the module
    assert agree(found["lstm.l1"], whole[..., :5].mean(1))
    assert agree(found["lstm.l1_reverse"], whole[..., 5:].mean(1))
    rnn = Lambda(lambda m, x: m.head(m.rnn(x.transpose(0, 1))[0][-1]), rnn=nn.GRU(3, 5), head=nn.Linear(5, 2)).eval()
    for length in (4, 6):  # as many steps as inputs, too
        inputs = torch.randn(4, length, 3)
        expected = hooked(rnn, inputs, "rnn")["rnn"][0].mean(0)
        assert agree(capture(rnn, inputs)["rnn.l0"], expected)


def test_cells_reused_layers_and_attention():
    model, inputs = make("lstm_cell_loop")
    assert agree(capture(model, inputs)["cell"], torch.stack(hooked(model, inputs, "cell")["cell"]).mean(0))
    model, inputs = make("reused_layer")
    calls = [F.relu(call) for call in hooked(model, inputs, "middle")["middle"]]
    assert agree(capture(model, inputs)["middle"], torch.stack(calls).mean(0))
    model, inputs = make("transformer_tied")
    path = "encoder.layers.0.self_attn"
    found = capture(model, inputs)
    assert agree(found[f"{path}.out_proj"], hooked(model, inputs, path)[path][0].mean(1))
    assert f"{path}.in_proj" not in found
    assert found["embed"].shape == (3, 11)


def test_time_first_and_folded_batches():
    layer = nn.TransformerEncoderLayer(8, 2, 12)
    model = Lambda(lambda m, x: m.layer(x.transpose(0, 1)).transpose(0, 1), layer=layer).eval()
    inputs = torch.randn(3, 5, 8)
    expected = F.relu(hooked(model, inputs, "layer.linear1")["layer.linear1"][0]).mean(0)
    assert agree(capture(model, inputs)["layer.linear1"], expected)
    frames = Lambda(lambda m, x: m.conv(x.flatten(0, 1)).mean((1, 2, 3)), conv=nn.Conv2d(1, 4, 3)).eval()
    inputs = torch.randn(3, 5, 1, 6, 6)
    expected = hooked(frames, inputs, "conv")["conv"][0].view(3, 5, 4, -1).mean((1, 3))
    assert agree(capture(frames, inputs)["conv"], expected)


@pytest.mark.parametrize("name", sorted(set(ZOO) - {"gru", "cross_attention"}))
def test_any_model_gives_rows_and_is_left_alone(name):
    model, inputs = make(name)
    before = ModelState.of(model)
    first = inputs.values() if isinstance(inputs, dict) else inputs
    rows = len(inputs if isinstance(inputs, torch.Tensor) else next(iter(first)))
    for of in ("signal", "output"):
        found = capture(model, inputs, of=of)
        sizes = {layer.name: layer.neurons for layer in view_of(model, inputs).layers}
        assert found
        for layer, values in found.items():
            assert values.shape == (rows, sizes[layer])
            assert torch.isfinite(values).all()
    assert before == ModelState.of(model)


def test_streaming_is_lazy_and_batches_agree_with_the_whole():
    model, inputs = make("resnet")
    view, asked = view_of(model, inputs), []

    def batches():
        for row in inputs:
            asked.append(1)
            yield row[None]

    stream = activations(view, batches(), layers=["1.0.conv1", "1.4"])
    assert not asked
    first = next(stream)
    assert len(asked) == 1
    assert list(first) == ["1.0.conv1", "1.4"]
    whole = capture(model, inputs, layers=["1.0.conv1", "1.4"])
    parts = [first, *stream]
    for name, values in whole.items():
        assert agree(values, torch.cat([part[name] for part in parts]))


def test_the_model_is_left_alone_after_an_error():
    model, inputs = make("mlp")
    view, before = view_of(model, inputs), ModelState.of(model)
    with pytest.raises(RuntimeError):
        next(activations(view, [torch.randn(3, 99)]))
    assert before == ModelState.of(model)


def test_refused_with_a_sentence():
    model, inputs = make("lstm_bidirectional")
    with pytest.raises(BadInput, match=r"layers='lstm\.l0'.*outside their module"):
        capture(model, inputs, layers=["lstm.l0"])
    with pytest.raises(BadInput, match=r"one of lstm\.l0"):
        capture(model, inputs, layers=["nothing"])
    with pytest.raises(BadInput, match="one row per input"):
        next(activations(view_of(model, inputs), ["text"], forward=lambda model, _: model(inputs)))

    def packed(m, x):
        return m.head(m.rnn(pack_padded_sequence(x, torch.tensor([3, 2]), batch_first=True))[1][-1])

    model = Lambda(packed, rnn=nn.GRU(3, 4, batch_first=True), head=nn.Linear(4, 2)).eval()
    with pytest.raises(BadInput, match=r"'rnn\.l0'.*packed"):
        capture(model, torch.randn(2, 4, 3))
    assert capture(model, torch.randn(2, 4, 3), layers=["head"])["head"].shape == (2, 2)


def test_layer_norm_group_norm_and_pooling_belong_to_the_neuron():
    norm = lively(nn.LayerNorm(6))
    model = nn.Sequential(nn.Linear(4, 6), norm, nn.Tanh(), nn.Linear(6, 2)).eval()
    inputs = torch.randn(3, 4)
    assert agree(capture(model, inputs)["0"], hooked(model, inputs, "2")["2"][0])
    model, inputs = make("lenet_modules")
    assert agree(
        capture(model, inputs)["features.0"], hooked(model, inputs, "features.2")["features.2"][0].mean((2, 3))
    )
