"""Models that repair cannot learn from, or only in part: a sentence or a note, never a traceback."""

import pytest
import torch
from torch import nn

import mutiny
import zoo
from mutiny.core.errors import BadInput
from mutiny.models import ModelState
from mutiny.verbs.repair.methods import REPAIRS
from verbs.repair.spoilt import data, faulty

QUICK = {
    "search": "search(population=6, generations=2)",
    "scale": "scale(population=6, generations=2)",
    "tune": "tune(epochs=2)",
}


class Wrapped(nn.Module):
    """A spoilt classifier, and something done to what it says."""

    def __init__(self, then):
        super().__init__()
        self.inner, self.then = faulty()[0], then
        self.eval()

    def forward(self, x):
        return self.then(x, self.inner(x))


class Frozen(Wrapped):
    @torch.no_grad()
    def forward(self, x):
        return self.inner(x)


class Headless(Frozen):
    """Only its head can learn."""

    def __init__(self):
        super().__init__(None)
        self.head = nn.Linear(3, 3).eval()

    def forward(self, x):
        return self.head(super().forward(x))


class Threshold(nn.Module):
    """What its first layer says is cut to 0 and 1."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(2, 16), nn.Linear(16, 3)
        self.eval()

    def forward(self, x):
        return self.head((self.first(x) > 0).float())


def one_hot(x, said):
    return nn.functional.one_hot(said.argmax(1), 3).float()


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (Frozen(None), "search"),
        (Frozen(None), "tune"),
        (Wrapped(one_hot), "search"),
        (Wrapped(one_hot), "tune"),
        (Threshold(), "tune"),
    ],
)
def test_models_without_gradients(model, method):
    state = ModelState.of(model)
    with pytest.raises(BadInput, match=f"model={type(model).__name__}: .*gradients.* {method} needs.*scale"):
        mutiny.repair(model, QUICK[method], data=data(300))
    assert mutiny.repair(model, QUICK["scale"], data=data(300)).held_out.inputs
    assert state == ModelState.of(model)


@pytest.mark.parametrize("model", [Threshold(), Headless()])
def test_gradients_by_some_weights_are_enough_for_search(model):
    assert mutiny.repair(model, QUICK["search"], data=data(300)).held_out.inputs


@pytest.mark.parametrize("method", REPAIRS)
def test_inference_mode_of_the_caller_does_not_matter(method):
    model, _ = faulty()
    plain = mutiny.repair(model, QUICK[method], data=data(300), batch_size=100)
    with torch.inference_mode():
        found = mutiny.repair(model, QUICK[method], data=data(300), batch_size=100)
        found.model()
    assert found.patch == plain.patch


@pytest.mark.parametrize("method", REPAIRS)
def test_inputs_without_a_finite_answer_are_left_out(method):
    x, y = data(400)
    lost = x[:, :1] < -2
    found = mutiny.repair(
        Wrapped(lambda x, said: torch.where(x[:, :1] < -2, float("nan"), 1.0) * said), QUICK[method], data=(x, y)
    )
    assert found.held_out.inputs
    assert f"{int(lost.sum())} inputs have NaN" in " ".join(found.notes)


@pytest.mark.parametrize("method", ["search", "tune"])
def test_failures_without_any_finite_answer(method):
    model = Wrapped(lambda x, said: torch.where(x[:, :1] < -2, float("nan"), 1.0) * said)
    x, _ = data(400)
    said = model(x)
    y = said.nan_to_num(0).argmax(1)
    with pytest.raises(BadInput, match=f"finite outputs for some failing inputs, whose loss {method}"):
        mutiny.repair(model, QUICK[method], data=(x, y))


def test_masked_classes_are_no_mistake():
    found = mutiny.repair(
        Wrapped(lambda x, said: nn.functional.pad(said, (0, 1), value=-torch.inf)), QUICK["search"], data=data(300)
    )
    assert not any("NaN" in note for note in found.notes)


def lstm():
    return zoo.last_step(nn.LSTM(3, 6, 2, batch_first=True), 6)


def transformer():
    layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return nn.Sequential(nn.Linear(3, 8), encoder, nn.Flatten(), nn.Linear(40, 4))


@pytest.mark.parametrize("make", [lstm, transformer])
def test_layers_that_nobody_can_see_into_are_left_out(make):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model, x, y = make().eval(), torch.randn(200, 5, 3), torch.randint(0, 4, (200,))
    found = mutiny.repair(model, "tune(epochs=3, rate=0.01)", data=(x, y))
    assert found.changes["repair"].repaired.total
    with pytest.raises(BadInput, match="a hidden layer whose neurons can be read"):
        mutiny.repair(zoo.last_step(nn.LSTM(3, 6, 2, batch_first=True), 6).eval(), "tune", data=(x, y), layers="*l0")
