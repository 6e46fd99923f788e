"""Many variants of a model over the same inputs: the common start is computed once, the rest for many variants at once.

Variants differ in some weights or in the fixed value of one neuron. Everything before the first difference is replayed
from a first pass, see `mutiny.models.prefix`; what follows runs under ``torch.vmap``, for as many variants at a time as
fit into the processor's cache. Models that cannot run under ``vmap`` (because they change values in place or branch on
them) are run one variant after another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils._pytree import tree_map

from mutiny.models.capture import visible_output
from mutiny.models.forward import Forward, ForwardModule, default_forward, steady
from mutiny.models.layers import Indices, Layer
from mutiny.models.prefix import DifferentPath, Prefix
from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import ATTENTION, in_place, tensors, weighted_call
from mutiny.models.view import aliases, parameter_names

ROOM = 2**20
"""Most numbers in the widest tensor over all variants that run at once; more do not fit into the processor's cache."""


class Variants(ABC):
    """Runs the same inputs through many variants of a model.

    Args:
        model: Model in evaluation mode; never changed.
        inputs: A batch on the model's device.
        forward: Function that calls the model.
        usual: The value (as `outputs` takes it, for one variant) that leaves the model as it is.

    Attributes:
        replays: Whether the calls before the first difference are replayed.
        together: Whether several variants run at once.
    """

    def __init__(self, model: nn.Module, inputs: Any, forward: Forward, usual: Any) -> None:
        self.model, self.forward, self.inputs = model, forward, inputs
        self.replays = self.together = True
        self._prefix: Prefix | None = Prefix(inputs)
        self._widest = 1
        with steady(), torch.no_grad():
            first = self._one(usual)
            again = self._one(usual)
        if not torch.equal(first, again):
            self._forget()

    def outputs(self, values: Any) -> Tensor:
        """Outputs of each variant, ``(variants, n, ...)``.

        Args:
            values: Values that define the variants: tensors with variants first, in a dict or tuple.
        """
        count = len(next(tensors(values)))
        step = max(1, min(count, ROOM // self._widest)) if self.together else 1
        outputs = []
        with steady(), torch.no_grad():
            for at in range(0, count, step):
                part = tree_map(lambda tensor, at=at: tensor[at : at + step], values)
                outputs.append(self._several(part, min(step, count - at)))
        return torch.cat(outputs)

    def _several(self, values: Any, count: int) -> Tensor:
        if self.together and count > 1:
            try:
                return torch.vmap(self._one, randomness="same")(values)
            except (Exception, DifferentPath):
                self.together = False
                # The failed pass may have left the prefix half replayed, so a new one is recorded.
                self._prefix = Prefix(self.inputs) if self.replays else None
        alone = [tree_map(lambda tensor, at=at: tensor[at], values) for at in range(count)]
        return torch.stack([self._one(value) for value in alone])

    def _one(self, value: Any) -> Tensor:
        try:
            result = self._run(value, self._prefix)
        except (Exception, DifferentPath):
            if self._prefix is None or not self._prefix.known:
                raise
            self._forget()
            return self._run(value, None)  # raises again if the model itself is at fault
        if self._prefix is not None and not self._prefix.restore():
            self._forget()
        return result

    def _forget(self) -> None:
        self._prefix, self.replays = None, False

    def _run(self, value: Any, prefix: Prefix | None) -> Tensor:
        rest = _VariantPass(prefix, *self._difference(value))
        inputs = tree_map(Tensor.clone, self.inputs) if prefix is None else prefix.inputs
        with rest:
            result = self._call(value, inputs)
        self._widest = max(self._widest, rest.widest)
        return result

    @abstractmethod
    def _difference(self, value: Any) -> tuple[Callable[[str, Any, Any], bool], Callable[[Any], Any] | None]:
        """A test for the calls that differ between variants, and a function that changes their results if needed."""

    @abstractmethod
    def _call(self, value: Any, inputs: Any) -> Tensor:
        """Outputs of one variant."""


class WeightVariants(Variants):
    """Variants that differ in some weights; see `Variants`.

    Args:
        entries: Flat positions of the weights by parameter. `outputs` takes their values, ``{parameter: (variants,
            entries)}``.

    >>> import numpy as np
    >>> model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1, bias=False)).eval()
    >>> variants = WeightVariants(model, torch.ones(3, 2), {"2.weight": np.arange(4)})
    >>> variants.outputs({"2.weight": torch.zeros(5, 4)}).shape
    torch.Size([5, 3, 1])
    """

    def __init__(
        self, model: nn.Module, inputs: Any, entries: Mapping[str, Indices], forward: Forward = default_forward
    ) -> None:
        weights = dict(model.named_parameters(remove_duplicate=False))
        self._base = {name: weights[name].detach() for name in entries}
        self._places = {name: torch.from_numpy(at).to(weights[name].device) for name, at in entries.items()}
        self._aliases = aliases(model, entries)
        self._called = ForwardModule(model, forward)
        self._swapped: dict[str, Tensor] = {}
        now = {name: base.flatten()[self._places[name]] for name, base in self._base.items()}
        super().__init__(model, inputs, forward, now)

    def _difference(self, value: Any) -> tuple[Callable[[str, Any, Any], bool], None]:
        made = {
            name: base.flatten().scatter(0, self._places[name], value[name].to(base.dtype)).view(base.shape)
            for name, base in self._base.items()
        }
        self._swapped = {f"model.{alias}": made[name] for alias, name in self._aliases.items()}
        touched = {id(tensor) for tensor in made.values()}
        return lambda _, args, kwargs: any(id(tensor) in touched for tensor in tensors((args, kwargs))), None

    def _call(self, value: Any, inputs: Any) -> Tensor:
        del value
        outputs: Tensor = functional_call(self._called, self._swapped, (inputs,), tie_weights=False)
        return outputs


class Interventions(Variants):
    """Variants in which one neuron of a layer has a fixed value, ``do(h = v)``; see `Variants`.

    Args:
        layer: Layer of the neurons; their value is the result of the multiplication, before the activation.

    `outputs` takes ``(units, values)``, each ``(variants,)``.
    """

    def __init__(self, model: nn.Module, inputs: Any, layer: Layer, forward: Forward = default_forward) -> None:
        self._layer, self._names = layer, parameter_names(model)
        self._output, self._offset = visible_output(layer) or (-1, 0)
        device = next(model.parameters()).device
        super().__init__(model, inputs, forward, (torch.tensor(-1, device=device), torch.tensor(0.0, device=device)))

    def _difference(self, value: Any) -> tuple[Callable[[str, Any, Any], bool], Callable[[Any], Any]]:
        unit, fixed = value
        kind = ATTENTION if self._layer.kind == "attention_out" else self._layer.kind
        weight, channel = self._layer.weights[0].parameter, self._layer.channel or -1

        def differs(name: str, args: Any, kwargs: Any) -> bool:
            call = weighted_call(name, args, kwargs)
            return (
                call is not None and call.kind == kind and any(self._names.get(id(w)) == weight for w in call.weights)
            )

        def change(result: Any) -> Any:
            tensor = result if self._output < 0 else result[self._output]
            places = torch.arange(tensor.shape[channel], device=tensor.device) - self._offset
            mask = (places == unit).reshape(-1, *[1] * (-1 - channel))
            new = torch.where(mask, fixed.to(tensor.dtype), tensor)
            return new if self._output < 0 else (*result[: self._output], new, *result[self._output + 1 :])

        return differs, change

    def _call(self, value: Any, inputs: Any) -> Tensor:
        del value
        return self.forward(self.model, inputs)


class _VariantPass(CallHandler):
    """One pass: replayed up to the first difference, computed from there."""

    def __init__(
        self,
        prefix: Prefix | None,
        differs: Callable[[str, Any, Any], bool],
        change: Callable[[Any], Any] | None,
    ) -> None:
        self.prefix, self.differs, self.change = prefix, differs, change
        self.over, self.widest = False, 1

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        if self.over and self.change is None:
            return self._noted(func(*args, **kwargs))
        if not self.differs(name, args, kwargs):
            if self.over or self.prefix is None:
                return self._noted(func(*args, **kwargs))
            return self.prefix.step(func, args, kwargs)
        first, self.over = not self.over, True
        if self.change is None:
            if self.prefix is not None:
                self.prefix.end(args[0] if in_place(name) else None)
            result = func(*args, **kwargs)
        elif first and self.prefix is not None:
            result = self.prefix.step(func, args, kwargs)
            self.prefix.end(None)
        else:
            result = func(*args, **kwargs)
        if first and self.prefix is not None:
            self.prefix.watch()
        return self._noted(result if self.change is None else self.change(result))

    def _noted(self, result: Any) -> Any:
        if self.over:
            self.widest = max([self.widest, *(tensor.numel() for tensor in tensors(result))])
        return result
