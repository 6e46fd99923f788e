"""What localization is compared with does the same work on the same inputs."""

import numpy as np
import pytest
import torch

from benchmarks import localization, subjects
from mutiny.models import ModelState
from mutiny.models.activation_gradients import activation_gradients
from mutiny.subjects.inference.passes import Pace
from mutiny.verbs.locate.counting import hidden_points, read_neurons


@pytest.fixture(params=[*localization.SPECTRA_GOALS])
def network(request):
    return request.param


@pytest.fixture
def case(network):
    model = subjects.NETWORKS[network]().eval() if network in subjects.NETWORKS else localization.perceptron()
    found = localization.case_of(model, subjects.drawn_digits(50))
    found.pace = Pace(16, "channels-last")
    return found


def test_the_plain_pass_gives_the_outputs_that_are_counted(case):
    seen = [batch.outputs for batch in read_neurons(case, hidden_points(case))]
    torch.testing.assert_close([*localization.plain(case)], seen)
    assert sum(map(len, seen)) == 50


def test_plain_gradients_are_those_of_the_output_layer(case):
    indices = np.arange(7, 47)
    output = next(layer for layer in case.view.layers if layer.output)
    gradients = activation_gradients(case.view, {output.name: np.arange(10)}, case.call)
    for batch, (inputs, gradient) in zip(
        localization.batches(case, indices), localization.slopes(case, indices), strict=True
    ):
        assert torch.equal(inputs, batch)
        torch.testing.assert_close(gradient, 10 * gradients(batch, "none").gradient)  # the mean of ten outputs
    assert sum(map(len, localization.judged(case, indices))) == 40


def test_exercised_neurons_span_all_hidden_layers(case):
    places, neurons = hidden_points(case), localization.spread(case, 10)
    assert sum(map(len, neurons.values())) == 10
    assert neurons[places[0].name][0] == 0
    assert neurons[places[-1].name][-1] == places[-1].count("neuron") - 1


def test_the_perceptron_is_eight_times_twenty():
    case = localization.case_of(localization.perceptron(), subjects.drawn_digits(5))
    assert [place.count("neuron") for place in hidden_points(case)] == [20] * 8


def test_rows(network, case):
    state = ModelState.of(case.model)
    rows = localization.spectra(network, case, 1) | localization.synthesized(network, case, np.arange(20), 1)
    assert state == ModelState.of(case.model)
    assert len(rows) == 3
    assert all(row["value"] > 0 and row["better"] == "lower" for row in rows.values())


def test_the_loop_over_candidates_does_the_same():
    case = localization.case_of(subjects.NETWORKS["lenet5"]().eval(), subjects.drawn_digits(12))
    state = ModelState.of(case.model)
    rng = np.random.default_rng(0)
    entries = {"head.weight": np.arange(5)}
    values = {"head.weight": torch.from_numpy(rng.normal(size=(localization.POPULATION, 5))).float()}
    inputs = case.data.read(np.arange(12))
    theirs = localization.one_by_one(case.model, inputs, entries, values)
    ours = localization.WeightVariants(case.model, inputs, entries).outputs(values)
    torch.testing.assert_close(ours, theirs)
    rows = localization.mended("lenet5", case, np.arange(12), 1)
    assert len(rows) == 3
    assert state == ModelState.of(case.model)
