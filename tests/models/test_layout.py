import pytest
import torch
from torch import nn

from mutiny.models import ModelState
from mutiny.models.layout import laid_out, layouts
from references.by_hand import clean

LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


class Twice(nn.Module):
    """One convolution, called twice under two names."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 4, 3, padding=1)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x).relu())


def tied():
    return Twice()


def shared_storage():
    """Two parameters over the same numbers."""
    model = nn.Sequential(nn.Conv2d(4, 4, 3), nn.Conv2d(4, 4, 3))
    model[1].weight = nn.Parameter(model[0].weight.data)
    return model


def a_view():
    """Weights that are a part of something larger."""
    model = nn.Conv2d(4, 4, 3)
    whole = torch.randn(8, 4, 3, 3)
    model.weight = nn.Parameter(whole[2:6])
    return model


def frozen():
    model = nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 3, 3, groups=3))
    model[0].weight.requires_grad_(False)
    model[3].weight.grad = torch.ones_like(model[3].weight)
    return model


def channels_last():
    return nn.Sequential(nn.Conv2d(4, 5, 3), nn.Conv2d(5, 5, 1)).to(memory_format=torch.channels_last)


MODELS = {
    "2-D": (lambda: nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.ConvTranspose2d(8, 2, 2)), (5, 4, 9, 9)),
    "3-D": (lambda: nn.Sequential(nn.Conv3d(4, 8, 3), nn.ReLU(), nn.Conv3d(8, 2, 2)), (3, 4, 6, 6, 6)),
    "1-D": (lambda: nn.Sequential(nn.Conv1d(4, 8, 3), nn.ReLU(), nn.Conv1d(8, 2, 2)), (3, 4, 9)),
    "linear": (lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), (3, 4)),
    "tied": (tied, (5, 4, 9, 9)),
    "shared storage": (shared_storage, (5, 4, 9, 9)),
    "view": (a_view, (5, 4, 9, 9)),
    "frozen": (frozen, (5, 4, 9, 9)),
    "channels-last": (channels_last, (5, 4, 9, 9)),
    "double": (lambda: nn.Conv2d(4, 8, 3).double(), (5, 4, 9, 9)),
    "no parameters": (nn.Flatten, (5, 4)),
}


def made(name):
    make, shape = MODELS[name]
    model = make().eval()
    dtype = next((p.dtype for p in model.parameters()), torch.float32)
    return model, torch.randn(shape, dtype=dtype)


def places(model):
    return [(id(p), p.data_ptr(), p.stride(), p.storage_offset(), p.is_leaf) for p in model.parameters()]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("layout", ["default", "channels-last"])
def test_a_layout_changes_rounding_only_and_leaves_nothing_behind(name, layout):
    model, inputs = made(name)
    before, where, expected = ModelState.of(model), places(model), clean(model, inputs)
    with laid_out(model, layout):
        assert torch.allclose(clean(model, inputs), expected, rtol=1e-4, atol=1e-5)
        assert [id(p) for p in model.parameters()] == [place[0] for place in where]
    assert places(model) == where
    assert ModelState.of(model) == before
    assert torch.equal(clean(model, inputs), expected)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("error", [ValueError(), KeyboardInterrupt()])
def test_the_very_same_tensors_are_back_after_an_error(name, error):
    model, inputs = made(name)
    before, where = ModelState.of(model), places(model)

    def run():
        with laid_out(model, "channels-last"):
            clean(model, inputs)
            raise error

    with pytest.raises(type(error)):
        run()
    assert places(model) == where
    assert ModelState.of(model) == before


@pytest.mark.parametrize("name", ["2-D", "3-D", "tied", "frozen", "double"])
def test_weights_of_convolutions_really_are_laid_out(name):
    model, _ = made(name)
    with laid_out(model, "channels-last"):
        weights = [p for p in model.parameters() if p.ndim in LAST and p.shape[1] > 1]
        assert weights
        assert all(w.is_contiguous(memory_format=LAST[w.ndim]) and not w.is_contiguous() for w in weights)
    assert all(w.is_contiguous() for w in weights)
    with laid_out(model, "default"):
        assert all(w.is_contiguous() for w in weights)


def test_tied_weights_stay_tied_and_views_stay_views():
    model, _ = made("tied")
    with laid_out(model, "channels-last"):
        assert model.first.weight is model.second.weight
    view, _ = made("view")
    where = places(view)
    with laid_out(view, "channels-last"):
        assert places(view) == where
    both, _ = made("shared storage")
    with laid_out(both, "channels-last"):
        assert torch.equal(both[0].weight, both[1].weight)
    assert both[0].weight.data_ptr() == both[1].weight.data_ptr()


def test_layouts_nest():
    model, inputs = made("2-D")
    where = places(model)
    with laid_out(model, "channels-last"), laid_out(model, "channels-last"):
        clean(model, inputs)
    assert places(model) == where


@pytest.mark.parametrize("name", MODELS)
def test_only_layouts_that_make_a_difference_are_offered(name):
    model, _ = made(name)
    different = name in ("2-D", "3-D", "tied", "shared storage", "frozen", "channels-last", "double")
    assert layouts(model) == (("default", "channels-last") if different else ("default",))


def test_weights_made_for_inference_stay_as_they_are():
    with torch.inference_mode():
        model = nn.Conv2d(4, 4, 3).eval()
    where = [(p.data_ptr(), p.stride()) for p in model.parameters()]
    with laid_out(model, "channels-last"):
        assert [(p.data_ptr(), p.stride()) for p in model.parameters()] == where
    assert layouts(model) == ("default",)
