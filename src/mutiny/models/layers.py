"""Layers as mutiny sees them: weight tensors, the neurons they feed, and where each neuron's numbers lie."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Weight:
    """One tensor of a layer, seen as an array of ``dims`` in which ``unit_axes`` count the neurons.

    A linear weight ``(out, in)`` has ``dims=(out, in)`` and ``unit_axes=(0,)``; the four gates of an LSTM give
    ``dims=(4, hidden, in)`` and ``unit_axes=(1,)``; a transposed convolution
    ``dims=(groups, in/groups, out/groups, kernel)`` and ``unit_axes=(0, 2)``. ``offset`` is where it begins, for a
    tensor that several layers share in slices.

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
        """Flat positions of what feeds each unit: ``(units, gates, fan_in)``."""
        coordinates = np.unravel_index(units, [self.dims[axis] for axis in self.unit_axes])
        rest = [axis for axis in range(len(self.dims)) if axis not in (*self.unit_axes, self.gate_axis)]
        order = [axis for axis in (self.gate_axis,) if axis is not None] + rest
        index: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)] * len(self.dims)
        for axis, coordinate in zip(self.unit_axes, coordinates, strict=True):
            index[axis] = np.asarray(coordinate).reshape(-1, *[1] * len(order))
        for place, axis in enumerate(order):
            shape = [1] * (len(order) + 1)
            shape[place + 1] = self.dims[axis]
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
        name: the module's path, with a suffix where a module holds several layers (``lstm.l0``, ``attn.in_proj``).
        kind: the torch function that uses the weights: ``linear``, ``conv2d``, ``lstm``, ...
        order: position among the layers, by first execution.
        weights: the weight tensors.
        biases: the bias tensors.
        neurons: output units or channels; 0 for an embedding, which has none.
        output: whether no other layer reads what it says: its neurons have no outgoing weights.
        channel: axis of the output that counts neurons, from the end (-1 linear, -3 for ``conv2d``); ``None`` where
            the output stays inside the module, as for the query, key and value of attention.
        consumers: where other weights of the same module read the neurons.
        slots: where a call returns several tensors, (index of the tensor or -1 for the only one, leading index or -1,
            offset) of each visible copy of the neurons.
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
    """A module without called children that took one tensor and gave one tensor: a place for structural operators.

    Attributes:
        path: its name in the model.
        kind: its class.
        order: position among all modules without called children, by first execution.
        keeps_shape: whether every call gave a tensor of the shape and type it took.
        floating: whether it gives real numbers.
        first: whether it is the first such module that runs.
        last: whether it is the last.
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
        function: name of the torch function.
        ordinal: position among the activation calls of a forward pass.
        path: the module that called it; empty for the model itself.
        after: name of the last layer that ran before it; empty if none did.
        output: whether no layer reads its result.
    """

    function: str
    ordinal: int
    path: str
    after: str
    output: bool

    @property
    def name(self) -> str:
        """Readable and unique in the model."""
        return f"{self.path or 'model'}:{self.function}#{self.ordinal}"
