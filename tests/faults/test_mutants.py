import copy
import json
from dataclasses import replace

import pytest
import torch
from torch import nn

import mutiny
from mutiny.core.random import generator_for
from mutiny.core.records import FaultRecord
from mutiny.faults import OPERATORS
from mutiny.models import ModelState, ModelView
from zoo import make


@pytest.fixture
def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3)).eval()


@pytest.mark.parametrize("code", OPERATORS)
def test_copies_and_models_in_place_answer_the_same_and_the_model_is_untouched(net, code):
    x, before = torch.randn(20, 4), ModelState.of(net)
    for faulty in mutiny.mutants(net, code, inputs=x, count=3):
        with faulty.applied() as call, torch.no_grad():
            in_place = call(x)
        twin = faulty.copy()
        with torch.no_grad():
            torch.testing.assert_close(twin(x), in_place)
        shared = {t.data_ptr() for t in twin.state_dict().values()} & {t.data_ptr() for t in net.state_dict().values()}
        assert not shared
    assert before.difference(ModelState.of(net)) is None


def test_they_are_the_mutants_that_assess_evaluates(net):
    x = torch.randn(20, 4)
    operator = OPERATORS["GF"](ratio=0.3)
    view = ModelView.of(net, x)
    expected = [operator.patch(view, generator_for(7, "mutant", "GF", 0, repetition)) for repetition in range(3)]
    assert [faulty.patch for faulty in mutiny.mutants(net, "GF(ratio=0.3)", inputs=x, count=3, seed=7)] == expected


def test_faults_in_weights_give_a_model_of_the_same_class(net):
    (faulty,) = mutiny.mutants(net, "GF(ratio=0.5)", inputs=torch.randn(3, 4), count=1)
    twin = faulty.copy()
    assert type(twin) is type(net)
    assert twin.state_dict().keys() == net.state_dict().keys()
    assert any(not torch.equal(twin.state_dict()[name], value) for name, value in net.state_dict().items())


def test_copies_are_trained_and_pickled_like_other_modules(net):
    x = torch.randn(5, 4)
    (faulty,) = mutiny.mutants(net, "NEB(ratio=0.5)", inputs=x, count=1)
    twin = copy.deepcopy(faulty.copy())
    twin(x).sum().backward()
    assert all(parameter.grad is not None for parameter in twin.parameters())


def test_fewer_mutants_where_the_operator_cannot_make_more(net):
    assert len(mutiny.mutants(net, "LR", inputs=torch.randn(3, 4), count=30)) < 30


@pytest.mark.parametrize("name", ["transformer_tied", "lstm_bidirectional"])
def test_unusual_models(name):
    model, inputs = make(name)
    for faulty in mutiny.mutants(model, "WI(ratio=0.3)", inputs=inputs, count=2):
        with faulty.applied() as call, torch.no_grad():
            in_place = call(inputs)
        with torch.no_grad():
            torch.testing.assert_close(faulty.copy()(inputs), in_place, equal_nan=True)


def test_faults_of_an_assessment_are_made_again_of_the_original_they_are_in(net):
    x = torch.randn(300, 4)
    with torch.no_grad():
        y = net(x).argmax(1)
    twin = copy.deepcopy(net)
    with torch.no_grad():
        twin[0].weight += 0.1
    subject = mutiny.Subject(
        [net, twin], task=mutiny.Classification(3), validation=(x[:150], y[:150]), test=(x[150:], y[150:])
    )
    result = mutiny.assess(subject, "WI,NS,LA,AFR,NEB", seeds=3, seed=4)
    assert {fault.original for fault in result.faults} == {0, 1}
    assert max(fault.seed for fault in result.faults) > 0
    changed = result.changed
    for number, fault in enumerate(result.faults):
        original = subject.models[fault.original]
        faulty = mutiny.mutant(original, fault, inputs=x, seed=4)
        with torch.no_grad(), faulty.applied() as call:
            now = call(x[150:]).argmax(1) != y[150:]
        with torch.no_grad():
            before = original(x[150:]).argmax(1) != y[150:]
        mine = changed.fault == number
        expected = dict(zip(changed.position[mine].tolist(), changed.change[mine].tolist(), strict=True))
        difference = now.int() - before.int()
        assert {at: difference[at].item() for at in difference.nonzero().flatten().tolist()} == expected
    weights = next(fault for fault in result.faults if fault.original == 0 and fault.operator == "WI")
    for model, seed in ((twin, 4), (net, 0), (nn.Linear(4, 3).eval(), 4)):
        with pytest.raises(mutiny.BadInput, match=rf"a fault of this model under seed={seed}.*Give original number 0"):
            mutiny.mutant(model, weights, inputs=x, seed=seed)
    activation = next(fault for fault in result.faults if fault.operator == "AFR")
    with pytest.raises(mutiny.BadInput, match="a fault of this model"):  # nothing to remove
        mutiny.mutant(nn.Linear(4, 3).eval(), activation, inputs=x, seed=4)
    written = json.loads(json.dumps(result.to_json()))
    for fault in written["faults"]:
        assert len(fault.pop("patch")) == 64
    earlier = mutiny.Assessment.from_json(written).faults
    assert earlier == tuple(replace(fault, patch="") for fault in result.faults)
    assert mutiny.mutant(net, earlier[0], inputs=x, seed=4).patch.digest == result.faults[0].patch
    with pytest.raises(mutiny.BadInput, match=r"fault='WI': expected one of the faults of an assessment"):
        mutiny.mutant(net, "WI", inputs=x)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"operator": "WI,NI"}, "one operator"),
        ({"operator": "XX"}, "XX"),
        ({"count": 0}, "count=0"),
        ({"seed": -1}, "seed=-1"),
        ({"model": nn.Dropout()}, "model"),
    ],
)
def test_mistakes(net, settings, message):
    arguments = {"model": net, "operator": "WI", "inputs": torch.randn(3, 4), **settings}
    with pytest.raises(mutiny.BadInput, match=message):
        mutiny.mutants(arguments.pop("model"), arguments.pop("operator"), **arguments)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"inputs": torch.randn(3, 7)},
            r"model=RuntimeError: mat1 and mat2 .* a model that takes inputs such as",
        ),
        ({"forward": 3}, "forward=3: expected a function of model and inputs"),
        ({"configuration": "SF(ratio=0.3)"}, r"fault='SF\(ratio=0.3\)': expected one of WI"),
    ],
)
def test_mistakes_with_a_fault(net, settings, message):
    arguments = {"inputs": torch.randn(3, 4), "configuration": "WI", **settings}
    record = {"operator": "WI", "parameter": None, "strength": None, "original": 0, "seed": 0, "cost": 1.0}
    fault = FaultRecord(configuration=arguments.pop("configuration"), noticed=False, p_value=1.0, **record)
    with pytest.raises(mutiny.BadInput, match=message):
        mutiny.mutant(net, fault, **arguments)
