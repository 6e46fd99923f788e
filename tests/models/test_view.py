"""Model views: layers in execution order, their neurons, outputs, sites, and refused models."""

import copy
from collections import OrderedDict

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mutiny.core.errors import BadInput
from mutiny.models import ModelState, ModelView, check_model, default_forward
from zoo import ZOO, Lambda, make

# name, kind, neurons; * marks output layers
SEEN = {
    "mlp": "0 linear 8, 2 linear 7, 4 linear 3*",
    "single_linear": "weight linear 3*",
    "lenet_functional": "conv1 conv2d 4, conv2 conv2d 6, fc1 linear 10, fc2 linear 5*",
    "resnet": "0.0 conv2d 4, 1.0.conv1 conv2d 4, 1.0.conv2 conv2d 4, 1.1.shortcut conv2d 6, 1.1.conv1 conv2d 6, "
    "1.1.conv2 conv2d 6, 1.4 linear 4*",
    "lstm_bidirectional": "lstm.l0 lstm 5, lstm.l0_reverse lstm 5, lstm.l1 lstm 5, lstm.l1_reverse lstm 5, "
    "head linear 4*",
    "gru": "gru.l0 gru 5, head linear 2*",
    "rnn_sigmoid_head": "rnn.l0 rnn_relu 5, head linear 1*",
    "lstm_projected": "lstm.l0 lstm 6, lstm.l0.projection projection 0, lstm.l1 lstm 6, "
    "lstm.l1.projection projection 0, head linear 4*",
    "lstm_cell_loop": "cell lstm_cell 5, head linear 3*",
    "gru_cell_loop": "cell gru_cell 5, head linear 3*",
    "cross_attention": "attend.q_proj attention 6, attend.k_proj attention 6, attend.v_proj attention 6, "
    "attend.out_proj attention_out 6, head linear 3*",
    "depthwise": "0 conv2d 6, 2 conv2d 6, 5 conv2d 4*",
    "autoencoder": "0 conv2d 4, 2 conv_transpose2d 6, 4 conv_transpose2d 1*",
    "dict_in_dict_out": "image linear 6, extra linear 6, head linear 3*",
    "tuple_in_tuple_out": "both bilinear 5, head linear 3*",
    "functional_layers": "first linear 7, second matmul 6, turned linear 8, last matmul 3*",
    "reused_layer": "enter linear 6, middle linear 6, leave linear 3*",
    "other_order": "first linear 6, middle linear 5, last linear 2*",
    "two_heads": "trunk linear 6, main linear 3*, aux linear 2*",
    "bag_of_words": "bag embedding_bag 0, hidden linear 6, head linear 2*",
}


@pytest.mark.parametrize("name", SEEN)
def test_layers_in_the_order_of_execution(name):
    view = ModelView.of(*make(name))
    told = ", ".join(f"{y.name} {y.kind} {y.neurons}{'*' * y.output}" for y in view.layers)
    assert told == SEEN[name]
    assert [layer.order for layer in view.layers] == list(range(len(view.layers)))


def test_transformer_layers():
    view = ModelView.of(*make("transformer_tied"))
    names = [layer.name.removeprefix("encoder.layers.") for layer in view.layers]
    one = ["self_attn.in_proj", "self_attn.out_proj", "linear1", "linear2"]
    assert names == ["embed", *(f"{i}.{part}" for i in range(2) for part in one)]
    assert view.layer("embed").neurons == 11  # those of the decoder that shares its matrix
    assert [layer.name for layer in view.layers if layer.output] == ["embed"]


@pytest.mark.parametrize("name", ZOO)
def test_probing_leaves_no_trace_and_tensors_fit(name):
    model, inputs = make(name)
    before, seed = ModelState.of(model), torch.random.get_rng_state()
    view = ModelView.of(model, inputs)
    assert before == ModelState.of(model)
    assert torch.equal(seed, torch.random.get_rng_state())
    for layer in view.layers:
        for tensor in (*layer.weights, *layer.biases):
            assert tensor.size <= view.parameters[tensor.parameter].numel()
            if layer.neurons and tensor.unit_axes:
                every = tensor.of(torch.arange(layer.neurons).numpy()).ravel()
                assert sorted(every.tolist()) == tensor.all.tolist()  # each entry feeds exactly one neuron


def test_unused_weights_are_named():
    view = ModelView.of(*make("other_order"))
    assert view.unseen == ("unused.weight",)
    einsum = Lambda(
        lambda m, x: m.fc(torch.einsum("bi,io->bo", x, m.w)), w=nn.Parameter(torch.ones(3, 4)), fc=nn.Linear(4, 2)
    )
    assert ModelView.of(einsum.eval(), torch.randn(2, 3)).unseen == ("w",)


def test_unknown_layer():
    with pytest.raises(BadInput, match=r"layer='9': expected one of 0, 2, 4"):
        ModelView.of(*make("mlp")).layer("9")


