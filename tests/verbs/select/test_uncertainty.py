import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import special, stats
from torch import nn

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification, Regression
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.uncertainty.disagreement import (
    Disagreement,
    mutual_information,
    predictive_entropy,
    variance,
    variation_ratio,
)
from mutiny.verbs.select.uncertainty.entropy import Entropy, entropy
from mutiny.verbs.select.uncertainty.internal_gini import InternalGini, gini
from mutiny.verbs.select.uncertainty.margin import Margin
from mutiny.verbs.select.uncertainty.softmax import Softmax

pytestmark = pytest.mark.rounding


def evidence_of(models, task, n=23, features=4, **more):
    x = np.random.default_rng(0).normal(size=(n, features)).astype(np.float32)
    return Evidence(models, task, as_data((x, np.zeros(n, int)), "pool"), **{"batch_size": 16, **more})


def fixed(outputs):
    """A model that says these rows, whatever it reads: the input is the number of the row."""
    table = nn.Embedding.from_pretrained(torch.as_tensor(outputs))
    return nn.Sequential(table).eval()


def saying(outputs, task):
    numbers = np.arange(len(outputs))
    pool = as_data((numbers, np.zeros(len(numbers), int)), "pool")
    return Evidence([fixed(outputs)], task, pool, forward=lambda model, x: model(x.long()), batch_size=2)


def mlp(outputs=3):
    return nn.Sequential(nn.Linear(4, 7), nn.ReLU(), nn.Linear(7, outputs)).eval()


@st.composite
def distributions(draw, several=False):
    """``(n, classes)`` or ``(answers, n, classes)`` probabilities, some of them exactly 0 or 1."""
    shape = (draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(2, 5)))
    raw = draw(arrays(np.float64, shape if several else shape[1:], elements=st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0])))
    raw[..., 0] += raw.sum(axis=-1) == 0
    return raw / raw.sum(axis=-1, keepdims=True)


# softmax, entropy, margin

ROWS = [[0.7, 0.2, 0.1], [1.0, 0.0, 0.0], [0.4, 0.4, 0.2], [0.25, 0.25, 0.5]]


def test_by_hand():
    evidence = saying(torch.tensor(ROWS), Classification(3, "probabilities"))
    assert Softmax().score(evidence) == pytest.approx([0.3, 0, 0.6, 0.5], abs=1e-6)
    assert Margin().score(evidence) == pytest.approx([0.5, 0, 1, 0.75], abs=1e-6)
    bits = [-sum(p * math.log2(p) for p in row if p) for row in ROWS]
    assert Entropy().score(evidence) == pytest.approx(bits, abs=1e-6)
    assert bits[3] == 1.5


def test_logits_are_turned_into_probabilities_once():
    logits = torch.randn(9, 4)
    p = special.softmax(logits.double().numpy(), axis=1)
    evidence = saying(logits, Classification(4, "logits"))
    assert Softmax().score(evidence) == pytest.approx(1 - p.max(axis=1), abs=1e-6)
    assert Entropy().score(evidence) == pytest.approx(stats.entropy(p, base=2, axis=1), abs=1e-6)
    ranked = np.sort(p, axis=1)
    assert Margin().score(evidence) == pytest.approx(1 - ranked[:, -1] + ranked[:, -2], abs=1e-6)


def test_one_column_is_two_classes():
    evidence = saying(torch.tensor([[0.9], [0.5], [0.2]]), Classification(2, "probabilities"))
    assert Softmax().score(evidence) == pytest.approx([0.1, 0.5, 0.2], abs=1e-6)
    assert Margin().score(evidence) == pytest.approx([0.2, 1, 0.4], abs=1e-6)
    assert Entropy().score(evidence) == pytest.approx([stats.entropy([p, 1 - p], base=2) for p in (0.9, 0.5, 0.2)])


@given(distributions())
@settings(max_examples=40, deadline=None)
def test_entropy_is_scipys_and_between_none_and_all_of_the_bits(p):
    bits = entropy(torch.from_numpy(p)).numpy()
    assert bits == pytest.approx(stats.entropy(p, base=2, axis=1), abs=1e-12)
    assert (bits >= 0).all()
    assert (bits <= math.log2(p.shape[1]) + 1e-12).all()


@pytest.mark.parametrize("method", [Softmax(), Entropy(), Margin()])
def test_output_methods_need_classes(method):
    with pytest.raises(NotApplicable, match="classification"):
        method.rank(evidence_of([mlp(1)], Regression(0.1)))


# disagreement


@given(distributions(several=True))
@settings(max_examples=60, deadline=None)
def test_measures_of_disagreement_are_their_definitions(answers):
    m, n, classes = answers.shape
    several = torch.from_numpy(answers)
    for i in range(n):
        votes = [0] * classes
        for answer in range(m):
            votes[int(answers[answer, i].argmax())] += 1
        assert float(variation_ratio(several)[i]) == pytest.approx(1 - max(votes) / m)
        whole = stats.entropy(answers[:, i].mean(axis=0), base=2)
        own = np.mean([stats.entropy(answers[answer, i], base=2) for answer in range(m)])
        assert float(predictive_entropy(several)[i]) == pytest.approx(whole, abs=1e-9)
        assert float(mutual_information(several)[i]) == pytest.approx(whole - own, abs=1e-9)
        assert float(variance(several)[i]) == pytest.approx(answers[:, i].var(axis=0).sum(), abs=1e-12)


