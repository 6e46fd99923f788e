"""Activation spectra: the distribution of a network's activations on each input. MUFF, RQ4.

The spectrum of a network on one input is the probability distribution of the activation values of its neurons
(Humbatova, Jahangirova and Tonella, ICST 2024). Neither paper says which neurons, how many bins or which range, and the
code is not public, so these are options:

- Layers: all but the output layer, because its logits, which the papers' networks turn into probabilities, would
  widen the range. ``output_layer`` adds it, ``layers`` selects others; one name gives the spectrum of one layer.
- Values: outputs of layers after their own normalization, activation and pooling, whether a module or a function such
  as ``F.relu`` computes them; see `mutiny.models.capture.activations` for the forms that are not followed.
- Granularity: every unit, so that each pixel of a channel, each step of a sequence and each call of a layer counts; or
  one value per neuron, the mean of these.
- Bins: 100 of equal width. Spectra are comparable only over a common range, the smallest that holds the values of all
  networks compared; values outside of it count in the outermost bins.

Distances between spectra are in `studies.deepcrime.spectral_distance`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.core.checks import check_whole, is_number
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.random import generator_for
from mutiny.models import Forward, Layer, ModelView, Patch, check_model, default_forward
from mutiny.models.capture import ActivationRecorder, by_input, rows_of, visible_layers
from mutiny.models.device import placement
from mutiny.models.read_points import Units
from mutiny.models.view import PROBE_INPUTS, parameter_names
from mutiny.subjects.data import Data, as_pool
from mutiny.subjects.inference.passes import first_call

BATCH, BINS = 64, 100
NARROW = 1e-30
"""Width below which single precision cannot divide a range; such a range counts as a single value."""
SILENT = "none of the layers takes part in the forward pass of some inputs; name other layers"
Floats = npt.NDArray[np.float64]
ValueBatches = Iterator[tuple[slice, Tensor]]
"""Slices of the inputs, and values of some neurons on each of these inputs, ``(n, values)``."""


@dataclass(frozen=True)
class ActivationRange:
    """The range from the smallest to the largest activation.

    >>> ActivationRange.over([ActivationRange(0.0, 2.0), ActivationRange(-1.0, 1.0)])
    ActivationRange(low=-1.0, high=2.0)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (isfinite(self.low) and isfinite(self.high) and self.low <= self.high):
            raise BadInput("range", f"{self.low} to {self.high}", "finite numbers, the smaller one first")

    @classmethod
    def over(cls, each: Iterable[ActivationRange]) -> ActivationRange:
        """The smallest range that holds all of them."""
        ranges = [*each]
        if not ranges:
            raise BadInput("ranges", "none", "that of at least one network")
        return cls(min(span.low for span in ranges), max(span.high for span in ranges))

    def bin_of(self, values: Tensor, bins: int) -> Tensor:
        """The bin of each value: the first or last for values outside of the range, the middle one if it has no width.

        >>> ActivationRange(0.0, 2.0).bin_of(torch.tensor([-9.0, 0.0, 0.9, 1.0, 2.0, 9.0]), 2)
        tensor([0, 0, 0, 1, 1, 1])
        """
        width = self.high - self.low
        low, width = (self.low, width) if width > NARROW else (self.low - 0.5, 1.0)
        return values.sub(low).div_(width).mul_(bins).clamp_(0, bins - 1).long()


def sampled(data: Any, share: float = 0.1, seed: int = 0) -> Data:
    """A random share of the inputs, at least one, in their order; MUFF takes 10% of the test data.

    >>> len(sampled(torch.zeros(50, 2)))
    5
    """
    if not is_number(share) or not 0 < share <= 1:
        raise BadInput("share", repr(share), "a number above 0 and up to 1")
    check_whole("seed", seed, 0)
    pool = as_pool(data, "data")
    drawn = generator_for(seed, "spectra").choice(len(pool), max(1, round(share * len(pool))), replace=False)
    return pool.subset(np.sort(drawn))


def activation_range(
    model: nn.Module,
    data: Any,
    layers: str | Sequence[str] | None = None,
    *,
    patch: Patch | None = None,
    granularity: Units = "unit",
    output_layer: bool = False,
    forward: Forward = default_forward,
    batch_size: int = BATCH,
) -> ActivationRange:
    """The range of activations over all units (or neurons) and inputs: the first of two passes.

    Args:
        model: Model in evaluation mode, on any device; an original or a trained mutant.
        data: Inputs, as `mutiny.subjects.data.as_pool` reads them; they are streamed, and no batch is kept.
        layers: Names of layers; by default all layers whose values are visible, except the output layer.
        patch: Patch that turns ``model`` into a mutant during the call. Layers are those of the unpatched model.
        granularity: ``"unit"`` for every output value of a layer, ``"neuron"`` for one value per neuron.
        output_layer: Whether to include the output layer if ``layers`` is not given.
        forward: Function that calls the model.
        batch_size: Inputs per forward pass. It affects rounding only.

    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    >>> _ = nn.init.ones_(model[0].weight), nn.init.zeros_(model[0].bias)
    >>> activation_range(model, torch.tensor([[1.0, 2.0], [-1.0, 0.0]]))
    ActivationRange(low=0.0, high=3.0)
    """
    low, high = inf, -inf
    pool = as_pool(data, "data")
    with _recording(model, pool, layers, patch, granularity, output_layer, forward, batch_size) as batches:
        for _, values in batches:
            least, most = values.aminmax()
            low, high = min(low, float(least)), max(high, float(most))
    if low > high:
        raise NotApplicable(SILENT)
    return ActivationRange(low, high)