def test_probing_leaves_no_trace_after_an_error():
    def broken(m, x):
        m.fc(x)
        raise RuntimeError("the user's own")

    model = Lambda(broken, fc=nn.Linear(2, 2)).eval()
    before = ModelState.of(model)
    with pytest.raises(RuntimeError, match="own"):
        ModelView.of(model, torch.randn(1, 2))
    assert before == ModelState.of(model)


def pruned():
    layer = nn.Linear(3, 3)
    nn.utils.prune.l1_unstructured(layer, "weight", 0.3)
    return layer


REFUSED = {
    "in training mode": (lambda: nn.Linear(2, 2).train(), "Call model.eval"),
    "part in training mode": (lambda: nn.Sequential(nn.Linear(2, 2), nn.Dropout()).eval()[1].train(), "training mode"),
    "no module": (lambda: "model", "expected an nn.Module"),
    "scripted": (lambda: torch.jit.script(nn.Linear(2, 2).eval()), "TorchScript"),
    "part scripted": (lambda: nn.Sequential(torch.jit.script(nn.Linear(2, 2))).eval(), "part 0=a TorchScript"),
    "lazy": (lambda: nn.LazyLinear(3).eval(), "uninitialized"),
    "meta": (lambda: nn.Linear(2, 2, device="meta").eval(), "meta device"),
    "parametrized": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)).eval(), "remove_parametrizations"),
    "pruned": (lambda: pruned().eval(), r"prune\.remove"),
}


@pytest.mark.filterwarnings("ignore:.*TorchScript.*", "ignore:.*torch.jit.*")
@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_one_sentence(case):
    make_bad, message = REFUSED[case]
    with pytest.raises(BadInput, match=message) as caught:
        check_model(make_bad(), "models[0]")
    assert str(caught.value).startswith("models[0]")
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning")
def test_weights_computed_by_hooks_are_refused():
    for wrap, fix in ((nn.utils.weight_norm, "remove_weight_norm"), (nn.utils.spectral_norm, "remove_spectral_norm")):
        model = nn.Sequential(wrap(nn.Linear(2, 2))).eval()
        with pytest.raises(BadInput, match=f"layer 0=weights computed.*{fix}"):
            check_model(model, "model")
        with pytest.raises(BadInput, match=fix):
            ModelView.of(model, torch.randn(1, 2))


def test_nan_weights_and_no_layers():
    model, inputs = make("mlp")
    model[2].weight.data[0, 0] = float("nan")
    with pytest.raises(BadInput, match=r"models\[1\] parameter 2.weight=NaN"):
        check_model(model, "models[1]")
    with pytest.raises(BadInput, match="at least one layer with weights"):
        ModelView.of(nn.Sequential(nn.ReLU()).eval(), inputs)


def test_a_part_in_training_mode_is_named():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Dropout())).eval()
    model[1][0].train()
    with pytest.raises(BadInput, match=r"its part 1\.0"):
        check_model(model, "model")


def test_compiled_models_are_unwrapped():
    model, _ = make("mlp")
    compiled = torch.compile(model, backend="eager")
    compiled.eval()
    assert check_model(compiled, "model") is model


def test_copies_give_the_same_view():
    model, inputs = make("resnet")
    view, twin = ModelView.of(model, inputs), ModelView.of(copy.deepcopy(model), inputs)
    assert (view.layers, view.sites, view.activations) == (twin.layers, twin.sites, twin.activations)


class ModelOutput(OrderedDict):
    """Like that of Hugging Face: a dict whose entries are attributes, too."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__.update(self)


def test_model_outputs():
    def wrapped(wrap):
        return Lambda(lambda m, x: wrap(m.fc(x)), fc=nn.Linear(3, 2)).eval()

    x = torch.randn(4, 3)
    for wrap in (
        lambda y: ModelOutput(loss=y.sum(), logits=y),
        lambda y: (y, None),
        lambda y: [y],
        lambda y: {"any": y},
        lambda y: type("Output", (), {"logits": y})(),
    ):
        model = wrapped(wrap)
        assert torch.equal(default_forward(model, x), model.fc(x))
        assert ModelView.of(model, x).layers[0].output
    with pytest.raises(BadInput, match=r"keys \['a', 'b'\].*forward=lambda"):
        default_forward(wrapped(lambda y: {"a": y, "b": y}), x)
    with pytest.raises(BadInput, match="model output=NoneType"):
        default_forward(wrapped(lambda y: None), x)


def test_calls_by_signature():
    one = Lambda(lambda m, x: m.fc(x["a"] if isinstance(x, dict) else x[0]), fc=nn.Linear(3, 2))
    one.forward = lambda x: one._function(one, x)
    x = torch.randn(4, 3)
    assert torch.equal(default_forward(one, {"a": x}), one.fc(x))
    assert torch.equal(default_forward(one, (x, x)), one.fc(x))


def test_frozen_weights_and_the_users_hooks():
    model, inputs = make("mlp")
    model.requires_grad_(False)
    seen = []
    model[0].register_forward_hook(lambda module, args, output: seen.append(output.shape) or F.relu(output))
    before = ModelState.of(model)
    assert len(ModelView.of(model, inputs).layers) == 3
    assert seen
    assert before == ModelState.of(model)
