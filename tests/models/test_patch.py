"""Patches: applied in place, always undone, equal if their edits are."""

import numpy as np
import pytest
import torch
from torch import nn

from mutiny.core.errors import BadInput
from mutiny.faults import ALL, LayerAddition, NeuronEffectBlock, WeightInhibitor
from mutiny.models import ActivationEdit, ModelState, ModuleEdit, Patch, SignalEdit, WeightEdit
from mutiny.models import in_place as in_place_module
from mutiny.models import patch as patch_module
from mutiny.models.undo import Undo
from mutiny.testing.operators import check_operator
from references.by_hand import agree, clean, mutated, patch_of, view_of
from zoo import ZOO, Lambda, make


def zero(parameter, *indices, value=0.0):
    return WeightEdit(parameter, np.array(indices), torch.full((len(indices),), value))


def test_digest_is_what_the_patch_does():
    layer = view_of(*make("mlp")).layers[0]
    edits = [
        zero("0.weight", 0),
        zero("0.weight", 1),
        zero("2.weight", 0),
        zero("0.weight", 0, value=1.0),
        WeightEdit("0.weight", np.array([0]), torch.zeros(1, dtype=torch.float64)),
        zero("0.weight", 0, 1),
        ActivationEdit(0),
        ActivationEdit(1),
        ModuleEdit("1", "remove"),
        ModuleEdit("1", "duplicate"),
        ModuleEdit("1", "follow", "tanh"),
        ModuleEdit("1", "follow", "relu"),
        SignalEdit(layer, np.array([0]), 0.5),
        SignalEdit(layer, np.array([1]), 0.5),
        SignalEdit(layer, np.array([0]), 0.0),
    ]
    digests = {Patch((edit,)).digest for edit in edits} | {Patch(()).digest, Patch((edits[0], edits[1])).digest}
    assert len(digests) == len(edits) + 2
    assert Patch((zero("a", 1),), "a") == Patch((zero("a", 1),), "a")
    assert hash(Patch((zero("a", 1),))) == hash(Patch((zero("a", 1),)))
    assert Patch((zero("a", 1),)) != "patch"


def test_later_edits_win_and_all_are_undone():
    model, _ = make("mlp")
    before = ModelState.of(model)
    patch = Patch((zero("0.weight", 0, 1), zero("0.weight", 1, 2, value=5.0)))
    with patch.applied(model):
        assert model[0].weight.flatten()[:3].tolist() == [0.0, 5.0, 5.0]
    assert before == ModelState.of(model)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit, SystemExit])
def test_undone_after_any_exception(error):
    model, inputs = make("resnet")
    before = ModelState.of(model)

    def failing(model, inputs):
        model(inputs)
        raise error

    for patch in [patch_of(kind(), model, inputs) for kind in ALL]:
        with pytest.raises(error), patch.applied(model, failing) as forward:
            forward(inputs)
        assert before == ModelState.of(model)


def interrupted(monkeypatch, where, name, at):
    """Ctrl-C in the middle of call number ``at``, and again when that call is repeated."""
    write, calls = getattr(where, name), []

    def struck(*args):
        calls.append(args)
        if len(calls) == at + 1:
            write(*args)
        if len(calls) in (at, at + 1):
            raise KeyboardInterrupt
        write(*args)

    monkeypatch.setattr(where, name, struck)
    return calls


@pytest.mark.parametrize("at", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("where", "name", "edits"),
    [
        (patch_module, "_write", (zero("0.weight", 0, 1), zero("2.weight", 1, 2, value=5.0))),
        (in_place_module, "set_forward", (ModuleEdit("0", "remove"), ModuleEdit("2", "follow", "tanh"))),
    ],
)
def test_an_interrupt_while_undoing_comes_after_all_is_undone(monkeypatch, where, name, edits, at):
    model, _ = make("mlp")
    model[2].forward = model[2].forward  # one that is in the way, as accelerate does
    before = ModelState.of(model)
    calls = interrupted(monkeypatch, where, name, at)
    with pytest.raises(KeyboardInterrupt), Patch(edits).applied(model):
        pass
    assert before == ModelState.of(model)
    assert len(calls) >= at
    assert torch.backends.mha.get_fastpath_enabled()


def test_an_error_while_undoing_does_not_keep_the_rest_from_being_undone():
    done = []

    def failing():
        raise ValueError("mine")

    undo = Undo()
    undo.add(done.append, 1)
    undo.add(failing)
    undo.add(done.append, 2)
    with pytest.raises(ValueError, match="mine"), undo:
        pass
    assert done == [2, 1]


