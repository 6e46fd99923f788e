"""Synthesis: gradients against finite differences, one step against the formula, balls and bounds."""

import json
from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from torch import nn

import mutiny
import toys
import zoo
from mutiny.core.errors import BadInput
from mutiny.models import ModelState, ModelView, default_forward
from mutiny.models.activation_gradients import activation_gradients
from mutiny.models.capture import activations, visible_layers
from mutiny.models.torch_ops import replace_tensors, tensors
from mutiny.reports.locate_text import synthesis_text
from mutiny.reports.result_files import draw_synthesis, write_synthesis
from mutiny.subjects.data import as_data
from mutiny.subjects.data.balls import NORMS, distances, within
from mutiny.subjects.tasks import Classification
from mutiny.verbs.locate.ascent import Ascent, usual
from mutiny.verbs.locate.failures import ByLabel
from mutiny.verbs.locate.model_under_test import ModelUnderTest
from mutiny.verbs.locate.synthesis import Synthesis, synthesis


def double(name):
    """A zoo animal in double precision, where finite differences are worth something."""
    model, inputs = zoo.make(name)
    return model.double(), zoo_double(inputs)


def zoo_double(inputs):
    return replace_tensors(inputs, lambda t: t.double() if t.is_floating_point() else t)


SMOOTH = (
    "lenet_modules resnet lstm_bidirectional lstm_cell_loop conv3d conv1d depthwise no_biases reused_layer "
    "dict_in_dict_out tuple_in_tuple_out channels_last"
).split()


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("scale", ["none", "rms"])
def test_gradients_are_finite_differences(name, scale):
    model, inputs = double(name)
    view = ModelView.of(model, inputs)
    layers = [layer for layer in visible_layers(view) if not layer.output][-2:]
    neurons = {layer.name: np.array([0, layer.neurons - 1]) for layer in layers}
    state = ModelState.of(model)
    found = activation_gradients(view, neurons)(inputs, scale)
    assert state == ModelState.of(model)
    first = next(t for t in tensors(found.gradient) if t.is_floating_point())
    moved = next(t for t in tensors(inputs) if t.is_floating_point())
    rng = np.random.default_rng(0)

    def values():
        said = next(activations(view, [inputs], [*neurons]))
        return torch.cat([said[name][:, units] for name, units in neurons.items()], 1)

    if scale == "rms":  # the gradient of each neuron by itself, from the plain mode
        single = [
            [activation_gradients(view, {layer: np.array([unit])})(inputs, "none").gradient for unit in units]
            for layer, units in neurons.items()
        ]
        scaled = []
        for gradient in chain.from_iterable(single):
            parts = [part for part in tensors(gradient) if part.is_floating_point()]
            rms = torch.cat([part.flatten(1) for part in parts], 1).square().mean(1).sqrt() + 1e-5
            scaled.append(parts[0] / rms.reshape(-1, *[1] * (parts[0].ndim - 1)))
        torch.testing.assert_close(first, torch.stack(scaled).mean(0))
        return
    for _ in range(6):
        at = tuple(int(rng.integers(size)) for size in moved.shape)
        with torch.no_grad():
            before = moved[at].item()
            moved[at] = before + 1e-6
            up = values()[at[0]].mean().item()
            moved[at] = before - 1e-6
            down = values()[at[0]].mean().item()
            moved[at] = before
        assert first[at].item() == pytest.approx((up - down) / 2e-6, rel=1e-3, abs=1e-6)


@pytest.fixture
def case():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.LeakyReLU(0.01), nn.Linear(8, 3)).eval()
    x = torch.rand(40, 1, 4, 4)
    with torch.no_grad():
        net[3].bias -= net(x).mean(0)  # so that all classes occur
        y = net(x).argmax(1)
    task = Classification(3, "logits")
    return ModelUnderTest(net, task, as_data((x, y), "test"), ByLabel(task, y), y, default_forward, batch_size=7)


