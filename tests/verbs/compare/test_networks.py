"""Networks of all kinds against each other, and what cannot be compared."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

import mutiny
import toys
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import BadInput
from mutiny.models import ModelState
from mutiny.models.foreign_network import ForeignNetwork

X, Y = toys.blobs(600, seed=1)


def subject(model=None, **more):
    return toys.blob_subject(1, **{"models": model or toys.classifier(), "test": (X, Y), "name": "blobs", **more})


def spoilt(seed=0):
    """A network that loses a lot."""
    model = toys.classifier(seed)
    with torch.no_grad():
        model[0].weight[0:4] *= -1
    return model


def program(model):
    return torch.export.export(model, (X[:4],), dynamic_shapes=({0: torch.export.Dim("n")},))


COPIES = {
    "a copy": (copy.deepcopy, "network"),
    "TorchScript": (lambda model: torch.jit.trace(model, X[:4]), "outputs"),
    "an exported program": (program, "outputs"),
    "a function of arrays": (lambda model: lambda x: model(x).detach().numpy(), "outputs"),
    "another class": (lambda model: nn.Sequential(model).eval(), "outputs"),
    "a subject": (lambda model: subject(copy.deepcopy(model)), "network"),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_in_any_form_is_the_same(name):
    convert, same = COPIES[name]
    model = toys.classifier()
    before = ModelState.of(model)
    found = mutiny.compare(subject(model), convert(model), margin="2pt")
    assert (found.same, found.verdict) == (same, "equivalent")
    assert (found.flips.broken, found.flips.repaired, found.flips.other) == (0, 0, 0)
    assert ModelState.of(model) == before


def test_flips_are_those_of_a_slow_loop():
    model, other = toys.classifier(), spoilt()
    found = mutiny.compare(subject(model), other)
    said = [[int(net(row[None]).argmax()) for row in X] for net in (model, other)]
    right = [[answer == target for answer, target in zip(answers, Y.tolist(), strict=True)] for answers in said]
    assert found.flips.broken == sum(a and not b for a, b in zip(*right, strict=True))
    assert found.flips.repaired == sum(b and not a for a, b in zip(*right, strict=True))
    assert found.verdict == "worse"
    assert found.sentence.startswith("B is worse than A: it loses ")
    first = found.changed[0]
    assert (first.before, first.after) == (str(said[0][int(first.id)]), str(said[1][int(first.id)]))
    assert first.size < 0


def test_a_model_with_data_is_compared_like_a_subject():
    alone = mutiny.compare(toys.classifier(), spoilt(), data=(X, Y))
    assert alone.difference == mutiny.compare(subject(), spoilt()).difference
    assert alone.subject.name == "Sequential"


def test_regression_compares_losses():
    given = toys.line_subject(1, test=toys.line(300, seed=1))
    worse = copy.deepcopy(given.models[0])
    with torch.no_grad():
        worse[2].bias += 0.2
    found = mutiny.compare(given, worse)
    assert (found.verdict, found.unit, found.higher_is_better) == ("worse", "mse", False)
    x, y = toys.line(300, seed=1)
    losses = [((net(x) - y) ** 2).mean().item() for net in (given.models[0], worse)]
    assert found.difference.value == pytest.approx(losses[1] - losses[0], rel=1e-4)
    assert "which is worse" in found.sentence


def test_answers_recorded_elsewhere_are_compared_with_a_network():
    said = toys.classifier()(X).argmax(1).numpy()
    recorded = {"id": range(600), "answer": said, "target": Y.numpy()}
    assert mutiny.compare(subject(), recorded, margin="2pt").same == "answers"


def test_the_same_call_is_recalled_and_a_function_is_asked_again(tmp_path):
    calls = []

    def remote(x):
        calls.append(len(x))
        return toys.classifier()(x)

    first = mutiny.compare(subject(), spoilt(), store=tmp_path / "s.mutiny")
    assert mutiny.compare(subject(), spoilt(), store=tmp_path / "s.mutiny").seconds == first.seconds
    mutiny.compare(subject(), remote, store=tmp_path / "s.mutiny")
    asked = len(calls)
    mutiny.compare(subject(), remote, store=tmp_path / "s.mutiny")
    assert len(calls) == 2 * asked
    with SqliteStore(tmp_path / "s.mutiny", write=False) as store:
        assert {campaign.verb for campaign in store.campaigns()} == {"compare"}


def test_only_the_first_original_is_compared():
    found = mutiny.compare(toys.blob_subject(3), toys.blob_subject(2))
    assert found.notes == (
        "A: The subject has 3 originals; only the first was compared.",
        "B: The subject has 2 originals; only the first was compared.",
    )
    assert found.same == "network"


def test_answers_that_are_not_numbers_are_wrong():
    def broken(x):
        outputs = toys.classifier()(x).detach().clone()
        outputs[::2] = torch.nan
        return outputs

    found = mutiny.compare(subject(), broken)
    assert found.verdict == "worse"
    assert "NaN" in {change.after for change in found.changed}


class Forgetful(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = toys.classifier()
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        self.seen += 1
        return self.net(x)


def narrow(classes):
    return nn.Linear(2, classes).eval()


WRONG = {
    "training mode": (
        lambda: spoilt().train(),
        {},
        "b=Sequential in training mode: expected a model in evaluation mode",
    ),
    "other classes": (lambda: narrow(5), {}, r"output of b=shape \(.*, 5\): expected \(n, 3\), as A gives"),
    "other inputs": (lambda: nn.Linear(7, 3).eval(), {}, "b=RuntimeError: .*: expected a model that takes inputs"),
    "a subject with other classes": (
        lambda: toys.blob_subject(1, classes=4),
        {},
        r"b=a subject with the task Classification\(classes=4.*\): expected Classification\(classes=3",
    ),
    "another test set": (lambda: toys.blob_subject(1), {}, "b=subject with 120 other test inputs or targets: expected"),
    "a class": (lambda: Forgetful, {}, "b=the class Forgetful: expected a network with its weights"),
    "a network that changes itself": (lambda: Forgetful().eval(), {}, "b=a network whose forward pass changes it"),
    "a name": (lambda: "digits", {}, "b='digits': expected a subject, a network"),
    "a direction": (spoilt, {"higher_is_better": True}, "higher_is_better=True: expected no direction"),
    "a task beside a subject": (spoilt, {"task": mutiny.Classification(3)}, "task=given with a Subject"),
    "a missing ONNX file": (lambda: "none.onnx", {}, "b=none.onnx: expected a file that exists"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_compared_is_refused_in_a_sentence(name):
    other, more, message = WRONG[name]
    with pytest.raises(BadInput, match=f"^{message}"):
        mutiny.compare(subject(), other(), **more)


def test_infinite_losses_are_refused_with_the_input():
    given = toys.line_subject(1)

    def broken(x):
        outputs = given.models[0](x).detach().clone()
        outputs[-1] = torch.inf
        return outputs

    with pytest.raises(BadInput, match="output of b=mse of inf for input"):
        mutiny.compare(given, broken)


def test_unknown_labels_are_refused():
    with pytest.raises(BadInput, match="data=600 of 600 labels unknown"):
        mutiny.compare(toys.classifier(), spoilt(), data=X)


def test_a_model_without_data_is_refused():
    with pytest.raises(BadInput, match="data=None: expected inputs for the model"):
        mutiny.compare(toys.classifier(), spoilt())


class Session:
    """What an ONNX Runtime session looks like, with batches of one size."""

    __module__ = "onnxruntime.capi.made_up"

    def get_inputs(self):
        return [type("Input", (), {"name": "x", "shape": [256, 2], "type": "tensor(float)"})()]

    def run(self, names, feed):
        (array,) = feed.values()
        assert array.shape == (256, 2)
        assert array.dtype == np.float32
        with torch.no_grad():
            return [toys.classifier()(torch.from_numpy(array)).numpy()]


def test_a_session_with_batches_of_one_size_is_given_such_batches():
    found = mutiny.compare(subject(), Session(), margin="2pt")
    assert (found.verdict, found.flips.broken) == ("equivalent", 0)


@pytest.mark.filterwarnings("ignore")  # of torch's exporter
def test_a_real_export_runs_in_onnx_runtime(tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    file = tmp_path / "net.onnx"
    torch.onnx.export(toys.classifier(), (X[:4],), file, dynamo=True)
    assert mutiny.compare(subject(), str(file), margin="2pt").verdict == "equivalent"


def test_arrays_become_tensors():
    assert ForeignNetwork(lambda x: [np.ones((2, 3)), None])(X[:2]).shape == (2, 3)
    assert ForeignNetwork(lambda x: [[1.0, 2.0]])(X[:1]).tolist() == [[1.0, 2.0]]
