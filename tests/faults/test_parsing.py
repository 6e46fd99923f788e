"""Operators from text, and what the base class refuses."""

import json

import pytest

from mutiny.core.errors import BadInput
from mutiny.faults import ALL, GaussianFuzzing, LayerAddition, LayerRemoval, NeuronInhibitor, WeightInhibitor
from mutiny.faults.parsing import as_operators


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("WI", WeightInhibitor()),
        ("wi(factor=0.25)", WeightInhibitor(factor=0.25)),
        ("GF(clip=none)", GaussianFuzzing(clip="none")),
        ("GF(layers=none, search=ratio)", GaussianFuzzing(search="ratio")),
        ("NI(layers=conv*+fc.1, biases=TRUE)", NeuronInhibitor(layers=("conv*", "fc.1"), biases=True)),
        ("LR(layer=3)", LayerRemoval(layer="3")),
        ("LR(layer=none, inactive=true)", LayerRemoval(inactive=True)),
        ("LA(layer='0.conv', activation=relu)", LayerAddition(layer="0.conv", activation="relu")),
    ],
)
def test_text(text, expected):
    assert as_operators(text) == (expected,)
    assert as_operators([text, expected]) == (expected, expected)


def test_all_and_many():
    assert [operator.code for operator in as_operators(None)] == [kind.code for kind in ALL]
    assert [operator.code for operator in as_operators(" WI , NI(ratio=0.1, factor=1) ,GF")] == ["WI", "NI", "GF"]
    assert len(as_operators(["WI,NI", "GF"])) == 3


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("WX", "explains each"),
        ("NEBB", "Did you mean NEB"),
        ("", "at least one of"),
        ([], "at least one of"),
        ("WI,,NI", "codes with optional parameters"),
        ("WI(factor)", "name=value"),
        ("WI(power=2)", "a name among ratio, factor"),
        ("WI(factor=much)", "WI factor='much': expected a number"),
        ("WI(biases=1)", "true or false"),
        ("WI(factor=2)", "a number between 0 and 1"),
        ("WI(search=layers)", "one of factor, ratio"),
        ("NI(direction=up)", "one of outgoing, incoming"),
        ("GF(clip=all)", "one of mutated, layer, none"),
        ([3], "codes such as 'WI'"),
    ],
)
def test_refused(wanted, message):
    with pytest.raises(BadInput, match=message):
        as_operators(wanted)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.code)
def test_parameters_and_strength(kind):
    operator = kind()
    assert kind(**json.loads(json.dumps(operator.parameters()))) == operator
    assert operator.at(None) is operator
    if operator.strength is None:
        with pytest.raises(BadInput, match="an operator with a strength"):
            _ = operator.bounds
        return
    for name in operator.tunable:
        for bad in (True, "0.5", None, float("nan"), -0.1, 1.1):
            with pytest.raises(BadInput, match=f"{kind.code} {name}="):
                kind(**{name: bad})
    assert getattr(operator.at(0.125), operator.strength) == 0.125
    assert operator.at(1) == operator.at(1.0)
