"""`attack` from end to end: what is fooled, what is compared, and what is refused."""

import copy
import json
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy.stats import wilcoxon
from torch import nn

import toys
import zoo
from mutiny.core.errors import BadInput
from mutiny.core.stats import Rate
from mutiny.faults import OPERATORS
from mutiny.models import ModelState, ModelView
from mutiny.models.layer_inputs import LayerInputRecorder
from mutiny.subjects import Subject
from mutiny.subjects.tasks import Classification, Regression
from mutiny.verbs.attack.adapters import EnsembleModule
from mutiny.verbs.attack.attack import attack, mutants_of
from mutiny.verbs.attack.base import Attack, Attacked
from mutiny.verbs.attack.ensemble import Ensemble
from mutiny.verbs.attack.mutants import Choice
from mutiny.verbs.attack.pgd import Fgsm, Pgd
from mutiny.verbs.attack.result import BUDGET, MUTANTS, ORIGINAL, SANE

pytestmark = pytest.mark.rounding

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


CARLINI = "carlini(iterations=20, searches=4)"


@cache
def attacked(way):
    """A model, its state before an attack, and what the attack found, once for all tests that read it."""
    model = Wide(toys.classifier()).eval()
    return model, ModelState.of(model), attack(model, way, (0.02, 0.1), data=scaled(), **QUICK)


@pytest.mark.parametrize("way", ["pgd(iterations=8)", "pgd(norm=l2, iterations=8)", "fgsm", CARLINI])
def test_an_attack(way):
    model, state, found = attacked(way)
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
                assert one.distances[norm].max() <= level.eps
            assert one.inputs.min() >= 0
            assert one.inputs.max() <= 1
            assert one.of_correct(level.correct).value <= 1
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["verb"] == "attack"
    assert set(told["results"][0]["success_rate"]) == {"of_all", "of_correct"}
    assert told["results"][0]["baseline"][BUDGET]["passes"] > 0


@dataclass(frozen=True)
class Nudge(Attack):
    """An attack of somebody else's that has no use for more passes, and takes no gradients."""

    code: ClassVar[str] = "nudge"
    shift: float = 0.0

    def attacked(self, ensemble, batch, eps):
        return Attacked((batch.inputs + eps).clamp(batch.low, batch.high), len(batch.inputs) * len(ensemble))

    def rising(self, labels):
        return None


def test_nothing_is_claimed_where_more_passes_are_of_no_use(model):
    found = attack(model, Nudge(), 0.05, data=scaled(), **QUICK)
    assert list(found.levels[0].ways) == [MUTANTS, ORIGINAL]
    assert "gain" not in found.to_json()["results"][0]
    with pytest.raises(BadInput, match="one of mutants, original"):
        found.levels[0].gain()


def test_fgsm_may_take_as_many_passes_alone(model):
    level = attack(model, "fgsm", 0.0001, data=scaled(), **QUICK).levels[0]
    assert level.ways[BUDGET].attack == "fgsm(restarts=4, loss=both)"
    right = level.correct.mean()
    assert level.ways[BUDGET].passes == pytest.approx(level.ways[MUTANTS].passes, rel=1.1 * (1 - right))


def sure(factor):
    """A classifier whose probabilities are 1 but for what numbers in single precision can hold."""
    net = toys.classifier()
    with torch.no_grad():
        net[-1].weight.mul_(factor)
        net[-1].bias.mul_(factor)
    return Wide(net).eval()


def test_gradients_are_not_lost_in_rounding_where_a_model_is_sure(model):
    settings = {"data": scaled(), "mutants": 0, "count": 120}
    rates = []
    for net in (model, sure(50.0)):
        level = attack(net, "pgd(iterations=10)", 0.08, **settings).levels[0]
        rates.append(level.ways[MUTANTS].of_correct(level.correct).value)
    assert rates[1] >= rates[0] - 0.02 > 0.1


def test_gradients_that_are_masked_are_told_of():
    settings = {"data": scaled(), "mutants": 0, "count": 120}
    blind = attack(sure(1e4), "pgd(iterations=10)", 0.08, **settings)
    assert any("masked" in note and "loss=margin" in note for note in blind.notes)
    seeing = attack(sure(1e4), "pgd(iterations=10, loss=margin)", 0.08, **settings)
    assert not seeing.notes
    one, other = (found.levels[0].ways[MUTANTS].fooled.sum() for found in (seeing, blind))
    assert one > other


