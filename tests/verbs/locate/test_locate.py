"""`locate` from end to end: any architecture, any kind of failure, and what users are told."""

import json
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

import mutiny
import toys
import zoo
from mutiny.core.errors import BadInput
from mutiny.models import ModelState

pytestmark = pytest.mark.rounding

X, Y = (np.asarray(part) for part in toys.blobs(90, seed=3))


def brute(model, x, failed, threshold=0.0):
    """Counts of a Sequential of linear layers and activations by a loop."""
    values, h = [], torch.as_tensor(x)
    with torch.no_grad():
        for module in model:
            h = module(h)
            if not isinstance(module, nn.Linear):
                values.append(h)
    active = torch.cat(values, 1).numpy() > threshold
    return active[failed].sum(0), active[~failed].sum(0)


@pytest.fixture
def net():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).eval()


def test_counts_of_a_perceptron(net):
    with torch.no_grad():
        failed = net(torch.from_numpy(X)).argmax(1).numpy() != Y
    state = ModelState.of(net)
    found = mutiny.locate(net, k=11, data=(X, Y), batch_size=7)
    assert ModelState.of(net) == state
    ef, ep = brute(net, X, failed)
    counts = found.spectrum.counts()
    assert np.array_equal(counts.ef, ef)
    assert np.array_equal(counts.ep, ep)
    assert (found.failing, found.passing) == (failed.sum(), (~failed).sum())
    assert len(found.suspects) == 11
    for label in range(3):
        here = label == Y
        ef, _ = brute(net, X[here], failed[here])
        assert np.array_equal(found.spectrum.counts(label).ef, ef)
        assert mutiny.locate(net, k=2, data=(X, Y), label=label, validate=0).suspects == found.ranked(k=2, group=label)


def test_before_and_after_the_activation(net):
    after = mutiny.locate(net, data=(X, Y), validate=0).spectrum.counts()
    before = mutiny.locate(net, data=(X, Y), validate=0, at="output").spectrum.counts()
    assert np.array_equal(after.ef, before.ef)  # ReLU and tanh keep the sign
    higher = mutiny.locate(net, data=(X, Y), validate=0, active=0.5).spectrum.counts()
    assert (higher.ef <= after.ef).all()
    assert (higher.ef < after.ef).any()


UNREADABLE = {
    "cross_attention": "one row per item",
    "gru": "one row per input",
    "lstm_projected": "hidden layers",
    "single_linear": "hidden layers",
}
"""Zoo animals that are no case for `locate`, and why."""


@pytest.mark.parametrize("name", zoo.ZOO)
def test_any_architecture(name):
    model, inputs = zoo.make(name)
    with torch.no_grad():
        outputs = mutiny.models.default_forward(model, inputs)
    rows = len(outputs)
    task = mutiny.Classification(outputs.shape[1]) if outputs.ndim == 2 and outputs.shape[1] > 1 else None
    if task is None:
        task = mutiny.Regression(tolerance=0.1)
    state = ModelState.of(model)
    failing = torch.arange(rows) % 3 == 0
    ask = partial(
        mutiny.locate,
        model,
        k=3,
        data=(inputs, None),
        task=task,
        batch_size=rows,
        validate=2,
        oracle=lambda x, out: failing[: len(out)],
    )
    if name in UNREADABLE:
        with pytest.raises(BadInput, match=UNREADABLE[name]):
            ask()
        return
    found = ask()
    assert state == ModelState.of(model)
    assert found.failing == int(failing.sum())
    assert found.suspects
    counts = found.spectrum.counts()
    assert (counts.failing == found.failing).all()


