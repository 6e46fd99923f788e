"""Follows what a neuron tells the rest of the network, and changes it or writes it down.

A neuron's signal begins at the call that multiplies by its weights, passes through what belongs to the neuron and
through mere rearrangement (flatten, indexing), and ends where something else reads it: another layer, an addition, a
concatenation, the caller. Scaling the signal there is scaling every outgoing weight, in any architecture, and needs no
knowledge of the graph.

To the neuron belong normalisation, activation, pooling, dropout, and arithmetic of the signal with itself, numbers,
parameters and buffers: a bias that is added by hand, an activation that is written out, ``h * sigmoid(h)``. Arithmetic
with what another layer or an input says reads the signal: skip connections and gates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mutiny.models.constants import Constants
from mutiny.models.layers import Indices, Layer
from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import (
    ACTIVATIONS,
    ATTENTION,
    OWN,
    REARRANGING,
    Call,
    in_place,
    memory,
    pointwise,
    replace_tensors,
    tensors,
)
from mutiny.models.torch_ops import weighted as weighted_call

Scaled = tuple[Layer, Indices, float]


@dataclass(frozen=True)
class _Signal:
    """A tensor that carries neurons' signals, what to multiply it by, and the recurrent layer it stems from."""

    tensor: Tensor
    scale: Tensor
    source: str


class Rewiring(CallHandler):
    """Runs a forward pass in which some neurons' signals are scaled and some activation calls are left out.

    Args:
        names: the parameters' names by identity.
        scaled: layers, the neurons in them and the factor for their signals.
        silenced: ordinals of activation calls that return their input.
        constants: the model's parameters and buffers.
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
        """One forward pass; what the caller reads of a followed neuron is scaled too."""
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
        if not args and "input" in kwargs:
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

    def _begin(self, call: Call, result: Any) -> None:
        """Signals start where a call multiplies by the weights of a scaled layer."""
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
        """Whether a call moves the signal of neurons or is part of what they say, each by itself."""
        if name in OWN or name in REARRANGING:
            return len(followed) == 1 and bool(args) and args[0] is followed[0]
        if not pointwise(name) or "out" in kwargs or (in_place(name) and id(args[0]) not in self._signals):
            return False
        scale = self._signals[id(followed[0])].scale
        others = (tensor for tensor in tensors((args, kwargs)) if id(tensor) not in self._signals)
        return all(self._signals[id(t)].scale is scale for t in followed) and all(map(self._constants.holds, others))

    def _carry(self, name: str, func: Any, args: Any, kwargs: Any, tensor: Tensor) -> Any:
        """The signal in ``tensor`` goes on, changed by what belongs to the neuron or moved elsewhere in memory."""
        signal = self._signals[id(tensor)]
        if name in REARRANGING:
            result = func(*args, **kwargs)
            moved = [*tensors(result)] if result is not tensor else []
            if moved:
                alike = torch.empty_like(signal.tensor).copy_(signal.scale)  # same strides, or view would refuse
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

    def _consume(self, name: str, func: Any, args: Any, kwargs: Any, call: Call | None) -> Any:
        """Something reads the signal and must see it scaled."""
        if in_place(name) and args and id(args[0]) in self._signals:
            self._settle(args[0])
        changed = list(replace_tensors(args, self._read))
        state = call.state if call is not None else None
        if call is not None and state is not None:  # a recurrent matrix is scaled itself, so it reads its own state raw
            own = {self._names.get(id(weight)) for weight in call.weights}
            changed[state] = replace_tensors(args[state], lambda tensor: self._read(tensor, own))
        return func(*changed, **replace_tensors(kwargs, self._read))

    def _settle(self, tensor: Tensor) -> None:
        """Scales, once and for good, a tensor that is about to be changed in place, with all views of its memory."""
        shared = [s for s in self._signals.values() if memory(s.tensor) == memory(tensor)]
        whole = max(shared, key=lambda signal: signal.tensor.numel())
        whole.tensor.mul_(whole.scale)
        for signal in shared:
            del self._signals[id(signal.tensor)]

    def _read(self, tensor: Tensor, own: Any = ()) -> Tensor:
        signal = self._signals.get(id(tensor))
        return tensor if signal is None or signal.source in own else tensor * signal.scale