class Contrast(nn.Module):
    """Its gradient is not a number where an input is constant."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        apart = x - x.mean(1, keepdim=True)
        return self.head(apart / (apart.square().sum(1, keepdim=True).sqrt() + 1e-3))


@pytest.mark.parametrize("way", ["pgd(norm=l2, iterations=4)", "pgd(iterations=4)", "carlini(iterations=5)", "fgsm"])
def test_gradients_that_are_no_numbers(way):
    net, inputs = Contrast().eval(), torch.full((20, 16), 0.25)
    found = attack(net, way, 1e-9, data=(inputs, net(inputs).argmax(1)), mutants=2)
    level = found.levels[0]
    assert any("not finite" in note for note in found.notes)
    assert all(one.inputs.isfinite().all() for one in level.ways.values())
    if level.eps is not None:
        assert not level.ways[MUTANTS].fooled.any()
    json.dumps(found.to_json(), allow_nan=False)


class Logarithm(nn.Module):
    """Takes the logarithm of what is above 0, as long as nobody inverts it."""

    def __init__(self):
        super().__init__()
        self.hidden, self.head = nn.Linear(2, 16), nn.Linear(16, 3)
        with torch.no_grad():
            self.head.weight.abs_()
            self.head.bias.abs_()

    def forward(self, x):
        return self.head(self.hidden(x).sigmoid()).log()


def test_mutants_that_say_no_numbers_are_refused():
    net, (x, _) = Logarithm().eval(), scaled(60)
    with pytest.raises(BadInput, match="NaN or infinite outputs"):
        attack(
            net, "pgd(norm=l2)", 1e-6, data=(x, net(x).argmax(1)), mutants=Choice(2, operators=("NAI",), ratios=(1.0,))
        )


class Columns(nn.Module):
    """A model of one logit in other forms."""

    def __init__(self, model, form):
        super().__init__()
        self.model, self.form = model, form

    def forward(self, x):
        one = self.model(x)
        both = torch.cat([torch.zeros_like(one), one], 1)
        return {"one": one, "row": one[:, 0], "two": both, "probabilities": both.softmax(1)}[self.form]


def test_one_column_is_attacked_as_two_are():
    x, _ = scaled(40)
    single = nn.Linear(2, 1).eval()
    with torch.no_grad():
        single.weight.copy_(torch.tensor([[60.0, 0.0]]))
        single.bias.fill_(-30.0)
    found = {}
    for form in ("one", "row", "two", "probabilities"):
        net, data = Columns(single, form).eval(), (x, (x[:, 0] > 0.5).long())
        result = attack(net, "carlini(iterations=30, searches=6)", data=data, task=Classification(2), mutants=0)
        level = result.levels[0]
        found[form] = level.ways[MUTANTS].of_correct(level.correct).value
    assert found["one"] == found["row"] == found["two"] == 1
    assert found["probabilities"] > 0.9


@cache
def attacked_in(kind, way):
    """What an attack reaches in a precision, computed once for all tests that compare with it."""
    x, y = scaled(80)
    return attack(copy.deepcopy(sure(8.0)).to(kind), way, 0.08, data=(x.to(kind), y), mutants=0).levels[0]


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize(
    "way", ["pgd(iterations=8)", "pgd(norm=l2, iterations=8)", "carlini(iterations=20, searches=6)"]
)
def test_other_precisions(kind, way):
    full, half = (attacked_in(dtype, way) for dtype in (torch.float32, kind))
    shares = [one.ways[MUTANTS].of_correct(one.correct).value for one in (full, half)]
    assert shares[1] == pytest.approx(shares[0], abs=0.05)
    assert shares[1] > 0.1
    if half.eps is not None:
        assert half.ways[MUTANTS].distances["l2" if "l2" in way else "linf"].max() <= half.eps


class Writing(nn.Module):
    """Normalizes its inputs where they are."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x.mul_(10).sub_(5))


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("form", ["writes", "clips"])
def test_a_model_that_writes_into_its_inputs(model, kind, form):
    x, y = scaled(80)
    net = Writing(toys.classifier()) if form == "writes" else nn.Sequential(nn.ReLU(inplace=True), model)
    given = x.to(kind)
    data = torch.utils.data.TensorDataset(given, y)
    for way in ("pgd(iterations=4)", "carlini(iterations=4, searches=2)"):
        found = attack(net.to(kind).eval(), way, data=data, **QUICK)
        assert torch.equal(given, x.to(kind))
        assert found.levels[0].ways[MUTANTS].fooled.any()


