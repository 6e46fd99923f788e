"""Losses by name against their definitions, written out."""

import numpy as np
import pytest
import torch

from mutiny.core.errors import BadInput
from mutiny.subjects.tasks import Classification, Regression
from mutiny.subjects.training.losses import CLASSIFICATION, REGRESSION, loss_for

OUTPUTS = torch.tensor([[0.2, 1.5], [3.0, 0.1], [0.7, 0.7]])
WANTED = torch.tensor([[0.0, 1.0], [2.5, 0.4], [1.7, 0.2]])


def by_hand(name, outputs, wanted):
    """Means over all numbers, one at a time."""
    terms = {
        "mse": lambda o, w: (o - w) ** 2,
        "mae": lambda o, w: abs(o - w),
        "huber": lambda o, w: 0.5 * (o - w) ** 2 if abs(o - w) <= 1 else abs(o - w) - 0.5,
        "log_cosh": lambda o, w: np.log(np.cosh(o - w)),
        "mape": lambda o, w: 100 * abs(w - o) / max(abs(w), 1e-7),
        "msle": lambda o, w: (np.log1p(max(o, 1e-7)) - np.log1p(max(w, 1e-7))) ** 2,
        "poisson": lambda o, w: o - w * np.log(max(o, 1e-7)),
        "bce": lambda o, w: -(w * np.log(o) + (1 - w) * np.log(1 - o)),
    }
    pairs = zip(outputs.flatten().tolist(), wanted.flatten().tolist(), strict=True)
    return np.mean([terms[name](o, w) for o, w in pairs])


@pytest.mark.parametrize("name", REGRESSION)
def test_regression(name):
    found = loss_for(Regression(tolerance=0.1), OUTPUTS, name)(OUTPUTS, WANTED)
    assert float(found) == pytest.approx(by_hand(name, OUTPUTS, WANTED), rel=1e-4)


@pytest.mark.parametrize(
    "name", [name for name in CLASSIFICATION if name not in ("cross_entropy", "hinge", "squared_hinge")]
)
def test_classes_are_compared_as_probabilities(name):
    labels = torch.tensor([1, 0, 1])
    found = loss_for(Classification(2, outputs="logits"), OUTPUTS, name)(OUTPUTS, labels)
    one_hot = torch.eye(2)[labels]
    assert float(found) == pytest.approx(by_hand(name, OUTPUTS.softmax(1), one_hot), rel=1e-4)


def test_margins():
    labels = torch.tensor([1, 0, 1])
    gaps = [max(0, 1 - (1.5 - 0.2)), max(0, 1 - (3.0 - 0.1)), 1.0]
    task = Classification(2, outputs="logits")
    assert float(loss_for(task, OUTPUTS, "hinge")(OUTPUTS, labels)) == pytest.approx(np.mean(gaps) / 2)
    squared = [gap**2 for gap in gaps]
    assert float(loss_for(task, OUTPUTS, "squared_hinge")(OUTPUTS, labels)) == pytest.approx(np.mean(squared) / 2)


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_every_loss_has_gradients(name):
    outputs = OUTPUTS.clone().requires_grad_()
    loss_for(Classification(2, outputs="logits"), outputs.detach(), name)(outputs, torch.tensor([1, 0, 1])).backward()
    assert outputs.grad.isfinite().all()
    assert outputs.grad.abs().sum() > 0


def test_margins_are_not_for_regression():
    with pytest.raises(BadInput, match="for regression, one of mse"):
        loss_for(Regression(tolerance=0.1), OUTPUTS, "hinge")
