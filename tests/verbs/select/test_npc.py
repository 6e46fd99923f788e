"""NPC against sets and loops written from its definition."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.models import ModelState
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.npc import Npc, abstract, covering, critical, decisive, overlap
from toys import blobs, classifier

pytestmark = pytest.mark.rounding


def evidence_of(model=None, n=60, seed=0, batch_size=16, classes=3, outputs="logits", **settings):
    model = classifier(0) if model is None else model
    pool = as_data((blobs(n, seed=5, spread=1.5)[0], np.zeros(n, int)), "pool")
    x, y = blobs(90, seed=1)
    task = Classification(classes, outputs)
    return Evidence([model], task, pool, as_data((x, y), "train"), seed=seed, batch_size=batch_size, **settings)


# Paths of inputs


def slow_path(relevance, alpha):
    """Neurons, most relevant first, until their sum reaches the share."""
    positive = sum(value for value in relevance if value > 0)
    taken, reached = set(), 0.0
    for neuron in sorted(range(len(relevance)), key=lambda neuron: -relevance[neuron]):
        if relevance[neuron] <= 0 or reached >= alpha * positive * (1 - 1e-12):
            break
        taken.add(neuron)
        reached += relevance[neuron]
    return taken


@given(st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=15), st.sampled_from([0.0, 0.3, 0.7, 0.99, 1.0]))
@settings(max_examples=100, deadline=None)
def test_a_path_is_what_a_loop_takes(relevance, alpha):
    found = critical(torch.tensor([relevance]), alpha)[0]
    assert set(found.nonzero()[:, 0].tolist()) == slow_path(relevance, alpha)


def test_the_neuron_that_reaches_the_share_is_the_last():
    assert critical(torch.tensor([[4.0, 3.0, 2.0, 1.0]]), 0.7).tolist() == [[True, True, False, False]]
    assert critical(torch.tensor([[4.0, 3.0, 2.0, 1.0]]), 0.71).tolist() == [[True, True, True, False]]
    assert critical(torch.tensor([[1.0, -5.0, 0.0, 2.0]]), 1.0).tolist() == [[True, False, False, True]]


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=15), st.floats(0.01, 1), st.integers(-9, 9))
@settings(max_examples=50, deadline=None)
def test_the_scale_of_relevance_does_not_matter_and_larger_shares_hold_more(relevance, alpha, scale):
    values = torch.tensor([relevance], dtype=torch.float64)
    path = critical(values, alpha)
    assert torch.equal(path, critical(values * 2.0**scale, alpha))
    assert bool((path <= critical(values, 1.0)).all())
    assert torch.equal(critical(values, 1.0), values > 0)


def test_the_decisive_number_is_the_logit_of_the_predicted_class():
    logits = torch.tensor([[1.0, 3.0, -2.0], [-1.0, -4.0, -3.0]])
    assert decisive(logits, Classification(3, "logits")).tolist() == [3.0, -1.0]
    centered = decisive(logits.softmax(dim=1), Classification(3, "probabilities"))
    assert torch.allclose(centered, (logits - logits.mean(dim=1, keepdim=True)).amax(dim=1), atol=1e-5)
    assert decisive(torch.tensor([[2.0], [-3.0]]), Classification(2, "logits")).tolist() == [2.0, 3.0]
    half = decisive(torch.tensor([2.0, -3.0]).sigmoid(), Classification(2, "probabilities"))
    assert torch.allclose(2 * half, torch.tensor([2.0, 3.0]), atol=1e-5)


# Abstract paths and similarity

paths = st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=12)


@given(paths, st.sampled_from([0.2, 0.6, 0.9, 1.0]))
@settings(max_examples=60, deadline=None)
def test_an_abstract_path_holds_what_enough_paths_hold(rows, beta):
    found = abstract(np.array(rows), 1, beta, 0)
    expected = [sum(row[neuron] for row in rows) / len(rows) >= beta for neuron in range(6)]
    assert found.tolist() == [expected]


def test_clusters_are_found_apart():
    one, two = [True, True, False, False], [False, False, True, True]
    found = abstract(np.array([one, two, one, one, two, [True, True, True, False]]), 2, 0.6, 0)
    assert sorted(found.tolist()) == sorted([one, two])


def test_there_are_no_more_clusters_than_different_paths():
    assert abstract(np.array([[True, False]] * 5), 4, 0.6, 0).tolist() == [[True, False]]
    assert abstract(np.empty((0, 3), bool), 4, 0.6, 0).shape == (0, 3)


@given(paths, paths)
@settings(max_examples=60, deadline=None)
def test_overlap_is_that_of_sets(first, second):
    shared, joined = overlap(np.array(first), np.array(second))
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            a, b = ({k for k, held in enumerate(path) if held} for path in (one, other))
            assert shared[i, j] / joined[i, j] == (len(a & b) / len(a | b) if a | b else 1)


# Order


@given(st.lists(st.lists(st.integers(-1, 5), min_size=3, max_size=3), min_size=1, max_size=15), st.integers(0, 99))
@settings(max_examples=80, deadline=None)
def test_each_choice_covers_as_much_as_any_could(rows, seed):
    elements = np.array([[10 * k + element if element >= 0 else -1 for k, element in enumerate(row)] for row in rows])
    order = covering(elements, np.random.default_rng(seed)).tolist()
    covered = set()
    for position in order:
        gains = [len({element for element in row if element >= 0} - covered) for row in elements.tolist()]
        assert gains[position] == max(gains) > 0
        covered |= {element for element in elements[position].tolist() if element >= 0}
    assert covered == {element for row in elements.tolist() for element in row if element >= 0}


# The method


def slow_npc(model, pool, train, labels, alpha, beta, buckets):
    """Elements and similarities with one cluster, by sets, one input at a time; one hidden ReLU layer, model[0]."""

    def path(x):
        hidden = torch.relu(model[0](x))
        label = int(model[2](hidden).argmax())
        return label, slow_path((hidden * model[2].weight[label]).tolist(), alpha)

    with torch.no_grad():
        known = {}
        for label in set(labels.tolist()):
            held = [found for said, found in map(path, train[labels == label]) if said == label]
            units = range(model[0].out_features)
            known[label] = {u for u in units if sum(u in one for one in held) >= beta * len(held) - 1e-9}
        for x in pool:
            label, own = path(x)
            both, either = len(own & known[label]), len(own | known[label])
            yield (label, math.ceil(both * buckets / either)), both / either


def test_similarities_are_those_of_sets():
    model, evidence = classifier(0), evidence_of()
    x, y = blobs(90, seed=1)
    expected = [similarity for _, similarity in slow_npc(model, evidence.pool.first(60), x, y, 0.7, 0.6, 100)]
    assert Npc(by="similarity").score(evidence) == pytest.approx(1 - np.array(expected))
    assert len(set(expected)) > 3


def test_coverage_takes_one_input_for_each_element():
    evidence = evidence_of()
    x, y = blobs(90, seed=1)
    elements = [e for e, _ in slow_npc(classifier(0), evidence.pool.first(60), x, y, 0.7, 0.6, 10)]
    order, scores = Npc(buckets=10).rank(evidence)
    count = len(set(elements))
    assert {elements[position] for position in order[:count]} == set(elements)
    assert (scores > 0).sum() == count < 60


def test_with_more_clusters_an_input_covers_one_element_for_each():
    evidence = evidence_of()
    one, many = (int((Npc(clusters=k, buckets=10).score(evidence) > 0).sum()) for k in (1, 3))
    assert many > one
    nearest = Npc(clusters=3, by="similarity").score(evidence)
    assert ((nearest >= 0) & (nearest <= 1)).all()


def test_the_seed_decides_and_batches_do_not():
    first, same, other = (Npc().score(evidence_of(seed=seed)) for seed in (0, 0, 1))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    assert np.array_equal(first, Npc().score(evidence_of(batch_size=5)))


def test_only_a_sample_of_the_training_data_is_looked_at():
    few, all_ = (Npc(sample=sample, by="similarity").score(evidence_of()) for sample in (1, 200))
    assert not np.array_equal(few, all_)
    seen = []

    def forward(model, x):
        seen.append(len(x))
        return model(x)

    evidence = evidence_of(forward=forward)
    evidence.predicted()
    evidence.all_read_points  # noqa: B018
    seen.clear()
    Npc(sample=4).score(evidence)
    assert sum(seen) == 60 + 3 * 4


def test_it_works_for_probabilities_and_leaves_the_model_alone():
    model = nn.Sequential(*classifier(0), nn.Softmax(dim=1)).eval()
    before = ModelState.of(model)
    soft = Npc(by="similarity").score(evidence_of(model, outputs="probabilities"))
    assert np.isfinite(soft).all()
    assert ModelState.of(model) == before


def test_npc_supports_convolutions_skip_connections_and_normalization():
    torch.manual_seed(0)
    body = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.body, self.head = nn.Conv2d(1, 4, 3), body, nn.Linear(4, 3)

        def forward(self, x):
            x = torch.relu(self.stem(x))
            x += self.body(x)
            return self.head(x.mean(dim=(2, 3)))

    x = torch.randn(40, 1, 6, 6)
    model = Net().eval()
    labels = model(x).argmax(dim=1)
    sources = as_data((x[:20], np.zeros(20, int)), "pool"), as_data((x, labels), "train")
    evidence = Evidence([model], Classification(3, "logits"), *sources, batch_size=8)
    assert np.isfinite(Npc(by="similarity").score(evidence)).all()
    assert any("npc reads stem" in note and "body.0" in note and "head" not in note for note in evidence.notes)


def test_classes_that_the_model_never_gets_right_have_no_path():
    model = classifier(0)
    with torch.no_grad():
        model[2].bias[1] = -100
    evidence = evidence_of(model)
    assert np.isfinite(Npc().score(evidence)).all()
    assert any("no paths of the classes 1" in note for note in evidence.notes)
    x, y = blobs(90, seed=1)
    train = as_data((x, (classifier(0)(x).argmax(dim=1) + 1) % 3), "train")
    all_wrong = Evidence([classifier(0)], Classification(3, "logits"), as_data((x, y), "pool"), train, batch_size=16)
    with pytest.raises(NotApplicable, match="no training input"):
        Npc().score(all_wrong)


def test_npc_needs_training_data_and_hidden_layers():
    linear = nn.Sequential(nn.Linear(2, 3)).eval()
    with pytest.raises(NotApplicable, match="hidden layer"):
        Npc().score(evidence_of(linear))
    without = Evidence([classifier(0)], Classification(3, "logits"), as_data(blobs(9), "pool"), batch_size=4)
    with pytest.raises(NotApplicable, match="train"):
        Npc().score(without)


@pytest.mark.parametrize(
    "wrong", [{"alpha": 2}, {"beta": -1}, {"clusters": 0}, {"buckets": 0}, {"sample": 0}, {"by": "x"}]
)
def test_parameters_are_checked(wrong):
    with pytest.raises(BadInput, match=f"npc {next(iter(wrong))}"):
        Npc(**wrong)