def test_an_injected_fault_is_found(net):
    """A neuron that is on for one corner only, and whose outgoing weights are spoilt."""
    torch.manual_seed(0)
    x = torch.rand(400, 2)
    with torch.no_grad():
        net[0].weight[2], net[0].bias[2] = torch.tensor([10.0, 10.0]), -15.0
        net[2].weight[:, 2] = 0.0
        clean = net(x).argmax(1)
        net[2].weight[:, 2] = -9.0 * (net[4].weight[clean[net[0](x)[:, 2] > 0][0]]).sign()  # against the answer there
    found = mutiny.locate(net, "ochiai", 1, data=(x, clean), layers="0")
    assert (found.suspects[0].layer, found.suspects[0].neuron) == ("0", 2)
    assert found.suspects[0].q_value < 1e-3
    assert found.ablation.suspects.mended == found.failing > max(one.mended for one in found.ablation.random)
    assert found.ablation.p_mended == pytest.approx(1 / 21)


def test_failures_by_oracle_and_by_another_model(net):
    with torch.no_grad():
        said = net(torch.from_numpy(X))
    high = mutiny.locate(net, data=X, oracle=lambda x, out: x[:, 0] > 0, validate=0)
    assert high.failing == int((X[:, 0] > 0).sum())
    assert high.spectrum.inputs.sum(1).tolist() == torch.bincount(said.argmax(1), minlength=3).tolist()
    other = toys.classifier(2)
    with torch.no_grad():
        differ = int((other(torch.from_numpy(X)).argmax(1) != said.argmax(1)).sum())
    assert mutiny.locate(net, data=X, against=other, validate=0).failing == differ


def test_regression():
    subject = toys.line_subject(1)
    found = mutiny.locate(subject, k=3)
    assert found.spectrum.groups == 1
    assert found.failing + found.passing == len(subject.test)


def test_what_a_location_holds():
    subject = toys.blob_subject(1)
    found = mutiny.locate(subject, k=4, by_class=True)
    plain = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert plain["verb"] == "locate"
    assert [one["neuron"] for one in plain["suspects"]] == [one.neuron for one in found.suspects]
    assert set(plain["classes"]) == {"0", "1", "2"}
    again = mutiny.locate(subject, k=4, by_class=True).to_json()
    assert again | {"timing": 0} == plain | {"timing": 0}
    assert "Location('ochiai'" in repr(found)


def test_the_batch_size_does_not_matter(net):
    first, *others = (mutiny.locate(net, data=(X, Y), batch_size=size, validate=3) for size in (1, 7, 90))
    assert all(one.suspects == first.suspects and one.ablation == first.ablation for one in others)


def constant(answer):
    net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3)).eval()
    with torch.no_grad():
        net[2].weight.zero_(), net[2].bias.copy_(torch.eye(3)[answer])
    return net


def test_no_failures():
    found = mutiny.locate(constant(1), data=(X, np.ones(len(X), int)))
    assert found.suspects == ()
    assert found.ablation is None
    assert any("No input fails" in note for note in found.notes)


def test_one_failure():
    labels = np.ones(len(X), int)
    labels[5] = 2
    found = mutiny.locate(constant(1), k=2, data=(X, labels))
    assert found.failing == 1
    assert any("Only 1 input fails" in note for note in found.notes)
    assert all(one.interval.high - one.interval.low > 0.1 for one in found.suspects)
    assert all(one.q_value > 0.01 for one in found.suspects)


