import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.models import ModelState
from mutiny.models.dropout import DropoutPasses
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification, Regression
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.uncertainty import mc_dropout
from mutiny.verbs.select.uncertainty.mc_dropout import McDropout

pytestmark = pytest.mark.rounding


def evidence_of(model, task, n=13, **more):
    x = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    return Evidence([model], task, as_data((x, np.zeros(n, int)), "pool"), **{"batch_size": 16, "seed": 3, **more})


def net(outputs=3, *last):
    layers = nn.Linear(4, 20), nn.BatchNorm1d(20), nn.ReLU(), nn.Dropout(0.4), nn.Linear(20, 10), nn.Dropout(0.2)
    return nn.Sequential(*layers, nn.Linear(10, outputs), *last).eval()


def answers(evidence, samples, turn):
    """Every pass by itself, over the whole pool."""
    x = evidence.pool.first(99)
    passes = DropoutPasses(evidence.model, x[:2], seed=evidence.seed)
    passes.replays = False
    return np.array([turn(one).numpy() for one in passes.outputs(x, 0, samples)], np.float64)


def bits(p):
    return -np.where(p > 0, p * np.log2(np.where(p > 0, p, 1)), 0).sum(axis=-1)


@pytest.mark.parametrize("measure", ["variation-ratio", "entropy", "mutual-information", "variance"])
@pytest.mark.parametrize("batch_size", [16, 5, 1])
def test_the_measure_is_taken_over_all_passes(measure, batch_size):
    evidence = evidence_of(net(), Classification(3, "logits"), batch_size=batch_size)
    p = answers(evidence, 30, lambda one: one.softmax(dim=1))
    votes = np.array([[(p[:, i].argmax(axis=1) == c).sum() for c in range(3)] for i in range(13)])
    mean = p.mean(axis=0)
    expected = {
        "variation-ratio": 1 - votes.max(axis=1) / 30,
        "entropy": bits(mean),
        "mutual-information": bits(mean) - bits(p).mean(axis=0),
        "variance": p.var(axis=0).sum(axis=1),
    }[measure]
    scores = McDropout(samples=30, measure=measure).score(evidence)
    assert scores.dtype == np.float64
    assert scores == pytest.approx(expected, abs=1e-6)
    assert scores.max() > 0


def test_regression_takes_the_variance():
    evidence = evidence_of(net(2), Regression(0.1))
    said = answers(evidence, 25, lambda one: one)
    assert McDropout(samples=25).score(evidence) == pytest.approx(said.var(axis=0).sum(axis=1), rel=1e-4)


def test_one_column_is_two_classes():
    evidence = evidence_of(net(1, nn.Sigmoid()), Classification(2, "probabilities"))
    p = answers(evidence, 25, lambda one: one.reshape(-1))
    named = (p > 0.5).sum(axis=0)
    expected = 1 - np.maximum(named, 25 - named) / 25
    assert McDropout(samples=25).score(evidence) == pytest.approx(expected)


def test_many_outputs_make_batches_smaller_and_scores_no_different(monkeypatch):
    evidence = evidence_of(net(), Classification(3, "logits"))
    whole = McDropout(samples=20).score(evidence)
    monkeypatch.setattr(mc_dropout, "ANSWERS", 2 * 20 * 3)
    assert McDropout(samples=20).score(evidence) == pytest.approx(whole)


def test_the_seed_chooses_the_masks_and_nothing_else_does():
    model = net()
    first, again, other = (
        McDropout(samples=20, measure="variance").score(evidence_of(model, Classification(3, "logits"), seed=seed))
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_sure_inputs_come_last():
    """A wide margin survives dropout; none does not."""
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 2, bias=False)).eval()
    with torch.no_grad():
        model[1].weight.copy_(torch.tensor([[1.0, 1, 1, 1], [-1.0, -1, -1, -1]]))
    x = np.array([[9.0, 9, 9, 9], [1.0, -1, 1, -1], [9.0, 9, 9, -1]], np.float32)
    evidence = Evidence([model], Classification(2, "logits"), as_data((x, [0, 0, 0]), "pool"), batch_size=2)
    order, _ = McDropout().rank(evidence)
    assert order.tolist()[0] == 1
    assert McDropout().score(evidence)[0] == pytest.approx(0, abs=0.01)


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 20), nn.Linear(20, 3)

    def forward(self, x):
        return self.b(F.dropout(self.a(x).relu(), 0.5, self.training))


def test_functional_dropout_acts_and_the_model_stays_as_it_is():
    for model in (Functional().eval(), net()):
        state = ModelState.of(model)
        evidence = evidence_of(model, Classification(3, "logits"))
        before = evidence.outputs().clone()
        assert McDropout(samples=10, measure="variance").score(evidence).min() > 0
        assert state.difference(ModelState.of(model)) is None
        with torch.no_grad():
            assert torch.equal(model(evidence.pool.first(99)), before)


def test_the_model_stays_as_it_is_after_an_error():
    model, calls = net(), []

    def forward(model, x):
        calls.append(len(x))
        if len(calls) > 12:
            raise RuntimeError("out of luck")
        return model(x)

    state = ModelState.of(model)
    with pytest.raises(RuntimeError, match="out of luck"):
        McDropout().score(evidence_of(model, Classification(3, "logits"), forward=forward))
    assert state.difference(ModelState.of(model)) is None


def test_without_dropout_it_does_not_apply():
    for model in (nn.Sequential(nn.Linear(4, 3)).eval(), nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.0)).eval()):
        with pytest.raises(NotApplicable, match=r"no dropout layer.*deepgini.*disagreement"):
            McDropout().score(evidence_of(model, Classification(3, "logits")))


class Recurrent(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rnn, self.drop, self.head = nn.LSTM(4, 6, 2, dropout=0.5), nn.Dropout(rate), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.drop(self.rnn(x[None])[0][-1]))


def test_dropout_that_stays_off_is_noted():
    with pytest.raises(NotApplicable, match=r"inside rnn.*deepgini"):
        McDropout().score(evidence_of(Recurrent(0.0).eval(), Classification(3, "logits")))
    evidence = evidence_of(Recurrent(0.5).eval(), Classification(3, "logits"))
    McDropout(samples=3).score(evidence)
    assert any("inside rnn" in note for note in evidence.notes)


class Changes(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(3, 3)

    def forward(self, x):
        hidden = self.a(x)
        said = self.b(F.dropout(hidden, 0.5, self.training))
        hidden += said
        return hidden


def test_full_passes_are_noted():
    evidence = evidence_of(Changes().eval(), Classification(3, "logits"))
    McDropout(samples=3).score(evidence)
    assert any("whole model" in note for note in evidence.notes)


def test_parameters_are_checked():
    with pytest.raises(BadInput, match="mc-dropout samples"):
        McDropout(samples=1)
    with pytest.raises(BadInput, match="mc-dropout measure"):
        McDropout(measure="range")