def test_undone_when_a_later_edit_does_not_fit():
    model, _ = make("mlp")
    before = ModelState.of(model)
    unknown = Patch((zero("0.weight", 0), zero("other.weight", 0)))
    with pytest.raises(BadInput, match=r"an edit of other\.weight"), unknown.applied(model):
        pass
    outside = Patch((zero("0.weight", 0), zero("2.weight", 10**6)))
    with pytest.raises((IndexError, RuntimeError)), outside.applied(model):
        pass
    assert before == ModelState.of(model)


def test_fused_attention_is_only_off_meanwhile():
    model, inputs = make("transformer_tied")
    patch = patch_of(WeightInhibitor(), model, inputs)
    assert torch.backends.mha.get_fastpath_enabled()
    with patch.applied(model):
        assert not torch.backends.mha.get_fastpath_enabled()
    assert torch.backends.mha.get_fastpath_enabled()


def test_a_structural_patch_changes_no_names():
    model, inputs = make("resnet")
    outer = patch_of(LayerAddition(layer="1.0.conv1", activation="tanh"), model, inputs)
    inner = patch_of(WeightInhibitor(ratio=1.0, factor=1.0, layers=("1.0.conv1",)), model, inputs)
    keys = list(model.state_dict())
    with outer.applied(model) as forward:
        one = forward(inputs)
        assert list(model.state_dict()) == keys
        with inner.applied(model) as both:
            assert not agree(both(inputs), one, 1e-4)
        assert torch.equal(forward(inputs), one)


def test_two_signal_patches_at_once():
    model, inputs = make("mlp")
    first, second = NeuronEffectBlock(ratio=0.5, layers=("0",)), NeuronEffectBlock(ratio=0.5, layers=("2",))
    a, b = patch_of(first, model, inputs), patch_of(second, model, inputs)
    together = Patch((*a.edits, *b.edits), "0")
    with together.applied(model) as forward:
        expected = forward(inputs)
    with a.applied(model) as outer, b.applied(model, lambda _model, inputs: outer(inputs)) as nested:
        assert agree(nested(inputs), expected)
    with a.applied(model) as alone:
        assert not agree(alone(inputs), expected, 1e-4)


@pytest.mark.parametrize("name", ZOO)
def test_an_empty_patch_and_a_factor_of_one_change_nothing(name):
    model, inputs = make(name)
    expected = clean(model, inputs)
    with Patch(()).applied(model) as forward, torch.inference_mode():
        assert torch.equal(forward(inputs), expected)
    visible = [y for y in view_of(model, inputs).layers if y.neurons and y.channel is not None]
    layers = [y for y in visible if y.slots or not y.consumers]
    edits = tuple(SignalEdit(layer, np.arange(layer.neurons), 1.0) for layer in layers)
    with Patch(edits).applied(model) as forward, torch.inference_mode():
        assert torch.equal(forward(inputs), expected)


def test_gradients_flow_through_every_kind_of_patch():
    model, inputs = make("resnet")
    for kind in ALL:
        x = inputs.clone().requires_grad_()
        with patch_of(kind(), model, inputs).applied(model) as forward:
            forward(x).sum().backward()
        assert torch.isfinite(x.grad).all()
        assert x.grad.any()


def test_batches_of_any_size_and_repeated_use():
    model, inputs = make("resnet")
    operator = NeuronEffectBlock(ratio=0.5)
    with patch_of(operator, model, inputs).applied(model) as forward, torch.inference_mode():
        whole = forward(inputs)
        rows = torch.cat([forward(inputs[i : i + 1]) for i in range(len(inputs))])
    assert agree(whole, rows)
    assert torch.equal(whole, mutated(operator, model, inputs))


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.code)
def test_unusual_models_keep_the_contract(kind):
    with torch.inference_mode():
        frozen = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 6), nn.Sigmoid(), nn.Linear(6, 2)).eval()
    x = torch.randn(5, 3)
    check_operator(kind(), frozen, x)

    def until_small(m, x):
        x, steps = torch.tanh(m.enter(x)), 0
        while float(x.detach().abs().max()) > 0.3 and steps < 8:
            x, steps = 0.7 * torch.tanh(m.middle(x)), steps + 1
        return m.leave(x)

    parts = {"enter": nn.Linear(3, 6), "middle": nn.Linear(6, 6), "leave": nn.Linear(6, 2)}
    check_operator(kind(), Lambda(until_small, **parts).eval(), x, must_change=False)
    own = Lambda(lambda m, x: m.leave(m.middle(m.enter(x))), **parts).eval()
    own.middle.forward = lambda x: torch.sigmoid(nn.Linear.forward(own.middle, x))  # as accelerate does
    check_operator(kind(), own, x)
    assert "forward" in own.middle.__dict__


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_compiled_part_runs_as_written():
    inner = torch.compile(nn.Sequential(nn.Linear(4, 6), nn.ReLU()), backend="eager")
    model, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), inner, nn.Linear(6, 2)).eval(), torch.randn(5, 3)
    for kind in ALL:
        check_operator(kind(), model, x)
