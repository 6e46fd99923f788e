"""Random choice of weights and neurons, nested in the ratio: a larger ratio keeps what a smaller one chose."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.models import Layer, ModelView, Weight
from mutiny.models.layers import Indices


def eligible(view: ModelView, layers: tuple[str, ...] | None, output_layer: bool) -> list[Layer]:
    """Layers that take part: those that are named (shell patterns allowed), or all; the output layer only if requested.

    A layer that is named takes part even if it is the output layer.
    """
    if layers is None:
        chosen = [layer for layer in view.layers if output_layer or not layer.output]
        if not chosen:
            raise NotApplicable("the only layer with weights is the output layer, which this operator leaves alone")
        return chosen
    for pattern in layers:
        if not any(fnmatchcase(layer.name, pattern) for layer in view.layers):
            names = ", ".join(layer.name for layer in view.layers)
            raise BadInput("layers", repr(pattern), f"a layer of the model: {names}")
    return [layer for layer in view.layers if any(fnmatchcase(layer.name, pattern) for pattern in layers)]


def how_many(ratio: float, total: int) -> int:
    """``ratio`` of ``total``, rounded, but at least one unless the ratio is zero.

    >>> how_many(0.05, 1000), how_many(0.001, 10), how_many(0.0, 10)
    (50, 1, 0)
    """
    return 0 if ratio == 0 or total == 0 else min(total, max(1, round(ratio * total)))


def choose(keys: npt.NDArray[np.float64], count: int) -> Indices:
    """Positions of the ``count`` smallest keys, smallest first."""
    if count == 0:
        return np.empty(0, np.int64)
    smallest = np.argpartition(keys, count - 1)[:count] if count < len(keys) else np.arange(len(keys))
    return smallest[np.argsort(keys[smallest], kind="stable")].astype(np.int64)


def choose_weights(
    layers: list[Layer], ratio: float, rng: np.random.Generator, biases: bool
) -> Iterator[tuple[Weight, Indices, Indices]]:
    """A uniform choice over all weights of the layers together, each parameter once.

    Yields the tensor, the chosen flat positions in it, and their positions among all weights, by which an operator can
    look up random numbers that were drawn for every weight, so that they do not depend on the ratio.
    """
    distinct = _distinct(layers, biases)
    total = sum(weight.size for weight in distinct)
    chosen = np.sort(choose(rng.random(total), how_many(ratio, total)))
    start = 0
    for weight in distinct:
        low, high = np.searchsorted(chosen, (start, start + weight.size))
        if high > low:
            yield weight, chosen[low:high] - start + weight.offset, chosen[low:high]
        start += weight.size


def count_weights(layers: list[Layer], biases: bool) -> int:
    """Number of weights that `choose_weights` chooses from."""
    return sum(weight.size for weight in _distinct(layers, biases))


def _distinct(layers: list[Layer], biases: bool) -> list[Weight]:
    every = (w for layer in layers for w in (*layer.weights, *(layer.biases if biases else ())))
    return list({(weight.parameter, weight.offset): weight for weight in every}.values())


def with_neurons(layers: list[Layer], at_least: int = 1) -> list[Layer]:
    """Layers with at least so many neurons."""
    large = [layer for layer in layers if layer.neurons >= at_least]
    if not large:
        expected = "neurons" if at_least == 1 else f"at least {at_least} neurons"
        raise NotApplicable(f"no layer that takes part has {expected}")
    return large


def choose_neurons(layers: list[Layer], ratio: float, rng: np.random.Generator) -> Iterator[tuple[Layer, Indices]]:
    """A uniform choice over all neurons of the layers together; in each layer in random order, nested in the ratio."""
    total = sum(layer.neurons for layer in layers)
    chosen = choose(rng.random(total), how_many(ratio, total))
    start = 0
    for layer in layers:
        units = chosen[(chosen >= start) & (chosen < start + layer.neurons)] - start
        if len(units):
            yield layer, units
        start += layer.neurons
