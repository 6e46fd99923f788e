"""Carlini and Wagner: the nearest input is found, against the answer of geometry."""

import pytest
import torch
from torch import nn

import toys
from mutiny.core.errors import BadInput
from mutiny.verbs.attack.carlini import Carlini
from mutiny.verbs.attack.ensemble import Ensemble

pytestmark = pytest.mark.rounding


def plane(weight, bias=0.0):
    """Class 1 where ``weight x + bias`` is above 0."""
    model = nn.Linear(len(weight), 2).double().eval()
    with torch.no_grad():
        model.weight.copy_(torch.stack([torch.zeros(len(weight)), torch.tensor(weight)]))
        model.bias.copy_(torch.tensor([0.0, bias]))
    return model


def test_the_nearest_point_of_a_plane_is_found():
    model = plane([3.0, -4.0], 0.2)
    x = torch.rand(40, 2, generator=torch.Generator().manual_seed(0)).double() * 0.6 + 0.2
    labels = model(x).argmax(1)
    exact = (x @ model.weight[1] + 0.2).abs().detach() / 5
    found = Carlini(iterations=150, rate=0.02, searches=10).nearest(Ensemble(model, []), x, labels, 0.0, 1.0)
    assert found.success.all()
    assert (found.distance >= exact - 1e-9).all()
    assert (found.distance <= 1.05 * exact + 2e-3).all()
    torch.testing.assert_close((found.inputs - x).norm(dim=1), found.distance)
    assert (model(found.inputs).argmax(1) != labels).all()
    assert found.inputs.min() >= 0
    assert found.inputs.max() <= 1


def test_what_cannot_be_done_is_not_claimed():
    model = plane([1.0, 1.0], 5.0)  # class 1 everywhere in the range
    x = torch.rand(5, 2).double()
    found = Carlini(iterations=20, searches=4).nearest(Ensemble(model, []), x, torch.ones(5).long(), 0.0, 1.0)
    assert not found.success.any()
    assert found.distance.isinf().all()
    assert torch.equal(found.inputs, x)


def test_inputs_that_are_wrong_already_need_not_move():
    model = plane([1.0, -1.0])
    x = torch.tensor([[0.9, 0.1]]).double()
    found = Carlini(iterations=30, searches=4).nearest(Ensemble(model, []), x, torch.tensor([0]), 0.0, 1.0)
    assert found.success.all()
    assert found.distance[0] < 1e-3


def test_confidence_asks_for_a_lead():
    model, (x, y) = toys.classifier().double(), toys.blobs(30)
    x = x.double()
    for confidence in (0.0, 2.0):
        found = Carlini(confidence=confidence, iterations=40, searches=6).nearest(Ensemble(model, []), x, y, -5.0, 5.0)
        said = model(found.inputs)[found.success]
        label = y[found.success]
        lead = said.scatter(1, label[:, None], -torch.inf).amax(1) - said.gather(1, label[:, None])[:, 0]
        assert found.success.sum() > 20
        assert (lead >= confidence - 1e-9).all()


def test_batches_do_not_matter():
    model, (x, y) = toys.classifier().double(), toys.blobs(12)
    x, way = x.double(), Carlini(iterations=30, searches=4)
    whole = way.nearest(Ensemble(model, []), x, y, -5.0, 5.0)
    parts = [way.nearest(Ensemble(model, []), x[at : at + 5], y[at : at + 5], -5.0, 5.0) for at in range(0, 12, 5)]
    torch.testing.assert_close(whole.inputs, torch.cat([part.inputs for part in parts]))
    torch.testing.assert_close(whole.distance, torch.cat([part.distance for part in parts]))
    assert whole.passes == sum(part.passes for part in parts)


def test_inputs_that_no_longer_get_better_are_left_alone():
    model, (x, y) = toys.classifier().double(), toys.blobs(40)
    found = Carlini(iterations=120, searches=4).nearest(Ensemble(model, []), x.double(), y, -5.0, 5.0)
    assert found.passes < 40 * 120 * 4


class Rounded(nn.Module):
    """Logits in halves, so that classes are often level."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        said = self.model(x)
        return said + ((2 * said).round() / 2 - said).detach()


def test_classes_that_are_level_are_no_success():
    model, (x, y) = Rounded(toys.classifier()).eval(), toys.blobs(40)
    y = model(x).argmax(1)
    found = Carlini(iterations=40, searches=6).nearest(Ensemble(model, []), x, y, -5.0, 5.0)
    assert found.success.sum() > 30
    assert torch.equal(found.success, model(found.inputs).argmax(1) != y)


@pytest.mark.parametrize("settings", [{"iterations": 0}, {"rate": 0}, {"searches": 1.5}, {"confidence": -1}])
def test_mistakes(settings):
    with pytest.raises(BadInput):
        Carlini(**settings)


def test_a_weight_that_is_too_large_is_searched_down():
    """Too large a weight of the loss overshoots; halving it towards the least that works comes nearer."""
    model = plane([3.0, -4.0], 0.2)
    x = torch.rand(40, 2, generator=torch.Generator().manual_seed(0)).double() * 0.6 + 0.2
    labels = model(x).argmax(1)
    once, often = (
        Carlini(iterations=30, rate=0.02, constant=100.0, searches=searches)
        .nearest(Ensemble(model, []), x, labels, 0.0, 1.0)
        .distance
        for searches in (1, 12)
    )
    assert (often <= once).all()
    assert often.median() < 0.95 * once.median()