class Hard(nn.Module):
    """Cannot be differentiated."""

    def __init__(self, form):
        super().__init__()
        self.form, self.head = form, nn.Linear(2, 3)

    def forward(self, x):
        if self.form == "steps":
            return self.head((x > 0.5).float())
        if self.form == "numpy":
            return self.head(torch.from_numpy(x.numpy() * 2))
        with torch.no_grad():
            return self.head(x)


@pytest.mark.parametrize("form", ["steps", "numpy", "no gradients"])
@pytest.mark.parametrize("way", ["pgd", "carlini"])
def test_models_without_gradients(form, way):
    with pytest.raises(BadInput, match=r"BPDA.*mutiny\.Defended"):
        attack(Hard(form).eval(), way, data=scaled(20), mutants=0)


def test_the_range_is_that_of_the_type(model):
    x, y = toys.blobs(80)
    x = x.clamp(-2.1179, 2.64)
    settings = {"low": -2.1179, "high": 2.64, "mutants": 0, "count": 80}
    found = attack(model, "pgd(iterations=3)", data=(x, y), **settings)
    again = attack(model, "pgd(iterations=3)", data=(found.levels[0].ways[MUTANTS].inputs, y), **settings)
    assert len(again.indices) == 80


class TimeFirst(nn.Module):
    """Has no row for each input before its output layer."""

    def __init__(self):
        super().__init__()
        self.recurrent, self.head = nn.LSTM(3, 5), nn.Linear(5, 2)

    def forward(self, x):
        return self.head(self.recurrent(x.transpose(0, 1))[0])[-1]


class Prototypes(nn.Module):
    """Has no layers."""

    def __init__(self):
        super().__init__()
        self.register_buffer("each", torch.rand(2, 3))

    def forward(self, x):
        return -torch.cdist(x, self.each)


@pytest.mark.parametrize("batch_size", [6, 7])
def test_a_model_with_time_first(batch_size):
    net, x = TimeFirst().eval(), torch.rand(24, 6, 3)
    settings = {"data": (x, net(x).argmax(1)), "batch_size": batch_size}
    assert attack(net, "pgd(iterations=2)", mutants=0, **settings).notes == ()
    made = Choice(2, iterations=3, operators=("GF", "WS"), ratios=(0.5,))
    found = attack(net, "pgd(iterations=2)", mutants=made, **settings)
    assert any("compared by their outputs" in note for note in found.notes)


def test_a_model_without_layers():
    net, x = Prototypes().eval(), torch.rand(20, 3)
    found = attack(net, "pgd(iterations=2)", data=(x, net(x).argmax(1)), mutants=0)
    assert found.similarity.tolist() == [[1.0]]


def test_only_the_first_of_several_originals_is_attacked():
    split = scaled()
    subject = Subject(
        models=[Wide(toys.classifier()).eval() for _ in range(2)], task=Classification(3), train=split, test=split
    )
    found = attack(subject, "fgsm", 0.05, mutants=0, count=20)
    assert any("2 originals" in note for note in found.notes)


def test_distances_are_those_of_inputs_that_were_right(model):
    x, y = scaled()
    wrong = torch.where(torch.arange(len(y)) % 2 == 0, (y + 1) % 3, y)
    found = attack(model, "carlini(iterations=20, searches=3)", data=(x, wrong), mutants=0, count=60)
    level = found.levels[0]
    one = level.ways[MUTANTS]
    assert found.to_json()["results"][0]["distance"]["l2"] == pytest.approx(
        one.distances["l2"][one.fooled & level.correct].mean()
    )
    assert one.distances["l2"][one.fooled].mean() < one.distances["l2"][one.fooled & level.correct].mean()


def test_how_near_mutants_come_is_compared_on_what_both_fool():
    found = attacked(CARLINI)[2]
    level = found.levels[0]
    nearer = level.nearer()
    ours, theirs = level.ways[MUTANTS], level.ways[BUDGET]
    both = level.correct & ours.fooled & theirs.fooled
    assert nearer.inputs == both.sum()
    apart = ours.distances["l2"][both] - theirs.distances["l2"][both]
    assert nearer.difference == pytest.approx(apart.mean())
    assert nearer.interval.low <= nearer.difference <= nearer.interval.high
    assert nearer.p_value == pytest.approx(wilcoxon(apart, method="approx").pvalue, abs=0.05)
    told = found.to_json()["results"][0]["nearer"]
    assert set(told) == {ORIGINAL, BUDGET}
    assert told[BUDGET]["value"] == nearer.difference


