"""Which mutants are made, which are refused, and what they are called."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

import toys
from mutiny.core.errors import BadInput
from mutiny.faults import OPERATORS
from mutiny.models import ModelState, ModelView
from mutiny.verbs.attack.attack import attack
from mutiny.verbs.attack.mutants import CODES, Choice, chosen


class Case:
    """A network with layers that keep their shape, and a way to look at mutants of it that may find fault."""

    def __init__(self, faults=lambda number: False):
        torch.manual_seed(0)
        self.model = nn.Sequential(
            nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 3)
        ).eval()
        self.x = torch.rand(30, 2)
        self.view = ModelView.of(self.model, self.x[:2])
        self.faults, self.looked = faults, 0

    def look(self, patch):
        with patch.applied(self.model) as call, torch.inference_mode():
            said = call(self.x)
        self.looked += 1
        return said, np.nan if self.faults(self.looked) else 0.5

    def chosen(self, **settings):
        return chosen(self.view, Choice(**settings), self.look, seed=0)


def test_mutants_without_finite_outputs_are_refused():
    case = Case(faults=lambda number: number % 2 == 0)
    assert len(case.chosen(count=3, kind="random")) == 3
    assert case.looked == 7  # at the original, and at every second mutant in vain
    with pytest.raises(BadInput, match="mutants with finite outputs"):
        Case(faults=lambda number: number > 1).chosen(count=3)


def test_a_model_without_finite_outputs_has_no_mutants():
    with pytest.raises(BadInput, match="a model with finite outputs"):
        Case(faults=lambda number: True).chosen(count=3)


@pytest.mark.parametrize("code", OPERATORS)
def test_every_operator_makes_mutants(code):
    case = Case()
    state = ModelState.of(case.model)
    made = case.chosen(count=2, iterations=4, operators=(code,), ratios=(0.5,))
    assert [str(mutant.spec) for mutant in made] == [code if code in ("LR", "LA", "LD", "AFR") else f"{code} 50%"] * 2
    assert state == ModelState.of(case.model)


def test_operators_are_equally_likely_with_a_ratio_or_without():
    pairs = Choice(operators=("GF", "LR"), ratios=(0.1, 0.2)).pairs()
    assert pairs == [("GF", 0.1), ("GF", 0.2), ("LR", None), ("LR", None)]


def test_operators_have_parameters_and_mixed_case_as_in_other_verbs(monkeypatch):
    @dataclass(frozen=True)
    class Mixed(OPERATORS["GF"]):
        code = "Sfx"

    monkeypatch.setitem(vars(OPERATORS), "_installed", ({"Sfx": Mixed}, ()))
    assert Choice(operators="gf(sd=0.1, clip=mutated), Sfx").operators == ("GF(sd=0.1)", "Sfx")
    case = Case()
    made = case.chosen(count=6, kind="random", operators=["gf(sd=0.1)", "sfx"], ratios=0.5)
    assert {str(mutant.spec) for mutant in made} == {"GF(sd=0.1) 50%", "Sfx 50%"}
    assert all(mutant.spec.patch(case.view, 0) == mutant.patch for mutant in made)
    assert {mutant.operator.sd for mutant in made} == {0.1, 0.5}


def test_layers_that_are_removed_attack_too():
    x, y = toys.blobs(60)
    model = Case().model
    found = attack(
        model,
        "pgd(iterations=2)",
        0.1,
        data=(x, y),
        low=-9,
        high=9,
        mutants=Choice(count=2, iterations=3, operators=("AFR", "LR")),
    )
    assert set(found.mutants) <= {"AFR", "LR"}


def test_as_many_are_made_as_are_wanted():
    assert Choice(count=60).iterations == 60
    assert len(Case().chosen(count=52)) == 52


def test_names_and_numbers_as_people_write_them():
    assert Choice(operators="gf, ns", ratios=0.015) == Choice(operators=("GF", "NS"), ratios=(0.015,))
    assert [str(mutant.spec) for mutant in Case().chosen(count=1, operators="ns", ratios=0.015)] == ["NS 1.5%"]
    assert Choice().operators == CODES


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"operators": "QQ"}, "operators='QQ': expected one of WI"),
        (
            {"operators": "TCL"},
            "operators='TCL': expected operators on trained models. TCL is an operator before training",
        ),
        (
            {"operators": "GF(ratio=0.05)"},
            r"operators='GF\(ratio=0.05\)': expected operators without a ratio",
        ),
        ({"operators": ()}, "at least one of WI"),
        ({"operators": 5}, "codes such as GF"),
        ({"operators": None}, "codes such as GF"),
        ({"ratios": ()}, "shares above 0"),
        ({"ratios": "a"}, "shares above 0"),
        ({"ratios": (0.1, 2)}, "shares above 0"),
        ({"floor": "a"}, "between 0 and 1"),
        ({"floor": float("nan")}, "between 0 and 1"),
        ({"iterations": 0}, "iterations=0"),
        ({"count": True}, "mutants=True"),
    ],
)
def test_mistakes(settings, message):
    with pytest.raises(BadInput, match=message):
        Choice(**settings)
