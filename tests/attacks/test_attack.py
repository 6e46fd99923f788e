"""`attack` from end to end: what is fooled, what is compared, and what is refused."""

import json

import numpy as np
import pytest
import torch
from torch import nn

import toys
import zoo
from mutiny.attacks.attack import attack
from mutiny.attacks.mutants import Choice
from mutiny.attacks.result import BUDGET, MUTANTS, ORIGINAL, SANE
from mutiny.errors import BadInput
from mutiny.models import ModelState, ModelView
from mutiny.models.heard import Heard
from mutiny.operators import OPERATORS
from mutiny.stats import Rate
from mutiny.task import Classification, Regression

QUICK = {"mutants": Choice(count=3, iterations=6, ratios=(0.1, 0.2)), "count": 120}


def scaled(n=240):
    x, y = toys.blobs(n)
    return (x + 5) / 10, y


class Wide(nn.Module):
    """Takes numbers of 0..1 to where the classifier was trained."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(10 * x - 5)


@pytest.fixture
def model():
    return Wide(toys.classifier()).eval()


@pytest.mark.parametrize(
    "way", ["pgd(iterations=8)", "pgd(norm=l2, iterations=8)", "fgsm", "carlini(iterations=20, searches=4)"]
)
def test_an_attack(model, way):
    state = ModelState.of(model)
    found = attack(model, way, (0.02, 0.1), data=scaled(), **QUICK)
    assert state == ModelState.of(model)
    assert len(found.mutants) == 3
    assert found.similarity.shape == (4, 4)
    np.testing.assert_allclose(np.diag(found.similarity), 1)
    x, y = scaled()
    inputs, labels = x[torch.from_numpy(found.indices)], y[torch.from_numpy(found.indices)]
    for level in found.levels:
        assert list(level.ways) == [MUTANTS, ORIGINAL, BUDGET]
        np.testing.assert_array_equal(level.correct, (model(inputs).argmax(1) == labels).numpy())
        for one in level.ways.values():
            np.testing.assert_array_equal(one.fooled, (model(one.inputs).argmax(1) != labels).numpy())
            apart = (one.inputs - inputs).double()
            np.testing.assert_allclose(one.distances["l2"], apart.norm(dim=1).numpy(), atol=1e-6)
            if level.eps is not None:
                norm = "l2" if "l2" in way else "linf"
                assert one.distances[norm].max() <= level.eps + 1e-6
            assert one.inputs.min() >= 0
            assert one.inputs.max() <= 1
            assert one.of_correct(level.correct).value <= 1
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["verb"] == "attack"
    assert set(told["results"][0]["success_rate"]) == {"of_all", "of_correct"}
    assert told["results"][0]["baseline"][BUDGET]["passes"] > 0


def test_further_is_worse(model):
    found = attack(model, "pgd(iterations=10)", (0.01, 0.05, 0.3), data=scaled(), **QUICK)
    shares = [level.ways[ORIGINAL].of_correct(level.correct).value for level in found.levels]
    assert shares == sorted(shares)
    assert shares[-1] > shares[0]


def test_the_budget_is_that_of_the_ensemble(model):
    level = attack(model, "pgd(iterations=5)", 0.0001, data=scaled(), **QUICK).levels[0]
    assert level.ways[MUTANTS].passes == 4 * level.ways[ORIGINAL].passes
    right = level.correct.mean()
    assert level.ways[BUDGET].passes == pytest.approx(4 * level.ways[ORIGINAL].passes, rel=1.1 * (1 - right))


def test_a_step_that_does_not_fit_is_shown_beside_one_that_does(model):
    found = attack(model, "pgd(iterations=8, step=0.5)", 0.05, data=scaled(), **QUICK).levels[0]
    assert SANE in found.ways
    assert "step" not in found.ways[SANE].attack


def test_other_attacks_stand_beside(model):
    pytest.importorskip("art")
    auto = "autoattack(iterations=5, restarts=1)"
    (level,) = attack(model, "fgsm", 0.05, data=scaled(), beside=("pgd(iterations=5)", auto), **QUICK).levels
    assert list(level.ways) == [MUTANTS, ORIGINAL, BUDGET, "pgd(iterations=5)", auto]
    assert level.ways[auto].of_correct(level.correct).value >= level.ways[ORIGINAL].of_correct(level.correct).value
    assert level.ways[auto].passes > level.ways["pgd(iterations=5)"].passes > 0


def test_one_seed_one_answer_whatever_the_batches(model):
    first, second = (
        attack(model, "pgd(iterations=4, random_start=true, restarts=2)", 0.05, data=scaled(), batch_size=size, **QUICK)
        for size in (7, 64)
    )
    assert first.mutants == second.mutants
    for a, b in zip(first.levels, second.levels, strict=True):
        torch.testing.assert_close(a.ways[MUTANTS].inputs, b.ways[MUTANTS].inputs, atol=1e-5, rtol=1e-4)
    other = attack(model, "pgd(iterations=4, random_start=true)", 0.05, data=scaled(), seed=1, **QUICK)
    assert not torch.equal(other.levels[0].ways[MUTANTS].inputs, first.levels[0].ways[MUTANTS].inputs)


def test_gains_are_those_of_inputs_that_differ(model):
    level = attack(model, "pgd(iterations=3)", 0.05, data=scaled(), **QUICK).levels[0]
    gain, interval = level.gain(ORIGINAL)
    ours, theirs = (level.ways[name].of_correct(level.correct).value for name in (MUTANTS, ORIGINAL))
    assert gain == pytest.approx(ours - theirs)
    assert interval.low <= gain <= interval.high


def test_without_mutants_or_baselines(model):
    assert list(attack(model, data=scaled(), mutants=0, count=10).levels[0].ways) == [MUTANTS]
    assert list(attack(model, data=scaled(), baselines=False, **QUICK).levels[0].ways) == [MUTANTS]


def test_probabilities_and_one_column():
    x, y = scaled()
    net = nn.Sequential(Wide(toys.classifier()), nn.Softmax(dim=1)).eval()
    assert attack(net, "pgd(iterations=3)", 0.1, data=(x, y), **QUICK).levels[0].ways[MUTANTS].fooled.any()
    single = nn.Linear(2, 1).eval()
    found = attack(single, "fgsm", 0.2, data=(x, (x[:, 0] > 0.5).long()), task=Classification(2, "logits"), **QUICK)
    assert found.levels[0].ways[MUTANTS].inputs.shape == (120, 2)


@pytest.mark.parametrize("name", ["lenet_modules", "resnet", "conv1d", "conv3d", "depthwise"])
def test_any_network(name):
    net, inputs = zoo.make(name)
    low, high = float(inputs.min()) - 1, float(inputs.max()) + 1
    labels = net(inputs).argmax(1)
    classes = net(inputs).shape[1]
    found = attack(
        net, "pgd(iterations=2)", 0.5, data=(inputs, labels), task=Classification(classes), low=low, high=high,
        mutants=Choice(count=2, iterations=3, ratios=(0.1,)),
    )  # fmt: skip
    assert len(found.levels[0].correct) == len(inputs)


def test_a_mutant_that_destroys_the_model(model):
    made = Choice(count=2, iterations=2, operators=("NEB",), ratios=(1.0,))
    found = attack(model, "fgsm", 0.05, data=scaled(), mutants=made, count=60)
    assert any("less than half of the accuracy" in note for note in found.notes)
    with pytest.raises(BadInput, match="a bar that mutants can reach"):
        attack(model, "fgsm", 0.05, data=scaled(), count=60,
               mutants=Choice(count=2, iterations=2, operators=("NEB",), ratios=(1.0,), floor=0.9))  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attack": "pdg"}, "Did you mean pgd"),
        ({"eps": 0}, "at 0 nothing changes"),
        ({"eps": ()}, "above 0"),
        ({"eps": "a"}, "above 0"),
        ({"mutants": -1}, "mutants=-1"),
        ({"combine": "votes"}, "gradients, logits, probabilities"),
        ({"low": 1.0, "high": 0.0}, "the least first"),
        ({"high": 0.5}, "State their range"),
        ({"count": 0}, "count=0"),
        ({"task": Regression(0.1)}, "regression has no answer"),
    ],
)
def test_mistakes(model, settings, message):
    with pytest.raises(BadInput, match=message):
        attack(model, **{"data": scaled(40), **settings})


def test_what_stands_beside_must_take_a_distance_too(model):
    with pytest.raises(BadInput, match="attacks that take a distance"):
        attack(model, "pgd", data=scaled(), beside=("carlini",))
    with pytest.raises(BadInput, match="attacks that do not take a distance"):
        attack(model, "carlini", data=scaled(), beside=("pgd",))


def test_a_model_in_training_mode(model):
    with pytest.raises(BadInput, match="evaluation mode"):
        attack(model.train(), data=scaled(40))


def test_inputs_that_cannot_change():
    net = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(8, 3)).eval()
    with pytest.raises(BadInput, match="real numbers"):
        attack(net, data=(torch.randint(9, (20, 2)), torch.arange(20) % 3))


def test_what_a_layer_reads_is_what_a_patch_leaves_of_it():
    net, x = toys.classifier(), toys.blobs(20)[0]
    view = ModelView.of(net, x)
    patch = OPERATORS["NEB"](ratio=0.5, output_layer=False).patch(view, np.random.default_rng(0))
    units = patch.edits[0].units
    with patch.applied(net) as call, torch.no_grad(), Heard(view, view.layers[-1]) as heard:
        call(x)
        read = heard.last(20)
    expected = net[:2](x).detach()
    expected[:, torch.from_numpy(units)] = 0
    torch.testing.assert_close(read, expected)


def test_rates():
    rate = Rate.of([True, False, True])
    assert (rate.count, rate.total) == (2, 3)
    assert rate.interval.low < rate.value < rate.interval.high
    assert Rate.of([]).value is None