def spectra(
    model: nn.Module,
    data: Any,
    layers: str | Sequence[str] | None = None,
    *,
    range: ActivationRange,
    bins: int = BINS,
    patch: Patch | None = None,
    granularity: Units = "unit",
    output_layer: bool = False,
    forward: Forward = default_forward,
    batch_size: int = BATCH,
) -> Floats:
    """The share of units (or neurons) whose activation lies in each bin, for each input: ``(inputs, bins)``.

    Args:
        model: Model in evaluation mode; see `activation_range` for details of this and the other arguments.
        data: Inputs.
        layers: Names of layers.
        range: Range that the bins divide: `ActivationRange.over` those of all networks that are compared.
        bins: Number of bins, all of equal width.
        patch: Patch that turns ``model`` into a mutant during the call.
        granularity: ``"unit"`` or ``"neuron"``.
        output_layer: Whether to include the output layer.
        forward: Function that calls the model.
        batch_size: Inputs per forward pass.

    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    >>> _ = nn.init.ones_(model[0].weight), nn.init.zeros_(model[0].bias)
    >>> spectra(model, torch.tensor([[1.0, 2.0], [-1.0, 0.0]]), range=ActivationRange(0.0, 3.0), bins=3)
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    check_whole("bins", bins)
    pool = as_pool(data, "data")
    counts = np.zeros((len(pool), bins), np.int64)
    with _recording(model, pool, layers, patch, granularity, output_layer, forward, batch_size) as batches:
        for where, values in batches:
            counts[where] += _histograms(values, range, bins).cpu().numpy()
    total = counts.sum(axis=1, keepdims=True)
    if not total.all():
        raise NotApplicable(SILENT)
    shares: Floats = counts / total
    return shares


def _histograms(values: Tensor, range: ActivationRange, bins: int) -> Tensor:
    """Number of values of each row in each bin, ``(n, bins)``."""
    exact = values.float() if values.element_size() < 4 else values
    place = range.bin_of(exact, bins).add_(bins * torch.arange(len(values), device=values.device)[:, None])
    return torch.bincount(place.flatten(), minlength=len(values) * bins).view(-1, bins)


@contextmanager
def _recording(
    model: nn.Module,
    data: Data,
    names: str | Sequence[str] | None,
    patch: Patch | None,
    granularity: Units,
    output_layer: bool,
    forward: Forward,
    batch_size: int,
) -> Iterator[ValueBatches]:
    """Values of neurons, one batch and layer at a time; the model is restored when the context is left."""
    check_whole("batch_size", batch_size)
    if granularity not in ("unit", "neuron"):
        raise BadInput("granularity", repr(granularity), "unit or neuron")
    model = check_model(model, "model")
    put = placement(model).put

    def call(module: nn.Module, inputs: Any) -> Tensor:
        return first_call(forward, module, inputs, "model")

    probe = put(data.first(PROBE_INPUTS))
    layers = _layers(ModelView.of(model, probe, call), names, output_layer)
    parameters = parameter_names(model)
    with (patch or Patch(())).applied(model, call) as run:

        def batches() -> ValueBatches:
            start = 0
            for batch in data.batches(batch_size):
                recorder, rows = ActivationRecorder(parameters, layers), rows_of(batch)
                with torch.inference_mode(), recorder:
                    run(put(batch))
                for name, values in _values(recorder, rows, granularity):
                    _check_finite(values, name, start)
                    yield slice(start, start + rows), values
                start += rows

        yield batches()


def _layers(view: ModelView, names: str | Sequence[str] | None, output_layer: bool) -> list[Layer]:
    """The layers with these names, or all visible layers with or without the output layer."""
    if names is not None:
        named = [names] if isinstance(names, str) else [*dict.fromkeys(names)]
        if not named:
            raise BadInput("layers", "none", "at least one name")
        return visible_layers(view, named)
    found = visible_layers(view)
    inner = [layer for layer in found if output_layer or not layer.output]
    if not inner:
        shown = ", ".join(layer.name for layer in found)
        fix = f"Use output_layer=True to read {shown}." if found else ""
        raise BadInput("model", type(view.model).__name__, "hidden layers whose neurons are visible", fix)
    return inner


def _values(recorder: ActivationRecorder, rows: int, granularity: Units) -> Iterator[tuple[str, Tensor]]:
    """Values of each layer, ``(rows, values)``; for units, the calls of a layer are separate."""
    if granularity == "neuron":
        yield from recorder.means(rows).items()
        return
    for name, calls in recorder.recorded.items():
        for tensor, (layer, _, batch_axis, offset) in calls:
            channel = -1 if layer.channel is None else layer.channel
            values = by_input(tensor, rows, channel, name, batch_axis)
            yield name, values[..., offset : offset + layer.neurons].flatten(1)


def _check_finite(values: Tensor, name: str, start: int) -> None:
    if not all(isfinite(float(end)) for end in values.aminmax()):  # NaN if any value is
        bad = ~torch.isfinite(values).all(dim=1)
        shown = f"NaN or infinite for input {start + int(bad.nonzero()[0])}"
        fix = "Check the weights and this input, or leave the network out."
        raise BadInput(f"activations of {name}", shown, "finite numbers", fix)
