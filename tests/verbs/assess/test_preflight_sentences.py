"""What is told about a network that a constant answer beats."""

import numpy as np
import pytest
import torch
from torch import nn

import mutiny


@pytest.mark.parametrize(
    ("bias", "told"),
    [
        (2.0, r"models\[0\]=its mse falls by [\d.]+% if all weights are zero: expected a rise of at least 80%\. Use"),
        (0.5, r"models\[0\]=its mse rises by only [\d.]+% if all weights are zero: expected a rise of at least 80%\."),
    ],
)
def test_a_regression_that_is_hardly_better_than_zero(bias, told):
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(600, 2)).astype("float32"), generator.normal(0.4, 1, (600, 1)).astype("float32")
    net = nn.Linear(2, 1).eval()
    with torch.no_grad():
        net.weight.zero_()
        net.bias.fill_(bias)
    sets = {"data": (x[:300], y[:300]), "validation": (x[300:], y[300:])}
    with pytest.raises(mutiny.BadInput, match=told):
        mutiny.assess(net, "GF", task=mutiny.Regression(tolerance=0.5), seeds=1, **sets)


def test_an_output_without_a_task_asks_for_one():
    net = nn.Linear(2, 1).eval()
    x = torch.randn(60, 2)
    expected = r"task=None: expected a task for outputs of shape \(2, 1\)\. Give task="
    with pytest.raises(mutiny.BadInput, match=expected):
        mutiny.assess(net, "GF", data=(x, x[:, :1]))
