"""Arithmetic operations of a forward pass, which do not depend on the machine as seconds do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.placement import placement
from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import tensors
from mutiny.models.view import PROBE_INPUTS, ProbeData

LOOKUPS = ("embedding", "embedding_bag")
"""Functions that read a few rows of a weight and multiply nothing."""


def operations_per_input(model: nn.Module, data: ProbeData, forward: Forward = default_forward) -> float:
    """Multiplications and additions with weights in a forward pass for one input: a rough figure.

    At least two for each parameter, because recurrent layers do many steps in one function.

    >>> class Zeros:
    ...     def first(self, n):
    ...         return torch.zeros(n, 100)
    >>> operations_per_input(nn.Linear(100, 10, bias=False).eval(), Zeros())
    2000.0
    """
    inputs = placement(model).put(data.first(PROBE_INPUTS))
    counter = _OperationCounter()
    with steady(), torch.inference_mode(), counter:
        forward(model, inputs)
    least = 2 * sum(parameter.numel() for parameter in model.parameters())
    return float(max(counter.operations / PROBE_INPUTS, least))


class _OperationCounter(CallHandler):
    """Counts multiplications and additions with weights."""

    def __init__(self) -> None:
        self.operations = 0.0

    def handle(self, name: str, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Counts one call: each output needs its share of the weight once."""
        result = func(*args, **kwargs)
        outputs = max((tensor.numel() for tensor in tensors(result)), default=0)
        for weight in tensors((args, kwargs)):
            if isinstance(weight, nn.Parameter) and weight.ndim > 1 and name not in LOOKUPS and not _is_attribute(name):
                units = weight.shape[1] if "transpose" in name else weight.shape[0]
                self.operations += 2 * weight.numel() * outputs / max(1, units)
        return result


def _is_attribute(name: str) -> bool:
    """Whether a call reads an attribute or a view of a tensor rather than computing with it."""
    return name.startswith("__") or name in ("size", "dim", "numel", "view", "reshape", "t", "transpose")