def test_mutants_for_other_libraries(model):
    x, y = scaled()
    made = mutants_of(model, QUICK["mutants"], data=(x, y), count=120)
    found = attack(model, "fgsm", data=(x, y), **QUICK)
    assert tuple(str(mutant.spec) for mutant in made) == found.mutants
    module = EnsembleModule(Ensemble(model, [mutant.patch for mutant in made]))
    assert module(x[:5]).shape == (5, 3)


@pytest.mark.parametrize(
    ("beside", "names"),
    [
        ("fgsm", ["fgsm"]),
        (Fgsm(), ["fgsm"]),
        ("fgsm, pgd(iterations=1)", ["fgsm", "pgd(iterations=1)"]),
        ([Pgd(iterations=1), "fgsm"], ["pgd(iterations=1)", "fgsm"]),
    ],
)
def test_attacks_beside_in_every_form(model, beside, names):
    level = attack(model, "pgd(iterations=2)", data=scaled(), mutants=0, count=10, beside=beside).levels[0]
    assert list(level.ways) == [MUTANTS, *names]


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
    way = "pgd(iterations=4, random_start=true, restarts=2)"
    first, second = (
        attack(model, way, 0.05, data=scaled(), batch_size=size, baselines=False, **QUICK) for size in (25, 64)
    )
    assert first.mutants == second.mutants
    for a, b in zip(first.levels, second.levels, strict=True):
        torch.testing.assert_close(a.ways[MUTANTS].inputs, b.ways[MUTANTS].inputs, atol=1e-5, rtol=1e-4)
    other = attack(model, way, 0.05, data=scaled(), seed=1, baselines=False, **QUICK)
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
        net,
        "pgd(iterations=2)",
        0.5,
        data=(inputs, labels),
        task=Classification(classes),
        low=low,
        high=high,
        mutants=Choice(count=2, iterations=3, ratios=(0.1,)),
    )
    assert len(found.levels[0].correct) == len(inputs)


def test_a_mutant_that_destroys_the_model(model):
    made = Choice(count=2, iterations=2, operators=("NEB",), ratios=(1.0,))
    found = attack(model, "fgsm", 0.05, data=scaled(), mutants=made, count=60)
    assert any("less than half of the accuracy" in note for note in found.notes)
    with pytest.raises(BadInput, match="an accuracy that mutants can reach"):
        attack(
            model,
            "fgsm",
            0.05,
            data=scaled(),
            count=60,
            mutants=Choice(count=2, iterations=2, operators=("NEB",), ratios=(1.0,), floor=0.9),
        )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attack": "pdg"}, "Did you mean pgd"),
        ({"eps": 0}, "at 0 nothing changes"),
        ({"eps": ()}, "above 0"),
        ({"eps": "a"}, "above 0"),
        ({"eps": "0.1"}, "above 0"),
        ({"eps": True}, "above 0"),
        ({"eps": 1e39}, "at most 1e.30"),
        ({"eps": (0.1, None)}, "above 0"),
        ({"low": "0"}, "expected a finite number"),
        ({"high": np.inf}, "expected a finite number"),
        ({"attack": "pgd(momentum=inf)"}, "momentum=inf"),
        ({"attack": "pgd(step=inf)"}, "step=inf"),
        ({"attack": "carlini(confidence=inf)"}, "confidence=inf"),
        ({"attack": "pgd(loss=hinge)"}, "cross-entropy, margin or both"),
        ({"mutants": -1}, "mutants=-1"),
        ({"combine": "votes"}, "gradients, logits, probabilities"),
        ({"low": 1.0, "high": 0.0}, "low=1.0: expected less than high=0.0"),
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
    with patch.applied(net) as call, torch.no_grad(), LayerInputRecorder(view, view.layers[-1]) as recorder:
        call(x)
        read = recorder.last(20)
    expected = net[:2](x).detach()
    expected[:, torch.from_numpy(units)] = 0
    torch.testing.assert_close(read, expected)


def test_rates():
    rate = Rate.of([True, False, True])
    assert (rate.count, rate.total) == (2, 3)
    assert rate.interval.low < rate.value < rate.interval.high
    assert Rate.of([]).value is None
