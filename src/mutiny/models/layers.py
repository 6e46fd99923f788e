"""Layers: their weight tensors, neurons, and the positions of each neuron's weights."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Weight:
    """One tensor of a layer as an array of shape ``dims``, with neurons along ``unit_axes``.

    A linear weight ``(out, in)`` has ``dims=(out, in)`` and ``unit_axes=(0,)``; the four gates of an LSTM give
    ``dims=(4, hidden, in)`` and ``unit_axes=(1,)``; a transposed convolution
    ``dims=(groups, in/groups, out/groups, kernel)`` and ``unit_axes=(0, 2)``. ``offset`` is the position of the first
    entry in a tensor that several layers share.

    >>> Weight("fc.weight", dims=(3, 2), unit_axes=(0,)).of(np.array([2]))
    array([[[4, 5]]])
    """

    parameter: str
    dims: tuple[int, ...]
    unit_axes: tuple[int, ...]
    gate_axis: int | None = None
    offset: int = 0

    @property
    def size(self) -> int:
        """Number of entries."""
        return prod(self.dims)

    @property
    def all(self) -> Indices:
        """Flat positions of all entries."""
        return np.arange(self.offset, self.offset + self.size, dtype=np.int64)

    def of(self, units: Indices) -> Indices:
        """Flat positions of the incoming weights of each unit: ``(units, gates, fan_in)``."""
        coordinates = np.unravel_index(units, [self.dims[axis] for axis in self.unit_axes])
        rest = [axis for axis in range(len(self.dims)) if axis not in (*self.unit_axes, self.gate_axis)]
        order = [axis for axis in (self.gate_axis,) if axis is not None] + rest
        index: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)] * len(self.dims)
        for axis, coordinate in zip(self.unit_axes, coordinates, strict=True):
            index[axis] = np.asarray(coordinate).reshape(-1, *[1] * len(order))
        for position, axis in enumerate(order):
            shape = [1] * (len(order) + 1)
            shape[position + 1] = self.dims[axis]
            index[axis] = np.arange(self.dims[axis]).reshape(shape)
        flat = np.ravel_multi_index(tuple(np.broadcast_arrays(*index)), self.dims)
        gates = self.dims[self.gate_axis] if self.gate_axis is not None else 1
        return flat.reshape(len(units), gates, -1).astype(np.int64) + self.offset


@dataclass(frozen=True)
class Consumers:
    """Columns of a weight tensor ``(rows, columns)`` through which neurons are read inside their own module.

    Neuron ``u`` is read by column ``offset + u``: the recurrent matrix, the next stacked layer, a projection.
    """

    parameter: str
    rows: int
    columns: int
    offset: int = 0

    def of(self, units: Indices) -> Indices:
        """Flat positions of the columns that read ``units``: ``(units, rows)``."""
        return (units + self.offset)[:, None] + self.columns * np.arange(self.rows)[None, :]


@dataclass(frozen=True)
class Layer:
    """A layer that multiplies by weights, in the order of execution.

    Attributes:
        name: Path of the module, with a suffix if a module holds several layers (``lstm.l0``, ``attn.in_proj``).
        kind: Torch function that uses the weights: ``linear``, ``conv2d``, ``lstm``, ...
        order: Position among the layers, by first execution.
        weights: Weight tensors.
        biases: Bias tensors.
        neurons: Number of output units or channels; 0 for an embedding, which has none.
        output: Whether no other layer reads the output, so that its neurons have no outgoing weights.
        channel: Axis of the neurons in the output, from the end (-1 for linear, -3 for ``conv2d``); ``None`` if the
            output stays inside the module, as for the query, key and value of attention.
        consumers: Weights of the same module that read the neurons.
        slots: For each visible copy of the neurons in the result of a call: (index of the tensor or -1 for the only
            one, leading index or -1, offset).
    """

    name: str
    kind: str
    order: int
    weights: tuple[Weight, ...]
    biases: tuple[Weight, ...] = ()
    neurons: int = 0
    output: bool = False
    channel: int | None = None
    consumers: tuple[Consumers, ...] = ()
    slots: tuple[tuple[int, int, int], ...] = ()

    @property
    def size(self) -> int:
        """Number of weights, biases not counted."""
        return sum(weight.size for weight in self.weights)


@dataclass(frozen=True)
class Site:
    """A module that calls no other module and maps one tensor to one tensor; structural operators work on these.

    Attributes:
        path: Name in the model.
        kind: Name of its class.
        order: Position among all modules that call no other module, by first execution.
        keeps_shape: Whether every call returned a tensor with the shape and dtype of its input.
        floating: Whether it returns real numbers.
        first: Whether it is the first such module that runs.
        last: Whether it is the last such module that runs.
    """

    path: str
    kind: str
    order: int
    keeps_shape: bool
    floating: bool
    first: bool = False
    last: bool = False


@dataclass(frozen=True)
class Activation:
    """One call of an activation function in a forward pass, whether by a module or a function.

    Attributes:
        function: Name of the torch function.
        ordinal: Position among the activation calls of a forward pass.
        path: Module that called it; empty for the model itself.
        after: Name of the last layer that ran before it; empty if none did.
        output: Whether no layer reads its result.
    """

    function: str
    ordinal: int
    path: str
    after: str
    output: bool

    @property
    def name(self) -> str:
        """Readable name, unique in the model."""
        return f"{self.path or 'model'}:{self.function}#{self.ordinal}"
