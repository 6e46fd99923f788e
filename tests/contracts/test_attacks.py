"""Every attack, with its options, keeps its contract on models of several shapes, with and without mutants."""

import pytest
import torch
from torch import nn

from mutiny.testing.attacks import check_attack
from mutiny.verbs.attack.methods import ATTACKS, as_attack, as_attacks
from mutiny.verbs.attack.pgd import Pgd

QUICK = {
    "pgd": "pgd(iterations=4)",
    "fgsm": "fgsm",
    "carlini": "carlini(iterations=6, searches=2, constant=10)",
    "autoattack": "autoattack(iterations=3, restarts=1, queries=5)",
}
OPTIONS = [
    "pgd(norm=l2, iterations=4)",
    "pgd(norm=l2, iterations=3, restarts=2, random_start=true, momentum=0.9)",
    "fgsm(norm=l2, restarts=3, loss=both)",
]
SHAPELESS = [
    "pgd(iterations=3, restarts=3, random_start=true)",
    "pgd(iterations=3, step=0.05, loss=margin)",
    "pgd(iterations=3, restarts=4, loss=both)",
    "carlini(confidence=0.1, iterations=6, searches=2, constant=10)",
]
"""Options that treat every number of an input alike, whatever its shape."""
EPS = {"linf": 0.3, "l2": 1.5}


def dense():
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)), (6,)


def images():
    layers = [nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 3)]
    return nn.Sequential(*layers), (1, 6, 6)


def case(build, low=-1.0, high=2.0, count=12):
    """A model and inputs, some of them at the ends of their range."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model, shape = build()
        inputs = (low + (high - low) * (1.2 * torch.rand(count, *shape) - 0.1)).clamp(low, high)
    return model.eval(), inputs, {"low": low, "high": high}


EACH = [(QUICK.get(code, code), build) for code in ATTACKS for build in (dense, images)]
EACH += [(text, build) for text in OPTIONS for build in (dense, images)]
EACH += [(text, dense) for text in SHAPELESS]


@pytest.mark.parametrize(("text", "build"), EACH)
def test_contract(text, build):
    attack = as_attack(text)
    if attack.code == "autoattack":
        pytest.importorskip("art")
    model, inputs, limits = case(build)
    eps = EPS[getattr(attack, "norm", "linf")]
    check_attack(attack, model, inputs, eps=eps, **limits, by_input=attack.code != "autoattack")


def test_other_labels_and_a_distance_too_small_to_fool():
    model, inputs, limits = case(dense)
    labels = torch.arange(len(inputs)) % 3
    check_attack(Pgd(iterations=3), model, inputs, labels, eps=1e-7, **limits, must_fool=False)


def test_codes_are_unique_and_attacks_are_documented():
    for code, kind in ATTACKS.items():
        assert kind.code == code
        assert kind.__doc__
        assert as_attacks(code) == (kind(),)
