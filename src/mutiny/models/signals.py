"""Scales the signals of neurons, and skips activation calls, during a forward pass.

A neuron's signal starts at the call that multiplies by its weights. It passes through the operations that belong to the
neuron and through operations that only move numbers (flatten, indexing). It ends where something else reads it: another
layer, an addition, a concatenation, the caller. Scaling the signal there is the same as scaling every outgoing weight,
in any architecture and without knowledge of the graph.

These operations belong to the neuron: normalization, activation, pooling, dropout, and arithmetic of the signal with
itself, numbers, parameters and buffers, such as a bias that is added by hand or an activation that is written out,
``h * sigmoid(h)``. Arithmetic with the output of another layer or with an input reads the signal: skip connections and
gates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mutiny.models.layers import Indices, Layer
from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import (
    ACTIVATIONS,
    ATTENTION,
    CREATING,
    NEURON_OPS,
    REARRANGING,
    WeightedCall,
    in_place,
    memory,
    pointwise,
    replace_tensors,
    tensors,
    weighted_call,
)

Scaled = tuple[Layer, Indices, float]


@dataclass(frozen=True)
class _Signal:
    """A tensor that carries signals, the factors to multiply it by, and the parameter of the layer it comes from."""

    tensor: Tensor
    scale: Tensor
    source: str


class Constants:
    """Tracks which tensors of a forward pass no input can change: parameters, buffers, and what is computed from them.

    Memory that an input was written into is no longer constant. A single number that no function of the pass made, such
    as an attribute of a module, counts as a constant.

    >>> import torch
    >>> weight, x = torch.ones(3), torch.randn(2, 3)
    >>> constants = Constants([weight])
    >>> half = weight[:, None] / 2
    >>> constants.note("div", (weight, 2), {}, half)
    >>> [constants.holds(tensor) for tensor in (weight, half, x, torch.tensor(2.0))]
    [True, True, False, True]
    """

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        # Tensors are kept along with the flag: freed memory could be reused by another tensor.
        self._known = {memory(tensor): (tensor, True) for tensor in tensors}

    def holds(self, tensor: Tensor) -> bool:
        """Whether no input can change ``tensor``."""
        known = self._known.get(memory(tensor))
        return tensor.ndim == 0 if known is None else known[1]

    def note(self, name: str, args: Any, kwargs: Any, result: Any, data: bool = False) -> None:
        """Records a call after it was made; ``data``: its arguments depend on the inputs, whatever they look like."""
        read = [*tensors((args, kwargs))]
        constant = name in CREATING or (bool(read) and not data and all(map(self.holds, read)))
        if not constant and not read:  # made from Python numbers, which may come from the input
            return
        written = (args[:1] if in_place(name) else (), kwargs.get("out"))
        for tensor in tensors((result, written)):
            key = memory(tensor)
            if key in self._known or constant or tensor.ndim == 0:
                self._known[key] = (tensor, constant and self._known.get(key, (tensor, True))[1])


class SignalEditor(CallHandler):
    """Runs forward passes in which the signals of some neurons are scaled and some activation calls are skipped.

    Args:
        names: Parameter names by identity.
        scaled: Layers, the neurons in them and the factor for their signals.
        silenced: Ordinals of activation calls that return their input.
        constants: Parameters and buffers of the model.
    """

    def __init__(
        self,
        names: Mapping[int, str],
        scaled: Sequence[Scaled] = (),
        silenced: Sequence[int] = (),
        constants: Iterable[Tensor] = (),
    ) -> None:
        self._names = names
        self._scaled: dict[tuple[str, str], list[Scaled]] = {}
        for entry in scaled:
            self._scaled.setdefault((entry[0].kind, entry[0].weights[0].parameter), []).append(entry)
        self._silenced = frozenset(silenced)
        self._signals: dict[int, _Signal] = {}
        self._given = tuple(constants)
        self._constants = Constants(())
        self._activations = 0

    def run(self, forward: Callable[[], Any]) -> Any:
        """Runs one forward pass; signals that reach the caller are scaled too."""
        self._signals.clear()
        self._constants = Constants(self._given)
        self._activations = 0
        try:
            with self:
                result = forward()
            return replace_tensors(result, self._read) if self._signals else result
        finally:
            self._signals.clear()
            self._constants = Constants(())

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        """Runs a call, with edited signals scaled where something else reads them."""
        kwargs = dict(kwargs)
        if not args and "input" in kwargs:  # signals are looked up among positional arguments
            args = (kwargs.pop("input"),)
        if name in ACTIVATIONS:
            self._activations += 1
            if self._activations - 1 in self._silenced:
                return args[0]
        if not self._scaled:
            return func(*args, **kwargs)
        call = weighted_call(name, args, kwargs)
        followed = [t for t in tensors((args, kwargs)) if id(t) in self._signals] if self._signals else []
        if not followed:
            result = func(*args, **kwargs)
        elif self._own(name, args, kwargs, followed):
            return self._carry(name, func, args, kwargs, followed[0])
        else:
            result = self._consume(name, func, args, kwargs, call)
        self._constants.note(name, args, kwargs, result, data=bool(followed) or call is not None)
        if call is not None:
            self._begin(call, result)
        return result

    def _begin(self, call: WeightedCall, result: Any) -> None:
        """Starts signals at a call that multiplies by the weights of a scaled layer."""
        kind = "attention_out" if call.kind == ATTENTION else call.kind
        known = [self._names[id(weight)] for weight in call.weights if id(weight) in self._names]
        for layer, units, factor in (entry for name in known for entry in self._scaled.get((kind, name), ())):
            axis = -1 if layer.channel is None else layer.channel
            for output, leading, offset in layer.slots or ((-1, -1, 0),):
                tensor = result if output < 0 else result[output]
                shape = [1] * tensor.ndim
                shape[axis] = tensor.shape[axis]
                if leading >= 0:
                    shape[0] = tensor.shape[0]
                before = self._signals.get(id(tensor))
                scale = tensor.new_ones(()) if before is None else before.scale
                scale = scale * scale.new_ones(shape)
                index = torch.from_numpy(np.asarray(units) + offset).to(scale.device)
                (scale[leading] if leading >= 0 else scale).index_fill_(axis, index, factor)
                self._signals[id(tensor)] = _Signal(tensor, scale, known[0])

    def _own(self, name: str, args: Any, kwargs: Any, followed: Sequence[Tensor]) -> bool:
        """Whether a call only moves signals or belongs to the neurons, and mixes no neuron with another."""
        if name in NEURON_OPS or name in REARRANGING:
            return len(followed) == 1 and bool(args) and args[0] is followed[0]
        if not pointwise(name) or "out" in kwargs or (in_place(name) and id(args[0]) not in self._signals):
            return False
        scale = self._signals[id(followed[0])].scale
        others = (tensor for tensor in tensors((args, kwargs)) if id(tensor) not in self._signals)
        return all(self._signals[id(t)].scale is scale for t in followed) and all(map(self._constants.holds, others))

    def _carry(self, name: str, func: Any, args: Any, kwargs: Any, tensor: Tensor) -> Any:
        """Runs a call through which the signal in ``tensor`` passes on to the result."""
        signal = self._signals[id(tensor)]
        if name in REARRANGING:
            result = func(*args, **kwargs)
            moved = [*tensors(result)] if result is not tensor else []
            if moved:
                # The scale takes the same way as the signal; it needs the same strides, or view() would fail.
                alike = torch.empty_like(signal.tensor).copy_(signal.scale)
                scales = [*tensors(func(alike, *args[1:], **kwargs))]
                for part, its in zip(moved, scales, strict=True):
                    self._signals[id(part)] = _Signal(part, its, signal.source)
            return result
        before = tuple(tensor.shape)
        result = func(*args, **kwargs)
        first = next(tensors(result))
        axes = zip(signal.scale.shape[::-1], before[::-1], first.shape[::-1], strict=False)
        if first.ndim != len(before) or not all(scale == 1 or old == new for scale, old, new in axes):
            return self._consume(name, func, args, kwargs, None)
        self._signals[id(first)] = _Signal(first, signal.scale, signal.source)
        return result

    def _consume(self, name: str, func: Any, args: Any, kwargs: Any, call: WeightedCall | None) -> Any:
        """Runs a call that reads signals, with the signals scaled."""
        if in_place(name) and args and id(args[0]) in self._signals:
            self._settle(args[0])
        changed = list(replace_tensors(args, self._read))
        state = call.state if call is not None else None
        if call is not None and state is not None:
            # The columns of the recurrent matrix are scaled as weights, so its own state must not be scaled again.
            recurrent = {self._names.get(id(weight)) for weight in call.weights}
            changed[state] = replace_tensors(args[state], lambda tensor: self._read(tensor, recurrent))
        return func(*changed, **replace_tensors(kwargs, self._read))

    def _settle(self, tensor: Tensor) -> None:
        """Scales a tensor, with all views of its memory, before it is changed in place; its signal ends here."""
        shared = [s for s in self._signals.values() if memory(s.tensor) == memory(tensor)]
        whole = max(shared, key=lambda signal: signal.tensor.numel())
        whole.tensor.mul_(whole.scale)
        for signal in shared:
            del self._signals[id(signal.tensor)]

    def _read(self, tensor: Tensor, unscaled: Any = ()) -> Tensor:
        """The tensor, scaled if it carries a signal; signals from the ``unscaled`` parameters are not scaled."""
        signal = self._signals.get(id(tensor))
        return tensor if signal is None or signal.source in unscaled else tensor * signal.scale
