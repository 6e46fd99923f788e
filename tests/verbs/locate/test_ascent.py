"""Ranges come from the data, and the distance holds whatever the range or a projection wants."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import mutiny
import toys
from mutiny.core.errors import BadInput
from mutiny.subjects.data import as_data
from mutiny.subjects.data.balls import NORMS, distances
from mutiny.verbs.locate.ascent import Ascent, span, usual

pytestmark = pytest.mark.rounding

X, Y = toys.blobs(120, seed=1)


@pytest.fixture(scope="module")
def found():
    return mutiny.locate(toys.classifier(), k=3, data=(X, Y), validate=0)


def test_the_range_is_that_of_the_data_unless_stated(found):
    """Blobs lie around 0, as standardized inputs do: a range of 0 to 1 would destroy them."""
    new = mutiny.synthesize(toys.classifier(), found, 50, ascent=Ascent(step=1, distance=0.1), data=(X, Y))
    assert new.distances["linf"].max() <= 0.1 + 1e-6
    assert new.inputs.min() < -1
    assert X.min() <= new.inputs.min() <= new.inputs.max() <= X.max()
    half = Ascent(low=None).fitted(as_data((X, Y), "test"))
    assert (half.low, half.high) == (None, X.max().item())
    with pytest.raises(BadInput, match="low=100"):
        Ascent(low=100).fitted(as_data((X, Y), "test"))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("project", [None, lambda x: torch.round(x) + 3, lambda x: x.double() * 0])
def test_the_distance_holds_outside_the_range_and_after_a_projection(norm, project):
    ascent = Ascent(step=5, distance=0.3, norm=norm, low=0, high=1, project=project)
    draw = torch.Generator().manual_seed(0)
    start, slope = (torch.randn(20, 1, 3, 2, generator=draw) * 3 for _ in range(2))
    now = start
    for _ in range(3):
        now = ascent.moved(start, now, slope)
        assert now.dtype == start.dtype
        assert distances(start, now)[norm].max() <= 0.3 + 1e-5


def test_what_is_near_enough_stays_bit_by_bit():
    ascent = Ascent(step=1, distance=0.9, low=0, high=1, project=lambda x: (x * 255).round() / 255)
    start = torch.rand(30, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    new = ascent.moved(start, start, torch.full_like(start, 0.01))
    assert torch.equal(new, ((start + 0.01).clamp(0, 1) * 255).round() / 255)


@pytest.mark.parametrize("norm", NORMS)
def test_whole_numbers_among_inputs_stay(norm):
    start = {"ids": torch.arange(6).reshape(3, 2), "x": torch.rand(3, 2)}
    new = Ascent(norm=norm, low=0, high=1).moved(start, start, {"ids": start["ids"] * 0, "x": torch.ones(3, 2)})
    assert torch.equal(new["ids"], start["ids"])
    assert new["ids"].dtype == torch.int64


@pytest.mark.parametrize("project", [lambda x: None, lambda x: x[1:], lambda x: (x, x), lambda x: x.numpy()])
def test_projections_keep_the_form(project):
    with pytest.raises(BadInput, match="project=a function that returns"):
        Ascent(low=0, high=1, project=project).moved(X, X, X)


def test_data_without_a_range():
    flat = as_data((torch.full((6, 2), -1.0), np.arange(6) % 3), "test")
    for ask in (usual, Ascent().fitted):
        with pytest.raises(BadInput, match="inputs=-1 everywhere"):
            ask(flat)
    with pytest.raises(BadInput, match="inputs=whole numbers"):
        span(as_data((torch.arange(12).reshape(6, 2), np.arange(6) % 3), "test"))


class Deaf(nn.Module):
    """A network through which no gradient flows."""

    def __init__(self, deafen):
        super().__init__()
        self.net, self.deafen = toys.classifier(), deafen

    def forward(self, x):
        with torch.no_grad() if self.deafen == "no_grad" else torch.enable_grad():
            return self.net(x.detach() if self.deafen == "detach" else x)


@pytest.mark.parametrize("deafen", ["no_grad", "detach"])
@pytest.mark.parametrize("scale", ["none", "rms"])
def test_networks_without_gradients_get_a_sentence(deafen, scale):
    model = Deaf(deafen).eval()
    blamed = mutiny.locate(model, k=2, data=(X, Y), validate=0)
    with pytest.raises(BadInput, match=r"model=no gradient for net\.0"):
        mutiny.synthesize(model, blamed, 5, data=(X, Y), ascent=scale)


@pytest.mark.parametrize("wrong", ["abc", None, 3, [3], "one"])
def test_what_are_no_suspects(found, wrong):
    with pytest.raises(BadInput, match="suspects="):
        mutiny.synthesize(toys.classifier(), found.suspects[0] if wrong == "one" else wrong, data=(X, Y))


@pytest.mark.parametrize("neuron", [99, -1])
def test_neurons_that_the_model_does_not_have(found, neuron):
    with pytest.raises(BadInput, match="a neuron between 0 and 11"):
        mutiny.synthesize(toys.classifier(), [replace(found.suspects[0], neuron=neuron)], data=(X, Y))
