"""Members as one network: the same outputs and gradients as one after the other, or no such network."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import zoo
from mutiny.faults import OPERATORS
from mutiny.models import ModelView, Patch, default_forward
from mutiny.models.patch import ActivationEdit
from mutiny.subjects.architectures import LeNet5, ResNet20
from mutiny.verbs.attack import ensemble as ensembles
from mutiny.verbs.attack.ensemble import Ensemble
from mutiny.verbs.attack.ensemble_member import with_weights
from mutiny.verbs.attack.fused_ensemble import fuse

pytestmark = pytest.mark.rounding


class Functional(nn.Module):
    """Strides, dilation, groups, no bias, normalization first, a sum of two ways, a mean over places."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(3)
        self.enter = nn.Conv2d(3, 6, 5, stride=2, padding=(1, 2), dilation=2, bias=False)
        self.deep = nn.Conv2d(6, 6, 3, padding="same", groups=3)
        self.wide = nn.Conv2d(6, 6, 1)
        self.head = nn.Linear(6, 4, bias=False)

    def forward(self, x):
        x = functional.relu(self.enter(self.norm(x) * 2 - 1))
        x = torch.tanh(self.deep(x)) + self.wide(x)
        return self.head(functional.avg_pool2d(x, 2).mean(dim=(2, 3)))


class Entering(nn.Module):
    """Inputs enter twice: by a convolution with groups, and by a strided one."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv2d(2, 4, 3, groups=2), nn.Conv2d(2, 4, (3, 5), padding=(0, 1))
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.one(x).amax(dim=(2, 3)) * self.two(x).amax(dim=(2, 3)))


FOLDABLE = {
    "lenet": lambda: (LeNet5(), (1, 28, 28)),
    "residual with projections": lambda: (ResNet20(shortcut="B"), (3, 32, 32)),
    "functional": lambda: (Functional(), (3, 17, 15)),
    "two entrances": lambda: (Entering(), (2, 9, 9)),
    "one dense layer": lambda: (nn.Linear(5, 3), (5,)),
    "dense, in place": lambda: (nn.Sequential(nn.Linear(5, 8), nn.ReLU(inplace=True), nn.Linear(8, 3)), (5,)),
    "signals": lambda: (nn.Sequential(nn.Conv1d(2, 4, 3), nn.GELU(), nn.Flatten(), nn.Linear(24, 3)), (2, 8)),
    "volumes": lambda: (nn.Sequential(nn.Conv3d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3)), (1, 4, 4, 4)),
    "normalized": lambda: (nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Linear(6, 3)), (5,)),
}


class Padded(nn.Module):
    """Adds channels, which would come between members."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(1, 2, 3), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(functional.pad(self.conv(x).mean(dim=(2, 3)), (1, 1)))


class Across(nn.Module):
    """Normalizes across channels by a little: members would hear each other softly."""

    def __init__(self):
        super().__init__()
        self.conv, self.across, self.head = nn.Conv2d(1, 4, 3), nn.LocalResponseNorm(3), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.across(self.conv(x)).mean(dim=(2, 3)))


def hooked():
    model = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))
    model[0].register_forward_hook(lambda *_: None)
    return model


NOT_FOLDABLE = {
    "padded channels": lambda: (Padded(), (1, 6, 6)),
    "padded shortcuts": lambda: (ResNet20(), (3, 32, 32)),
    "across channels": lambda: (Across(), (1, 6, 6)),
    "softmax inside": lambda: (nn.Sequential(nn.Linear(5, 3), nn.Softmax(dim=1)), (5,)),
    "layer norm": lambda: (nn.Sequential(nn.Linear(5, 4), nn.LayerNorm(4), nn.Linear(4, 3)), (5,)),
    "recurrent": lambda: (nn.LSTM(5, 3, batch_first=True), (4, 5)),
    "sequences": lambda: (nn.Sequential(nn.Linear(5, 3), nn.Flatten()), (4, 5)),
    "reflecting": lambda: (nn.Sequential(nn.Conv1d(2, 3, 3, padding=1, padding_mode="reflect"), nn.Flatten()), (2, 8)),
    "hooks": lambda: (hooked(), (5,)),
    "statistics of the batch": lambda: (nn.Sequential(nn.Linear(5, 4), BATCH_NORM()), (5,)),
}
BATCH_NORM = partial(nn.BatchNorm1d, 4, track_running_stats=False)


def members(model, codes=("GF", "WS", "NS"), dtype=torch.float32):
    """The model, mutants of it, and inputs."""
    inputs = torch.rand(6, *model[1], dtype=dtype)
    network = model[0].to(dtype).eval()
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.uniform_(-1, 1)
            module.running_var.uniform_(0.5, 2)
    view = ModelView.of(network, inputs)
    made = []
    for at, code in enumerate(codes):
        try:
            made.append(OPERATORS[code](ratio=0.5).patch(view, np.random.default_rng(at)))
        except Exception:
            continue
    assert made
    return network, made, inputs