@pytest.mark.parametrize("scale", ["none", "rms"])
def test_one_step_is_the_papers_formula(case, scale):
    weight, where = case.model[1].weight.detach(), np.arange(5, 25)
    found = synthesis(case, where, {"1": np.array([2, 5])}, Ascent(step=0.3, distance=0.05, scale=scale))
    x = case.data.read(where)
    with torch.no_grad():
        pre = case.model[1](x.flatten(1))[:, [2, 5]]
        each = torch.where(pre > 0, 1.0, 0.01)[:, :, None] * weight[[2, 5]]
        if scale == "rms":
            each = each / (each.square().mean(2, keepdim=True).sqrt() + 1e-5)
        expected = (x + (0.3 * each.mean(1)).clamp(-0.05, 0.05).reshape(x.shape)).clamp(0, 1)
    torch.testing.assert_close(found.inputs, expected)
    with torch.no_grad():
        assert found.failed.tolist() == (case.model(expected).argmax(1) != case.targets[where]).tolist()
    assert found.distances["linf"].max() <= 0.05 + 1e-6
    assert found.raised.mean() > 0.5


def test_several_steps_climb_further_and_stay_near(case):
    where, neurons = np.arange(40), {"1": np.array([0])}
    one = synthesis(case, where, neurons, Ascent(step=0.02, distance=0.1))
    many = synthesis(case, where, neurons, Ascent(step=0.02, distance=0.1, steps=8))
    assert many.distances["l2"].mean() > 2 * one.distances["l2"].mean()
    assert many.distances["linf"].max() <= 0.1 + 1e-6


def test_bounds_and_projection(case):
    ascent = Ascent(step=50, distance=5, low=0.2, high=0.8, project=lambda x: x.round(decimals=1))
    found = synthesis(case, np.arange(10), {"1": np.array([0])}, ascent)
    assert 0.2 <= found.inputs.min() <= found.inputs.max() <= 0.8 + 1e-6
    torch.testing.assert_close(found.inputs, found.inputs.round(decimals=1))


def test_a_pass_without_gradient_says_the_same(case):
    gradients, batch = activation_gradients(case.view, {"1": np.array([0, 3])}), case.data.read(slice(0, 9))
    there, bare = gradients(batch, "none"), gradients(batch, None)
    assert bare.gradient is None
    assert torch.equal(bare.values, there.values)
    assert torch.equal(bare.outputs, there.outputs)


@given(st.integers(0, 2**32 - 1), st.sampled_from(NORMS), st.floats(0.01, 5))
@settings(max_examples=60, deadline=None)
def test_the_nearest_change_in_a_ball(seed, norm, distance):
    """Inside the ball, unchanged if it was there, and no random point of the ball is nearer."""
    draw = torch.Generator().manual_seed(seed)
    change = torch.randn(3, 2, 3, generator=draw, dtype=torch.float64)
    found = within(change, distance, norm)
    zero = torch.zeros_like(change)
    sizes = distances(zero, found)[norm]
    assert (sizes <= distance * (1 + 1e-9)).all()
    inside = torch.from_numpy(distances(zero, change)[norm] <= distance)
    torch.testing.assert_close(found[inside], change[inside])
    best = distances(change, found)["l2"]
    for _ in range(20):
        other = within(torch.randn(3, 2, 3, generator=draw, dtype=torch.float64) * distance, distance, norm)
        assert (distances(change, other)["l2"] >= best - 1e-9).all()


