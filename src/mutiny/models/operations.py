"""Work of a forward pass, counted in operations, which do not depend on the machine as seconds do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from mutiny.models.device import placement
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import tensors
from mutiny.models.view import PROBE_INPUTS, ProbeData

LOOKUPS = ("embedding", "embedding_bag")
"""Functions that read a few rows of a weight and multiply nothing."""
PER_NUMBER = 250
"""Operations that count for each number in the output of a function.

In small networks, reading and writing numbers takes longer than the products with weights. Measured on one thread of a
CPU, with this factor perceptrons and convolutional networks do equally many operations per second, within a factor of
two; products alone differ by a factor of ten.
"""


def operations_per_input(model: nn.Module, data: ProbeData, forward: Forward = default_forward) -> float:
    """Operations of a forward pass for one input: a rough figure.

    These are the multiplications and additions with weights, at least two for each parameter (recurrent layers do many
    steps in one function), and `PER_NUMBER` for each number that a function computes.

    >>> class Zeros:
    ...     def first(self, n):
    ...         return torch.zeros(n, 100)
    >>> operations_per_input(nn.Linear(100, 10, bias=False).eval(), Zeros()) == 2 * 100 * 10 + PER_NUMBER * 10
    True
    """
    inputs = placement(model).put(data.first(PROBE_INPUTS))
    counter = _OperationCounter()
    with steady(), torch.inference_mode(), counter:
        forward(model, inputs)
    least = 2 * sum(parameter.numel() for parameter in model.parameters())
    return float(max(counter.products / PROBE_INPUTS, least) + PER_NUMBER * counter.numbers / PROBE_INPUTS)


class _OperationCounter(CallHandler):
    """Counts multiplications and additions with weights, and numbers computed."""

    def __init__(self) -> None:
        self.products, self.numbers = 0.0, 0

    def handle(self, name: str, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Counts one call: each output needs its share of the weight once."""
        result, given = func(*args, **kwargs), [*tensors((args, kwargs))]
        outputs = max((tensor.numel() for tensor in tensors(result)), default=0)
        for weight in given:
            if isinstance(weight, nn.Parameter) and weight.ndim > 1 and name not in LOOKUPS and not _is_attribute(name):
                units = weight.shape[1] if "transpose" in name else weight.shape[0]
                self.products += 2 * weight.numel() * outputs / max(1, units)
        self.numbers += sum(tensor.numel() for tensor in tensors(result) if not _is_view(tensor, given))
        return result


def _is_attribute(name: str) -> bool:
    """Whether a call reads an attribute or a view of a tensor rather than computing with it."""
    return name.startswith("__") or name in ("size", "dim", "numel", "view", "reshape", "t", "transpose")


def _is_view(result: Tensor, given: Iterable[Tensor]) -> bool:
    """Whether a result shows the numbers of an argument in another shape; a result of a function in place does not."""
    if any(result is tensor for tensor in given) or result.layout is not torch.strided:
        return False
    start = result.untyped_storage().data_ptr()
    return any(t.layout is torch.strided and t.untyped_storage().data_ptr() == start for t in given)
