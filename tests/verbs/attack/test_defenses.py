"""Defenses: what passes the filter, what gradients see, and that attacks look through."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import toys
from mutiny.core.errors import BadInput
from mutiny.models import ModelState
from mutiny.verbs.attack.attack import attack
from mutiny.verbs.attack.defenses import BitDepth, Jpeg
from mutiny.verbs.attack.mutants import Choice

QUICK = {"mutants": Choice(count=2, iterations=3, ratios=(0.1,)), "count": 60}


@pytest.mark.parametrize("bits", [1, 3, 8])
def test_levels(bits):
    x = torch.rand(200, 3) * 4 - 2
    passed = BitDepth(nn.Identity(), bits, low=-2.0, high=2.0)(x)
    levels = torch.linspace(-2, 2, 2**bits)
    assert len(passed.unique()) <= 2**bits
    nearest = levels[(x[..., None] - levels).abs().argmin(dim=-1)]
    torch.testing.assert_close(passed, nearest, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_is_what_a_file_holds(channels):
    x = torch.rand(4, channels, 16, 16)
    passed = Jpeg(nn.Identity(), quality=30)(x)
    for image, ours in zip(x, passed, strict=True):
        pixels = (image * 255).round().byte().permute(1, 2, 0).numpy()
        file = io.BytesIO()
        Image.fromarray(pixels.squeeze(-1) if channels == 1 else pixels).save(file, "JPEG", quality=30)
        read = np.asarray(Image.open(file), np.float32).reshape(16, 16, channels) / 255
        np.testing.assert_allclose(ours.permute(1, 2, 0).numpy(), read, atol=1e-6)
    assert not torch.allclose(passed, x, atol=0.02)


@pytest.mark.parametrize("defense", [BitDepth, Jpeg])
def test_gradients_see_no_filter(defense):
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 3)).eval()
    x = (torch.rand(2, 1, 8, 8) * 0.8 + 0.1).requires_grad_()
    defended = defense(model)
    assert not defended.training
    (gradient,) = torch.autograd.grad(defended(x)[:, 0].sum(), x)
    torch.testing.assert_close(gradient, model[1].weight[0].reshape(1, 8, 8).expand(2, 1, 8, 8))
    assert not torch.equal(defended(x), model(x))


class Wide(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(10 * x - 5)


def test_a_defended_model_is_attacked_as_it_is():
    x, y = toys.blobs(120)
    x = (x + 5) / 10
    defended = BitDepth(Wide(toys.classifier()).eval(), bits=5)
    state = ModelState.of(defended)
    found = attack(defended, "pgd(iterations=8)", (0.02, 0.3), data=(x, y), **QUICK)
    assert state == ModelState.of(defended)
    labels = y[torch.from_numpy(found.indices)]
    for level in found.levels:
        one = level.ways["mutants"]
        np.testing.assert_array_equal(one.fooled, (defended(one.inputs).argmax(1) != labels).numpy())
    assert found.levels[1].ways["mutants"].fooled.mean() > found.levels[0].ways["mutants"].fooled.mean()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BitDepth(nn.Identity(), bits=0), "bits=0"),
        (lambda: Jpeg(nn.Identity(), quality=99), "at most 95"),
        (lambda: Jpeg(nn.Identity(), low=1.0, high=1.0), "low, high="),
        (lambda: BitDepth(nn.Identity(), low="0"), "low, high="),
        (lambda: BitDepth(nn.Identity(), high=float("inf")), "low, high="),
        (lambda: Jpeg(nn.Identity())(torch.rand(2, 5)), "images"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(BadInput, match=message):
        make()
