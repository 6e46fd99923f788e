"""Faults in the modules themselves: whoever calls the model, a part of it, or a copy of it meets them."""

import copy
import threading

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import toys
from mutiny import OPERATORS, mutants
from mutiny.core.errors import NotApplicable
from mutiny.core.random import generator_for
from mutiny.faults.mutants import FaultyModel
from mutiny.faults.parsing import as_operators
from mutiny.models import ModelView
from mutiny.models.forward import default_forward
from mutiny.models.snapshot import ModelSnapshot
from mutiny.models.state import ModelState
from zoo import ZOO, make


def versions_of(name):
    model, inputs = make(name)
    found = []
    for code in OPERATORS:
        try:
            found += patched(model, inputs, code)
        except NotApplicable:
            continue
    return model, inputs, found


def patched(model, inputs, code):
    view = ModelView.of(model, inputs)
    (operator,) = as_operators(code)
    patch = operator.patch(view, generator_for(0, "in place", code))
    return [FaultyModel(model, patch, activations=tuple(call.path for call in view.activations))]


@pytest.mark.parametrize("name", ZOO)
def test_the_model_itself_and_a_copy_answer_as_the_patched_forward_pass(name):
    model, inputs, faults = versions_of(name)
    before = ModelState.of(model)
    assert faults
    for faulty in faults:
        with torch.no_grad():
            with faulty.applied() as call:
                wanted = call(inputs)
            with faulty.in_place() as same:
                assert same is model
                found, copied = default_forward(model, inputs), default_forward(copy.deepcopy(model), inputs)
        assert torch.equal(found, wanted)
        assert torch.equal(copied, wanted)
        assert before == ModelState.of(model)


class Parts(nn.Module):
    """A network whose parts are useful on their own."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 6), nn.ReLU())
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.body(x))


@pytest.mark.parametrize("code", ["AFR", "NEB(ratio=0.5)", "NAI(ratio=0.5)", "GF", "LA"])
def test_parts_called_one_by_one_have_the_fault(code):
    torch.manual_seed(0)
    model, x = Parts().eval(), torch.randn(20, 4)
    for faulty in mutants(model, code, inputs=x, count=5):
        with torch.no_grad(), faulty.in_place():
            assert torch.equal(model.head(model.body(x)), model(x))
            assert torch.equal(model.forward(x), model(x))


def test_each_thread_has_passes_of_its_own():
    torch.manual_seed(0)
    model, x = Parts().eval(), torch.randn(200, 4)
    (faulty,) = mutants(model, "NEB(ratio=0.5)", inputs=x, count=1)
    found = []
    with faulty.in_place():
        wanted = model(x)
        threads = [threading.Thread(target=lambda: found.append(model(x))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 8
    assert all(torch.equal(answer, wanted) for answer in found)


def train(model):
    model.train()
    F.cross_entropy(model(torch.randn(8, 2)), torch.zeros(8, dtype=torch.long)).backward()
    torch.optim.SGD(model.parameters(), 0.1).step()


def replace_weight(model):
    model[0].weight = nn.Parameter(torch.zeros(12, 2))


DISTURBANCES = {
    "nothing": lambda model: None,
    "mutation": lambda model: model[0].weight.data.add_(1),
    "training": train,
    "half": lambda model: model.half(),
    "double": lambda model: model.double(),
    "mode": lambda model: model.train(),
    "reload": lambda model: model.load_state_dict(toys.classifier(2).state_dict()),
    "assigned reload": lambda model: model.load_state_dict(toys.classifier(2).state_dict(), assign=True),
    "hook": lambda model: model[0].register_forward_hook(lambda module, args, output: output * 2),
    "new parameter": replace_weight,
    "new module": lambda model: model.__setitem__(1, nn.Tanh()),
    "more modules": lambda model: model.append(nn.Softmax(1)),
    "forward": lambda model: setattr(model, "forward", lambda x: x),
    "frozen": lambda model: model.requires_grad_(False),
    "attribute": lambda model: setattr(model, "note", 3),
    "pruning": lambda model: nn.utils.prune.l1_unstructured(model[0], "weight", 0.5),
}
HARMLESS = ("nothing", "frozen", "attribute")


@pytest.mark.parametrize("what", DISTURBANCES)
@pytest.mark.parametrize("code", ["GF", "NEB", "AFR", "LA"])
def test_the_model_is_restored_whatever_was_done_to_it(what, code):
    model = toys.classifier()
    x = toys.blobs()[0]
    before, clean = ModelState.of(model), model(x)
    (faulty,) = mutants(model, code, inputs=x, count=1)

    def disturb():
        snapshot, wrong = ModelSnapshot(model), model(x)
        DISTURBANCES[what](model)
        assert (snapshot.changed() is None) == (what in HARMLESS)
        snapshot.restore()  # as between two tests: the fault is still there
        assert snapshot.changed() is None
        assert torch.equal(model(x), wrong)
        DISTURBANCES[what](model)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), faulty.in_place():
        disturb()
    assert before == ModelState.of(model)
    assert torch.equal(model(x), clean)


def test_a_changed_sign_of_zero_is_a_change_and_nan_is_equal_to_itself():
    model = nn.BatchNorm1d(3)
    model.running_mean.copy_(torch.tensor([0.0, torch.nan, 1.0]))
    snapshot = ModelSnapshot(model)
    assert snapshot.changed() is None
    model.running_mean[0] = -0.0
    assert snapshot.changed() == "running_mean"


def test_gradients_are_restored():
    model = toys.classifier()
    model(toys.blobs()[0]).sum().backward()
    before = ModelState.of(model)
    snapshot = ModelSnapshot(model)
    model(toys.blobs()[0]).sum().backward()
    assert snapshot.changed() is None
    snapshot.restore()
    assert before == ModelState.of(model)