def test_token_ids_cannot_climb():
    model = nn.Sequential(nn.Embedding(5, 4), nn.Flatten(), nn.Linear(12, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    ids = torch.randint(5, (6, 3))
    with pytest.raises(BadInput, match="real numbers"):
        activation_gradients(ModelView.of(model, ids), {"2": np.array([0])})(ids, "none")


@pytest.mark.parametrize(
    "wrong",
    [
        {"step": 0},
        {"step": "1"},
        {"step": float("nan")},
        {"distance": -1},
        {"distance": True},
        {"norm": "l3"},
        {"steps": 0},
        {"scale": "max"},
        {"low": "a"},
        {"low": float("nan")},
        {"high": float("inf")},
        {"low": 1, "high": 0},
        {"low": 1, "high": 1},
        {"project": 3},
    ],
)
def test_what_is_no_ascent(wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        Ascent(**wrong)


def test_inputs_that_pass_are_chosen_evenly_and_exercise_their_own_suspects():
    subject, ascent = toys.blob_subject(1), Ascent(step=5, distance=1.5, low=None, high=None)
    found = mutiny.locate(subject, "tarantula", 2, by_class=True, validate=0)
    new = mutiny.synthesize(subject, found, 30, ascent=ascent)
    net, labels = subject.models[0], subject.test.targets[new.indices]
    with torch.no_grad():
        before, after = (net(inputs).argmax(1).numpy() for inputs in (new.originals, new.inputs))
    assert (before == labels).all()  # only those that pass
    assert new.failed.tolist() == (after != labels).tolist()
    assert len(np.unique(new.indices)) == len(new)
    assert set(labels.tolist()) <= {label for label, some in found.by_class.items() if some}
    for label, some in found.by_class.items():
        own = [(one.layer, one.neuron) for one in some]
        alone = mutiny.synthesize(subject, some, len(labels), ascent=ascent) if some else None
        if alone is not None and own:
            shared = {int(index): at for at, index in enumerate(alone.indices)}
            for at in np.flatnonzero(labels == label):
                if int(new.indices[at]) in shared:
                    torch.testing.assert_close(new.inputs[at], alone.inputs[shared[int(new.indices[at])]])
    again = mutiny.synthesize(subject, found, 30, ascent=ascent, batch_size=3)
    torch.testing.assert_close(again.inputs, new.inputs)


def test_the_usual_range(case):
    assert usual(case.data) == Ascent(step=1.0, distance=0.1, low=0.0, high=1.0)
    bright = as_data((torch.rand(9, 1, 2, 2) * 200, torch.arange(9) % 3), "test")
    assert usual(bright).distance == pytest.approx(25.5)


def test_without_suspects_or_passing_inputs(case):
    data = (case.data.read(slice(0, 40)), case.targets)
    with pytest.raises(BadInput, match="no neuron is suspicious"):
        mutiny.synthesize(case.model, (), data=data)
    with pytest.raises(BadInput, match="some that pass"):
        mutiny.synthesize(case.model, (), data=(data[0], (case.targets + 1) % 3))


# inputs that lose their label

BRIGHTER = 0.02
WILD = Ascent(step=5, distance=0.5)
PAIR = {"1": np.array([1, 3])}


def dim(old, new):
    """A user's rule: an image that became brighter shows something else now."""
    return (new - old).flatten(1).mean(1) <= BRIGHTER


@pytest.fixture
def mixed(case):
    """New inputs of all four kinds: failing or not, and with their label or not."""
    found = synthesis(case, np.arange(3, 40), PAIR, WILD, keeps=dim)
    kinds = {(bool(failed), bool(kept)) for failed, kept in zip(found.failed, found.kept, strict=True)}
    assert len(kinds) == 4
    return found


def test_inputs_that_lost_their_label_stay_but_are_no_success(case, mixed):
    for at, (old, new) in enumerate(zip(mixed.originals, mixed.inputs, strict=True)):
        kept = (new - old).mean().item() <= BRIGHTER
        fails = case.model(new[None]).argmax().item() != case.targets[mixed.indices[at]].item()
        assert (mixed.failed[at], mixed.kept[at], mixed.succeeded[at]) == (fails, kept, fails and kept)
    without = synthesis(case, np.arange(3, 40), PAIR, WILD)
    assert without.kept.all()
    assert without.succeeded.tolist() == without.failed.tolist() == mixed.failed.tolist()
    torch.testing.assert_close(without.inputs, mixed.inputs)


def test_another_models_opinion_of_inputs_of_each_class():
    subject, other = toys.blob_subject(1), toys.classifier(1)
    found = mutiny.locate(subject, "tarantula", 2, by_class=True, validate=0)
    asked = []

    def keeps(old, new):
        asked.append(len(old))
        assert not torch.is_grad_enabled()
        return other(old).argmax(1) == other(new).argmax(1)

    ascent = Ascent(step=5, distance=2.5, low=None, high=None)
    new = mutiny.synthesize(subject, found, 30, ascent=ascent, keeps=keeps, batch_size=4)
    with torch.no_grad():
        before, after = (other(inputs).argmax(1).numpy() for inputs in (new.originals, new.inputs))
    assert new.kept.tolist() == (before == after).tolist()
    assert 0 < new.kept.sum() < len(new)
    assert sum(asked) == len(new)
    assert max(asked) == 4


@pytest.mark.parametrize("form", [torch.Tensor.numpy, torch.Tensor.tolist, tuple], ids=["array", "list", "tensors"])
def test_forms_of_truth(case, mixed, form):
    found = synthesis(case, mixed.indices, PAIR, WILD, keeps=lambda old, new: form(dim(old, new)))
    assert found.kept.dtype == bool
    assert found.kept.tolist() == mixed.kept.tolist()


@pytest.mark.parametrize(
    ("keeps", "message"),
    [
        (0.9, "a function of originals and new inputs"),
        (lambda old, new: True, r"keeps=bool of shape \(\) for 40 inputs"),
        (lambda old, new: None, "keeps=object"),
        (lambda old, new: (old - new).flatten(1).mean(1), "keeps=float32"),
        (
            lambda old, new: dim(old, new)[1:],
            r"shape \(39,\) for 40 inputs: expected one True \(the label of the original",
        ),
        (lambda old, new: dim(old, new)[:, None], r"shape \(40, 1\)"),
    ],
)
def test_what_is_no_opinion_of_labels(case, keeps, message):
    everything = (case.data.read(slice(0, 40)), case.targets)
    wrong = (case.targets + (torch.arange(40) < 5)) % 3  # by these, some fail
    suspects = mutiny.locate(case.model, k=1, data=(everything[0], wrong), validate=0)
    with pytest.raises(BadInput, match=message):
        mutiny.synthesize(case.model, suspects, data=everything, keeps=keeps, batch_size=40)


def said(found):
    console = Console(width=100)
    with console.capture() as capture:
        console.print(synthesis_text(found))
    return " ".join(capture.get().split())


def test_the_report_counts_success_and_names_losses(case, mixed):
    pairs = [*zip(mixed.failed.tolist(), mixed.kept.tolist(), strict=True)]
    good, lost, spoilt = pairs.count((True, True)), sum(not kept for _, kept in pairs), pairs.count((True, False))
    assert f": {good} ({good / 37:.1%}) fail and keep their label;" in said(mixed)
    assert f"{lost} ({lost / 37:.1%}) lost their label; {spoilt} of these fail, which is not" in said(mixed)
    plain = said(synthesis(case, mixed.indices, PAIR, WILD))
    assert f": {good + spoilt} ({(good + spoilt) / 37:.1%}) fail; " in plain
    assert "label" not in plain


def test_success_comes_first_in_the_picture_and_losses_are_marked(mixed, tmp_path):
    draw_synthesis(tmp_path / "grid.svg", mixed)
    drawn = (tmp_path / "grid.svg").read_text()  # texts stand in comments beside their outlines
    shown = [*np.flatnonzero(mixed.failed & mixed.kept), *np.flatnonzero(~(mixed.failed & mixed.kept))][:10]
    names = ["label lost" if not mixed.kept[at] else "fails" if mixed.failed[at] else "passes" for at in shown]
    assert len(set(names)) > 1
    for mark in ("fails", "passes", "label lost"):
        assert drawn.count(f"<!-- {mark} -->") == names.count(mark)


def test_files(case, mixed, tmp_path):
    write_synthesis(tmp_path / "mixed.npz", mixed)
    with np.load(tmp_path / "mixed.npz") as held:
        assert held["kept"].tolist() == mixed.kept.tolist()
        assert held["succeeded"].tolist() == (held["failed"] & held["kept"]).tolist()
        assert len(held["x"]) == 37
    found = synthesis(case, np.arange(12), {"1": np.array([2])}, Ascent(step=1, distance=0.3))
    write_synthesis(tmp_path / "new.npz", found)
    with np.load(tmp_path / "new.npz") as held:
        assert np.array_equal(held["x"], found.inputs.numpy())
        assert np.array_equal(held["failed"], found.failed)
        assert set(held) == {"x", "original", "index", "failed", "kept", "succeeded", "raised", "l1", "l2", "linf", "y"}
    draw_synthesis(tmp_path / "grid.png", found, "some")
    assert (tmp_path / "grid.png").stat().st_size > 1000


def test_what_a_leaky_activation_hides_is_seen_before_it():
    """Where a suspect is silent, its signal has a hundredth of the slope of its output."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.LeakyReLU(0.01), nn.Linear(6, 3)).eval()
    x = torch.rand(200, 4)
    y = model(x).argmax(dim=1)
    y[::4] = (y[::4] + 1) % 3
    found = mutiny.locate(model, k=1, data=(x, y), validate=0, at="output")
    suspect = found.suspects[0]
    ways = {
        at: mutiny.synthesize(model, found, 60, ascent=Ascent(1, 9.0, low=None, high=None), data=(x, y), at=at)
        for at in ("signal", "output")
    }
    values = model[0](ways["output"].originals)[:, suspect.neuron]
    row = model[0].weight[suspect.neuron].detach()
    moved = {at: (one.inputs - one.originals) for at, one in ways.items()}
    torch.testing.assert_close(moved["output"], row.expand(len(values), -1), atol=1e-5, rtol=1e-4)
    slope = torch.where(values > 0, 1.0, 0.01).detach()
    torch.testing.assert_close(moved["signal"], slope[:, None] * row, atol=1e-5, rtol=1e-4)
    with pytest.raises(BadInput, match="signal or output"):
        mutiny.synthesize(model, found, 5, data=(x, y), at="input")


# JSON


def test_a_synthesis_survives_json(mixed):
    written = json.loads(json.dumps(mixed.to_json(), allow_nan=False))
    loaded = Synthesis.from_json(written)
    assert loaded.to_json() == written
    assert loaded.summary == mixed.summary
    assert loaded.indices.tolist() == mixed.indices.tolist()
    assert len(loaded) == len(mixed)
    assert (loaded.inputs, loaded.originals, loaded.labels) == (None, None, None)  # JSON holds no inputs


def test_a_synthesis_is_loaded_with_its_location(case, tmp_path):
    everything = (case.data.read(slice(0, 40)), case.targets)
    wrong = (case.targets + (torch.arange(40) < 5)) % 3  # by these, some fail
    located = mutiny.locate(case.model, k=1, data=(everything[0], wrong), validate=0)
    synthesized = mutiny.synthesize(case.model, located, 20, data=everything)
    written = {**located.to_json(), "synthesis": synthesized.to_json()}  # as `mutiny locate --synthesize --json` does
    (tmp_path / "located.json").write_text(json.dumps(written))
    loaded = mutiny.load_result(tmp_path / "located.json")
    assert loaded.synthesis.summary == synthesized.summary
    assert loaded.to_json() == written
    (tmp_path / "located.json").write_text(json.dumps({**located.to_json(), "synthesis": None}))
    assert mutiny.load_result(tmp_path / "located.json").synthesis is None


def test_a_file_with_a_synthesis_alone_is_refused_with_the_way_to_read_it(mixed, tmp_path):
    (tmp_path / "new.json").write_text(json.dumps(mixed.to_json()))
    with pytest.raises(BadInput, match=r"^path=.*It is a synthesis, which mutiny\.Synthesis.from_json reads"):
        mutiny.load_result(tmp_path / "new.json")
    read = mutiny.Synthesis.from_json(json.loads((tmp_path / "new.json").read_text()))
    assert read.summary == mixed.summary


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("failed", "3"),
        ("failed", -1),
        ("succeeded", 38),
        ("count", 36),
        ("indices", [1.5]),
        ("indices", []),
        ("distances", {"l1": {"mean": 1}}),
        ("settings", {"seed": [[]]}),
        ("raised", "much"),
    ],
)
def test_a_synthesis_from_a_stranger_is_checked(mixed, key, value):
    with pytest.raises(BadInput):
        Synthesis.from_json({**mixed.to_json(), key: value})