def test_always_wrong():
    found = mutiny.locate(constant(1), k=2, data=(X, np.zeros(len(X), int)))
    assert found.passing == 0
    assert any("Every input fails" in note for note in found.notes)
    assert all(one.on_passes is None for one in found.suspects)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"measure": "ochia"}, "Did you mean ochiai"),
        ({"k": 0}, "k=0"),
        ({"k": 2.5}, "k=2.5"),
        ({"data": X}, "labeled inputs"),
        ({"label": 3}, "label=3"),
        ({"active": "often"}, "active='often': expected one of above"),
        ({"at": "input"}, "signal or output"),
        ({"layers": "fc9"}, "a layer or module"),
        ({"layers": "4"}, "hidden layers"),
        ({"oracle": 3}, "a function"),
        ({"oracle": lambda x, out: out}, "one True"),
        ({"validate": -1}, "validate"),
        ({"oracle": lambda x, out: None}, "oracle=object"),
        ({"against": nn.Linear(2, 4).eval()}, "shape"),
        ({"data": None}, "data=inputs"),
        ({"against": nn.Linear(5, 3).eval()}, "against=RuntimeError"),
        ({"label": -1}, "label=-1"),
        ({"label": 1.5}, "label=1.5: expected a class between 0 and 2"),
        ({"label": 1.0}, "label=1.0"),
        ({"label": "1"}, "label='1'"),
        ({"label": True}, "label=True"),
        ({"layers": 3}, "layers=3"),
        ({"layers": ["0", 2]}, "a list of them"),
        ({"active": True}, "active=True"),
        ({"active": float("nan")}, "active=nan"),
        ({"active": "inf"}, "active=inf"),
        ({"active": None}, "active=None"),
        ({"measure": "dstar(power=101)"}, "at most 100"),
        ({"seed": "a"}, "seed='a'"),
        ({"batch_size": 0}, "batch_size=0"),
    ],
)
def test_mistakes(net, settings, message):
    with pytest.raises(BadInput, match=message):
        mutiny.locate(net, **{"data": (X, Y), **settings})


def test_neurons_that_are_never_active_on_a_failure_are_no_suspects():
    """Three of four neurons never speak."""
    net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3)).eval()
    with torch.no_grad():
        net[0].weight.zero_(), net[0].bias.copy_(torch.tensor([-1.0, 1.0, -1.0, -1.0]))
    found = mutiny.locate(net, k=3, data=(X, Y), by_class=True)
    assert [one.neuron for one in found.suspects] == [1]
    assert all(len(some) <= 1 for some in found.by_class.values())
    assert any("1 of 4 neurons is suspicious" in note for note in found.notes)
    assert [one.score for one in found.ranked(k=3)][1:] == [0, 0]  # a ranking of so many neurons holds so many
    silent = mutiny.locate(net, k=4, data=(X, Y), silent=True)
    assert {one.neuron for one in silent.suspects} == {0, 2, 3}
    with torch.no_grad():
        net[0].bias.fill_(-1)
    nobody = mutiny.locate(net, data=(X, Y))
    assert nobody.suspects == ()
    assert not any("lower k" in note for note in nobody.notes)


def test_layers_that_cannot_be_read_are_named():
    class Stacked(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.head = nn.LSTM(2, 5, 2, batch_first=True), nn.Linear(5, 3)

        def forward(self, x):
            return self.head(self.rnn(x)[0][:, -1])

    data = (torch.rand(30, 4, 2), np.arange(30) % 3)
    found = mutiny.locate(Stacked().eval(), data=data, validate=0)
    note = next(note for note in found.notes if "cannot be read" in note)
    left = set(found.subject.layers)
    assert "rnn" in note
    assert not any(f": {name}." in note for name in left)
    alone = mutiny.locate(Stacked().eval(), data=data, validate=0, layers=[*left])
    assert not any("cannot be read" in note for note in alone.notes)
    assert not any("cannot be read" in note for note in mutiny.locate(constant(1), data=(X, Y), validate=0).notes)


def test_only_the_first_of_several_originals():
    one, two = (mutiny.locate(toys.blob_subject(count), k=2, validate=0) for count in (1, 2))
    assert one.suspects == two.suspects
    assert any("2 originals; only the first" in note for note in two.to_json()["notes"])
    assert not any("originals" in note for note in one.notes)


def test_settings_tell_what_was_asked():
    found = mutiny.locate(constant(1), data=(X, Y), validate=0, by_class=True, layers="0")
    assert (found.settings["by_class"], found.settings["layers"]) == (True, ["0"])
    assert found.to_json()["settings"]["layout"] == "default"