@given(distributions(several=True), st.randoms())
@settings(max_examples=30, deadline=None)
def test_disagreement_does_not_depend_on_who_says_what_and_is_none_among_equals(answers, random):
    several = torch.from_numpy(answers)
    mixed = several[random.sample(range(len(several)), len(several))]
    for measure in (variation_ratio, predictive_entropy, mutual_information, variance):
        assert torch.allclose(measure(several), measure(mixed), atol=1e-9)
        assert bool((measure(several) >= 0).all())
    alike = several[:1].expand(4, -1, -1)
    for measure in (variation_ratio, mutual_information, variance):
        assert float(measure(alike).abs().max()) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("measure", ["votes", "entropy", "mutual-information"])
def test_disagreement_uses_the_outputs_of_each_original(measure):
    models = [mlp() for _ in range(5)]
    evidence = evidence_of(models, Classification(3, "logits"))
    x = evidence.pool.first(99)
    with torch.no_grad():
        answers = torch.stack([model(x).softmax(dim=1) for model in models])
    reference = {"votes": variation_ratio, "entropy": predictive_entropy, "mutual-information": mutual_information}
    assert Disagreement(measure).score(evidence) == pytest.approx(reference[measure](answers).numpy(), abs=1e-6)


def test_regression_takes_standard_deviations():
    models = [mlp(2) for _ in range(3)]
    evidence = evidence_of(models, Regression(0.1))
    x = evidence.pool.first(99)
    with torch.no_grad():
        said = np.array([model(x).numpy() for model in models])
    assert Disagreement().score(evidence) == pytest.approx(said.std(axis=0).sum(axis=1), abs=1e-6)


def test_disagreement_needs_several_originals():
    with pytest.raises(NotApplicable, match=r"several originals.*models="):
        Disagreement().score(evidence_of([mlp()], Classification(3, "logits")))
    with pytest.raises(BadInput, match="disagreement measure"):
        Disagreement("range")


# internal Gini


@given(
    arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=st.sampled_from([-2.0, 0.0, 1.0, 5.0]))
)
@settings(max_examples=40, deadline=None)
def test_gini_is_its_definition(features):
    n, d = features.shape
    values = torch.from_numpy(features)
    for i in range(n):
        total = sum(abs(value) for value in features[i])
        shares = [abs(value) / total if total else 1 / d for value in features[i]]
        assert float(gini(values, "sum")[i]) == pytest.approx(1 - sum(q * q for q in shares))
        q = special.softmax(features[i])
        assert float(gini(values, "softmax")[i]) == pytest.approx(1 - (q * q).sum())
    for normalize in ("sum", "softmax"):
        assert bool((gini(values, normalize) >= -1e-12).all())
        assert bool((gini(values, normalize) <= 1 - 1 / d + 1e-12).all())


def test_gini_of_large_numbers_is_a_number():
    assert torch.isfinite(gini(torch.tensor([[1e30, -1e30], [1e-30, 0.0]]), "softmax")).all()
    assert gini(torch.tensor([[1e-30, 1e-30]]), "sum").tolist() == [0.5]


class Small(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.conv, self.fc, self.head = nn.Conv2d(1, 3, 3), nn.Linear(27, 5), nn.Linear(5, outputs)

    def forward(self, x):
        self.features = torch.max_pool2d(self.conv(x).relu(), 2)
        return self.head(self.fc(self.features.flatten(1)).relu())


@pytest.mark.parametrize("normalize", ["softmax", "sum"])
@pytest.mark.parametrize("task", [Classification(3, "logits"), Regression(0.5)])
def test_internal_gini_reads_the_last_feature_layer(normalize, task):
    model, x = Small(3).eval(), np.random.default_rng(1).random((11, 1, 8, 8), dtype=np.float32)
    evidence = Evidence([model], task, as_data((x, np.zeros(11, int)), "pool"), batch_size=4)
    found = InternalGini(normalize).score(evidence)
    with torch.no_grad():
        model(torch.from_numpy(x))
        whole = model.features.flatten(1)
        channels = model.features.mean(dim=(2, 3))
        hidden = model.fc(whole).relu()
    assert found == pytest.approx(gini(whole, normalize).numpy(), abs=1e-6)
    by_channel = InternalGini(normalize, units="neuron").score(evidence)
    assert by_channel == pytest.approx(gini(channels, normalize).numpy(), abs=1e-6)
    elsewhere = InternalGini(normalize, layers=("fc",)).score(evidence)
    assert elsewhere == pytest.approx(gini(hidden, normalize).numpy(), abs=1e-6)
    assert any("internal-gini reads" in note for note in evidence.notes)


def test_internal_gini_checks_its_parameters():
    with pytest.raises(BadInput, match="internal-gini normalize"):
        InternalGini("max")
    with pytest.raises(BadInput, match="internal-gini units"):
        InternalGini(units="pixel")
