import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.models.capture import scaled
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification
from mutiny.verbs.select.coverage import criterion, ranges
from mutiny.verbs.select.coverage.kmnc import Kmnc, section_of
from mutiny.verbs.select.coverage.nac import Nac
from mutiny.verbs.select.coverage.nbc import Nbc, corner_of
from mutiny.verbs.select.coverage.ranges import ranges_of, training_ranges
from mutiny.verbs.select.coverage.snac import Snac
from mutiny.verbs.select.coverage.tknc import Tknc, most_active
from mutiny.verbs.select.evidence import Evidence

pytestmark = pytest.mark.rounding

N, TRAIN = 41, 60
ALL = [
    *(Nac(0.4), Nac(0.6, scaling="channel"), Nac(scaling="sigmoid"), Nac(0.1, scaling="none"), Nac(0.3, units="unit")),
    *(Nac(0.1, scaling="none", units="neuron"), Nac(0.4, order="total")),
    *(Kmnc(7), Kmnc(7, "deepgini"), Kmnc(5, "dnn-tip")),
    *(Nbc(), Nbc(0.2), Nbc(units="unit"), Nbc(order="total")),
    *(Snac(), Snac(0.1), Snac(order="total")),
    *(Tknc(), Tknc(1), Tknc(3, units="unit")),
]


class Convolutional(nn.Module):
    """Layers after activation and pooling: 3 x 3 x 3, 4 x 2 x 2, 5 and 3 numbers."""

    shape = (1, 8, 8)
    channel = 0

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 3, 3), nn.Conv2d(3, 4, 2)
        self.third, self.output = nn.Linear(16, 5), nn.Linear(5, 3)

    def layers(self, x):
        one = torch.max_pool2d(torch.relu(self.first(x)), 2)
        two = torch.relu(self.second(one))
        three = torch.relu(self.third(two.flatten(1)))
        return [one, two, three, self.output(three)]

    def forward(self, x):
        return self.layers(x)[-1]


class Sequential(Convolutional):
    """Steps before neurons: 4 x 6, then 3 numbers."""

    shape = (4, 5)
    channel = -1

    def __init__(self):
        nn.Module.__init__(self)
        self.first, self.output = nn.Linear(5, 6), nn.Linear(6, 3)

    def layers(self, x):
        one = torch.tanh(self.first(x))
        return [one, self.output(one.mean(dim=1))]


@pytest.fixture(params=[Convolutional, Sequential])
def model(request):
    torch.manual_seed(0)
    return request.param().double().eval()  # double, so that no rounding decides on which side of an edge a value is


def inputs(model, n, seed, loud=1.0):
    return np.random.default_rng(seed).normal(size=(n, *model.shape)) * loud


def evidence_of(model, seed=0, batch_size=16, train=True):
    pool = as_data((inputs(model, N, 1, 1.5), np.zeros(N, int)), "pool")
    known = as_data((inputs(model, TRAIN, 2), np.zeros(TRAIN, int)), "train")
    task = Classification(3, "logits")
    return Evidence([model], task, pool, known if train else None, seed=seed, batch_size=batch_size)


def coded(selector, evidence):
    places = evidence.read_points(selector.code, "all", selector.counted, own=selector.layers)
    return torch.cat(list(selector.codes(evidence, places))).numpy()


# references: one input, one layer and one neuron at a time


def said(model, x, units):
    """For each input a list of layers, each a list of neurons, each the list of its numbers."""
    rows = []
    for one in torch.from_numpy(x):
        layers = []
        for layer in model.layers(one[None]):
            values = layer[0].detach().numpy()
            if units == "unit":  # in the order of the tensor
                layers.append([[float(number)] for number in np.ravel(values)])
            else:
                layers.append([np.ravel(neuron).tolist() for neuron in np.moveaxis(values, model.channel, 0)])
        rows.append(layers)
    return rows


def mean(numbers):
    return sum(numbers) / len(numbers)


def slow_nac(rows, threshold, scaling):
    result = []
    for layers in rows:
        codes = []
        for layer in layers:
            numbers = [number for neuron in layer for number in neuron]
            means = [mean(neuron) for neuron in layer]
            for neuron in layer:
                value = mean(neuron)
                if scaling == "layer":
                    low, high = min(numbers), max(numbers)
                    value = mean([(number - low) / (high - low) if high > low else 0.0 for number in neuron])
                elif scaling == "channel":
                    low, high = min(means), max(means)
                    value = (value - low) / (high - low) if high > low else 0.0
                elif scaling == "sigmoid":
                    value = 1 / (1 + math.exp(-value))
                codes.append(0 if value > threshold else -1)
        result.append(codes)
    return result


def flat(rows):
    """One number per input and neuron."""
    return [[mean(neuron) for layer in layers for neuron in layer] for layers in rows]


