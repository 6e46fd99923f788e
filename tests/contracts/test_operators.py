"""Every operator, with every option, keeps its contract on every model of the zoo."""

import pytest

from mutiny.faults import ALL, OPERATORS
from mutiny.faults.parsing import as_operators
from mutiny.testing.operators import check_operator
from zoo import ZOO, make

DEFAULTS = [kind() for kind in ALL]
OPTIONS = as_operators(
    "WI(biases=true, search=ratio), WI(ratio=1, output_layer=false), GF(clip=layer, ratio=0.3), "
    "GF(clip=none, biases=true, search=ratio), NI(direction=incoming, biases=true, ratio=0.3), "
    "NI(search=ratio, factor=1, output_layer=true), NEB(direction=incoming, biases=false), NEB(output_layer=true), "
    "NAI(direction=outgoing), NAI(biases=false, output_layer=false), NS(biases=false), NS(output_layer=false), "
    "WS(output_layer=false), LR(inactive=true), LD(inactive=true), LA(activation=tanh)"
)


def idle(operator, name):
    """Where even strong patches change nothing: dropout is all that can be removed."""
    return operator.code in ("LR", "LD") and operator.inactive and name == "lenet_modules"


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("operator", [*DEFAULTS, *OPTIONS], ids=str)
def test_contract(operator, name):
    model, inputs = make(name)
    check_operator(operator, model, inputs, must_change=not idle(operator, name))


def test_codes_are_unique():
    assert len(OPERATORS) == len(ALL)