@pytest.mark.parametrize("make", FOLDABLE.values(), ids=FOLDABLE)
def test_outputs_and_gradients_are_those_of_the_members(make):
    """In double precision: rounding must not decide which units are active."""
    model, made, inputs = members(make(), dtype=torch.float64)
    each = [with_weights(model, patch) for patch in (Patch(()), *made)]
    joint = fuse([model, *each[1:]], default_forward, inputs)
    assert joint is not None
    moving = inputs.clone().requires_grad_()
    together = joint(moving).chunk(len(each), dim=1)
    apart = [member(moving) for member in each]
    for ours, theirs in zip(together, apart, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-9, rtol=1e-9)
    weights = [torch.randn_like(one) for one in apart]
    ours, theirs = (
        torch.autograd.grad(sum((w * one).sum() for w, one in zip(weights, said, strict=True)), moving)[0]
        for said in (together, apart)
    )
    torch.testing.assert_close(ours, theirs, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("make", NOT_FOLDABLE.values(), ids=NOT_FOLDABLE)
def test_what_would_mix_members_is_not_fused(make):
    model, shape = make()
    model, inputs = model.eval(), torch.rand(6, *shape)
    other = type(model)() if isinstance(model, (Padded, Across, ResNet20)) else make()[0]
    assert fuse([model, other.eval()], default_forward, inputs) is None


@pytest.mark.parametrize("name", zoo.ZOO)
def test_any_model_is_fused_rightly_or_not_at_all(name):
    model, inputs = zoo.make(name)
    joint = fuse([model, model], default_forward, inputs) if isinstance(inputs, torch.Tensor) else None
    if joint is not None:
        said = default_forward(model, inputs)
        torch.testing.assert_close(default_forward(joint, inputs), torch.cat([said, said], dim=1), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("combine", ["gradients", "logits", "probabilities"])
@pytest.mark.parametrize("faster", [True, False])
def test_an_ensemble_says_the_same_either_way(combine, faster, monkeypatch):
    model, made, _ = members((LeNet5(), (1, 28, 28)))
    inputs, labels = torch.rand(40, 1, 28, 28), torch.arange(40) % 10
    monkeypatch.setattr(ensembles, "remembered", lambda *_: {"joined": faster})
    ensemble, plain = Ensemble(model, made, combine=combine), Ensemble(model, made, combine=combine)
    plain._tried = True

    def loss(said):
        return functional.cross_entropy(said, labels, reduction="none")

    ours, theirs = ensemble.slope(inputs, loss), plain.slope(inputs, loss)
    assert (ensemble._fused is not None) == faster
    for name in ("gradient", "losses", "outputs"):
        torch.testing.assert_close(getattr(ours, name), getattr(theirs, name), atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(ensemble.mean(inputs), plain.mean(inputs), atol=1e-5, rtol=1e-4)


def test_which_way_is_faster_is_measured_once(tmp_path, monkeypatch):
    monkeypatch.setenv("MUTINY_CACHE", str(tmp_path))
    model, made, _ = members((LeNet5(), (1, 28, 28)))
    inputs, timed = torch.rand(32, 1, 28, 28), []
    seconds = ensembles._seconds
    monkeypatch.setattr(ensembles, "_seconds", lambda call: timed.append(1) or seconds(call))
    for _ in range(2):
        Ensemble(model, made).slope(inputs, lambda said: said[:, 0])
        assert len(timed) == 2 * ensembles.PASSES


def test_few_inputs_are_not_joined():
    model, made, inputs = members((LeNet5(), (1, 28, 28)), ("GF",))
    few = Ensemble(model, made)
    few.slope(inputs, lambda said: said[:, 0])
    assert few._fused is None
    assert not few._tried


class Bent(nn.Module):
    """A sigmoid says 0.5 where it hears 0."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(1, 4, 3), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.conv(x).sigmoid().mean(dim=(2, 3)))


@pytest.mark.parametrize(("model", "size", "outside"), [(LeNet5(), 28, 2), (Bent(), 9, 3)], ids=["ReLU", "sigmoid"])
def test_blocked_neurons_are_weights_only_where_that_is_the_same(model, size, outside, monkeypatch):
    """Two members stay outside in any case: one that halves what others hear, and one that skips an activation."""
    model.eval()
    view = ModelView.of(model, torch.rand(4, 1, size, size))
    rng = np.random.default_rng(0)
    made = [
        OPERATORS["NEB"](ratio=0.5).patch(view, rng),
        OPERATORS["NI"](ratio=0.5, factor=0.5).patch(view, rng),
        Patch((ActivationEdit(0),), view.layers[0].name),
        OPERATORS["GF"](ratio=0.5).patch(view, rng),
    ]
    monkeypatch.setattr(ensembles, "remembered", lambda *_: {"joined": True})
    ensemble, plain = Ensemble(model, made), Ensemble(model, made)
    plain._tried = True
    inputs = torch.rand(40, 1, size, size)
    ours, theirs = (one.slope(inputs, lambda said: said[:, 0] ** 2) for one in (ensemble, plain))
    assert ensemble._fused is not None
    assert len(ensemble._not_fused) == outside
    for name in ("gradient", "losses", "outputs"):
        torch.testing.assert_close(getattr(ours, name), getattr(theirs, name), atol=1e-6, rtol=1e-4)