def slow_kmnc(value, column, k, variant):
    low, high = min(column), max(column)
    if variant == "deepgini":
        return int(np.digitize(value, np.linspace(low, high, k)))
    if variant == "deepgauge" and low == high:
        return 0 if value == low else -1
    edges = [low + (high - low) / k * i for i in range(k + 1)]
    for i in range(k):
        if edges[i] <= value < edges[i + 1]:
            return i
    return k - 1 if value == high and variant == "deepgauge" else -1


def expected(selector, model):
    rows = said(model, inputs(model, N, 1, 1.5), selector.counted)
    if isinstance(selector, Nac):
        return slow_nac(rows, selector.threshold, selector.scaling)
    if isinstance(selector, Tknc):
        top = []
        for layers in rows:
            top.append([])
            for layer in layers:
                best = sorted(range(len(layer)), key=lambda i: (-mean(layer[i]), i))[: selector.k]
                top[-1] += [0 if i in best else -1 for i in range(len(layer))]
        return top
    columns = list(zip(*flat(said(model, inputs(model, TRAIN, 2), selector.counted)), strict=True))
    result = []
    for row in flat(rows):
        result.append([])
        for value, column in zip(row, columns, strict=True):
            if isinstance(selector, Kmnc):
                result[-1].append(slow_kmnc(value, column, selector.k, selector.variant))
                continue
            beyond = selector.margin * np.std(column)
            corner = 0 if value < min(column) - beyond else 1 if value > max(column) + beyond else -1
            result[-1].append(corner if type(selector) is Nbc else 0 if corner == 1 else -1)
    return result


@pytest.mark.parametrize("selector", ALL, ids=str)
def test_codes_are_those_of_a_loop_over_inputs_and_neurons(model, selector):
    codes, wanted = coded(selector, evidence_of(model)), np.array(expected(selector, model))
    assert np.array_equal(codes, wanted)
    assert codes.min() >= -1
    assert codes.max() < selector.sections
    assert len(np.unique(codes)) > 1  # else the comparison would say little


@pytest.mark.parametrize("selector", [one for one in ALL if one.order == "additional"], ids=str)
def test_every_choice_adds_as_much_as_any_other_would_and_the_rest_comes_by_count(model, selector):
    evidence = evidence_of(model)
    order, _ = selector.rank(evidence)
    sets = [{(j, code) for j, code in enumerate(row) if code >= 0} for row in expected(selector, model)]
    covered, rest, totals = set(), set(range(N)), []
    for index in order.tolist():
        best = max(len(sets[i] - covered) for i in rest)
        assert len(sets[index] - covered) == best
        if not best:
            totals.append(len(sets[index]))
        covered |= sets[index]
        rest.remove(index)
    assert totals == sorted(totals, reverse=True)
    assert any(f"{N - len(totals)} of {N} inputs cover all" in note for note in evidence.notes)


@pytest.mark.parametrize("selector", [one for one in ALL if one.order == "total"], ids=str)
def test_total_coverage_counts(model, selector):
    wanted = (np.array(expected(selector, model)) >= 0).sum(axis=1)
    assert selector.score(evidence_of(model)).tolist() == wanted.tolist()


@pytest.mark.parametrize("selector", ALL, ids=str)
def test_scores_depend_on_the_seed_and_not_on_the_batch_size(model, selector):
    scores = selector.score(evidence_of(model))
    assert np.array_equal(scores, selector.score(evidence_of(model, batch_size=5)))
    other = selector.score(evidence_of(model, seed=1))
    assert np.array_equal(scores, other) == (selector.order == "total")


def test_ties_do_not_follow_the_order_of_the_pool(model):
    evidence = evidence_of(model)
    order, _ = Nac(1.0).rank(evidence)  # nothing is above the largest
    assert order.tolist() != list(range(N))
    assert "nac: no input covers anything, so the order is random" in evidence.notes


# numbers


