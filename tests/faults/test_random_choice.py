"""Random choices of weights, neurons and layers: exact counts, uniform, nested, each one possible."""

from collections import Counter

import numpy as np
import pytest

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.random import generator_for
from mutiny.faults import ALL, NeuronEffectBlock, NeuronInhibitor, WeightInhibitor, WeightShuffle
from mutiny.faults.random_choice import choose, choose_neurons, eligible, how_many
from references.by_hand import patch_of, units_of, view_of
from zoo import make


@pytest.mark.parametrize("total", [1, 3, 10, 997])
@pytest.mark.parametrize("ratio", [1e-9, 0.05, 0.25, 0.5, 0.9999, 1.0])
def test_how_many(ratio, total):
    assert how_many(ratio, total) == max(1, round(ratio * total)) <= total
    assert how_many(0.0, total) == 0


def test_choose_is_the_smallest_keys():
    keys = generator_for(0).random(50)
    for count in (0, 1, 7, 49, 50):
        assert choose(keys, count).tolist() == np.argsort(keys)[:count].tolist()


def test_every_neuron_is_reachable_and_as_likely_as_any_other():
    layers = list(view_of(*make("lenet_modules")).layers)
    counts = Counter()
    runs = 2000
    for seed in range(runs):
        for layer, units in choose_neurons(layers, 0.2, generator_for(seed)):
            counts.update((layer.name, int(unit)) for unit in units)
    total = sum(layer.neurons for layer in layers)
    expected = runs * how_many(0.2, total) / total
    assert len(counts) == total  # the last neuron of each layer too
    assert sum(counts.values()) == runs * how_many(0.2, total)
    chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
    assert chi_square < total + 5 * np.sqrt(2 * total)


def test_weights_are_drawn_in_proportion_to_the_layers_sizes():
    model, inputs = make("lenet_modules")
    sizes = {name: p.numel() for name, p in model.named_parameters() if p.ndim > 1}
    counts = Counter()
    for seed in range(200):
        for edit in patch_of(WeightInhibitor(ratio=0.05), model, inputs, seed).edits:
            counts[edit.parameter] += len(edit.indices)
    drawn, total = sum(counts.values()), sum(sizes.values())
    chi_square = sum((counts[n] - drawn * s / total) ** 2 / (drawn * s / total) for n, s in sizes.items())
    assert chi_square < 20  # 3 degrees of freedom


def test_the_choice_is_nested_in_the_ratio():
    model, inputs = make("resnet")
    small = units_of(NeuronEffectBlock(ratio=0.2), model, inputs)
    large = units_of(NeuronEffectBlock(ratio=0.7), model, inputs)
    assert all(set(units) <= set(large[name]) for name, units in small.items())


def test_named_layers_and_patterns():
    view = view_of(*make("lenet_modules"))
    assert [layer.name for layer in eligible(view, ("features.*",), True)] == ["features.0", "features.3"]
    assert [layer.name for layer in eligible(view, ("head.4",), False)] == ["head.4"]
    assert len(eligible(view, None, False)) == 3
    with pytest.raises(BadInput, match=r"layers='body': expected a layer of the model: features.0"):
        eligible(view, ("head.4", "body"), True)
    with pytest.raises(BadInput, match="at least one name"):
        WeightInhibitor(layers=())
    assert NeuronInhibitor(layers="head.2").layers == ("head.2",)


def test_embeddings_have_weights_but_no_neurons():
    model, inputs = make("bag_of_words")
    assert {e.parameter for e in patch_of(WeightInhibitor(layers=("bag",)), model, inputs).edits} == {"bag.weight"}
    with pytest.raises(NotApplicable, match="no layer that takes part has neurons"):
        patch_of(WeightShuffle(layers=("bag",)), model, inputs)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.code)
def test_seeds_differ(kind):
    model, inputs = make("resnet")
    assert len({patch_of(kind(), model, inputs, seed) for seed in range(20)}) > 2


def test_first_layer_is_the_first_that_runs():
    model, inputs = make("other_order")
    assert patch_of(WeightInhibitor(ratio=1.0), model, inputs).first_layer == "first"
    assert patch_of(WeightInhibitor(layers=("last", "middle"), ratio=1.0), model, inputs).first_layer == "middle"
    assert patch_of(NeuronInhibitor(layers=("middle",)), model, inputs).first_layer == "middle"