def test_a_constant_layer_is_not_active():
    values = torch.tensor([[3.0, 3.0], [0.0, 0.0], [1.0, 2.0]])
    assert scaled(values).tolist() == [[0, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize(("threshold", "wanted"), [(0.0, [1, 1, 1, 1]), (0.5, [0, 0, 1, 1]), (1.0, [0, 0, 0, 0])])
def test_half_of_the_sigmoid_is_a_positive_mean_however_small(threshold, wanted):
    linear = nn.Linear(1, 1, bias=False)
    nn.init.ones_(linear.weight)
    x = np.array([[-200.0], [0.0], [1e-20], [50.0]], dtype=np.float32)
    evidence = Evidence(
        [linear.eval()], Classification(2, "logits"), as_data((x, np.zeros(4, int)), "pool"), batch_size=4
    )
    assert (coded(Nac(threshold, scaling="sigmoid"), evidence) + 1).ravel().tolist() == wanted


@given(st.integers(1, 9), st.lists(st.integers(-8, 48), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_edges_of_sections(k, quarters):
    """Edges at whole numbers, so that they are exact."""
    values = torch.tensor(quarters).double()[:, None] / 4
    for variant, high in [("deepgauge", k), ("dnn-tip", k), ("deepgini", max(k - 1, 1))]:
        column = [0.0, float(high)]
        codes = section_of(values, ranges_of([torch.tensor(column)[:, None]]), k, variant)
        assert codes.ravel().tolist() == [slow_kmnc(v, column, k, variant) for v in values.ravel().tolist()]


@pytest.mark.parametrize(
    ("variant", "wanted"), [("deepgauge", [-1, 0, -1]), ("dnn-tip", [-1, -1, -1]), ("deepgini", [0, 5, 5])]
)
def test_neurons_that_are_constant_on_the_training_data(variant, wanted):
    constant = ranges_of([torch.full((3, 1), 2.0)])
    values = torch.tensor([[1.0], [2.0], [3.0]])
    assert section_of(values, constant, 5, variant).ravel().tolist() == wanted
    assert corner_of(values, constant, 3.0).ravel().tolist() == [0, -1, 1]


def test_values_that_are_not_numbers_cover_nothing():
    known, wild = ranges_of([torch.tensor([[0.0], [1.0]])]), torch.tensor([[torch.nan], [torch.inf], [-torch.inf]])
    assert section_of(wild, known, 5).ravel().tolist() == [-1, -1, -1]
    assert corner_of(wild, known, 0.0).ravel().tolist() == [-1, 1, 0]


@given(st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=5), st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_of_equal_activations_the_first_is_the_most_active(rows, k):
    wanted = [[sum(w > v or (w == v and j < i) for j, w in enumerate(r)) < k for i, v in enumerate(r)] for r in rows]
    assert most_active(torch.tensor(rows).double(), k).tolist() == wanted


# ranges


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.sampled_from([0.0, 1e7]))
@settings(max_examples=40, deadline=None)
def test_ranges_are_those_of_all_rows_at_once(sizes, offset):
    values = np.random.default_rng(sum(sizes)).normal(size=(sum(sizes), 4)) + offset
    found = ranges_of(torch.from_numpy(values).split(sizes))
    assert np.array_equal(found.minimum, values.min(axis=0))
    assert np.array_equal(found.maximum, values.max(axis=0))
    np.testing.assert_allclose(found.mean, values.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.sd, values.std(axis=0), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("wild", [torch.nan, torch.inf, -torch.inf])
def test_ranges_of_values_that_are_not_finite_are_refused(wild):
    with pytest.raises(BadInput, match="in 1 of 2 neurons"):
        ranges_of([torch.zeros(2, 2), torch.tensor([[0.0, wild]])])


def test_criteria_share_one_pass_over_the_training_data(model, monkeypatch):
    evidence, passes = evidence_of(model), []
    monkeypatch.setattr(ranges, "ranges_of", lambda batches: passes.append(1) or ranges_of(batches))
    for seed, selector in enumerate((Kmnc(3), Nbc(), Snac(1.0), Kmnc(3, "dnn-tip"), Nbc(layers=("first",)))):
        selector.score(evidence.reseeded(seed))  # as `select` does for each method and repeat
    assert len(passes) == 3  # per channel, per unit, and of one layer
    places = evidence.read_points("kmnc", "all", "neuron")
    assert training_ranges(evidence, places, "neuron") is training_ranges(evidence, places, "neuron")


# what users may do wrong


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Nac(1.5), "between 0 and 1"),
        (lambda: Nac(math.nan, scaling="none"), "nac threshold"),
        (lambda: Nac(scaling="softmax"), "one of layer, channel, sigmoid, none"),
        (lambda: Nac(order="best"), "one of additional, total"),
        (lambda: Nac(units="pixel"), "one of unit, neuron"),
        (lambda: Kmnc(0), "a whole number between 1"),
        (lambda: Kmnc(2.5), "a whole number"),
        (lambda: Kmnc(variant="paper"), "one of deepgauge, deepgini, dnn-tip"),
        (lambda: Kmnc(order="total"), "covers one section of every neuron"),
        (lambda: Tknc(True), "a whole number"),
        (lambda: Tknc(order="total"), "all totals are equal"),
        (lambda: Nbc(-1), "nbc margin"),
        (lambda: Snac(-0.1), "snac margin"),
    ],
)
def test_wrong_parameters_are_named(make, match):
    with pytest.raises(BadInput, match=match):
        make()


@pytest.mark.parametrize("selector", [Kmnc(3), Nbc(), Snac()], ids=str)
def test_ranges_need_training_data(model, selector):
    with pytest.raises(NotApplicable, match="training data"):
        selector.rank(evidence_of(model, train=False))


def test_activation_needs_no_training_data(model):
    evidence = evidence_of(model, train=False)
    assert len(Nac().rank(evidence)[0]) == len(Tknc().rank(evidence)[0]) == N


def test_a_pool_that_would_not_fit_into_memory_is_refused(model, monkeypatch):
    monkeypatch.setattr(criterion, "LARGEST", 1000)
    with pytest.raises(NotApplicable, match="units=neuron or fewer layers"):
        Nac(scaling="none").rank(evidence_of(model))
    assert len(Nac(scaling="none", order="total").rank(evidence_of(model))[0]) == N
