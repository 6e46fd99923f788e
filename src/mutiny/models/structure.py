"""Forward functions that structural patches substitute for that of a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from mutiny.models.torch_ops import replace_tensors, tensors

Change = Literal["remove", "duplicate", "follow"]


def _softmax(x: Tensor) -> Tensor:
    return F.softmax(x, dim=1 if x.ndim in (2, 4, 5) else -1)


ADDED: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "softmax": _softmax,
    "elu": F.elu,
    "selu": F.selu,
    "softplus": F.softplus,
    "softsign": F.softsign,
    "relu": F.relu,
    "sigmoid": torch.sigmoid,
    "hard_sigmoid": F.hardsigmoid,
    "linear": lambda x: x,
}
"""Activations that layer addition inserts, as in DeepMutation++. Softmax is over the channels of images and the last
axis of sequences; ``linear`` does nothing."""


def diverted(forward: Callable[..., Any], change: Change, activation: str = "linear") -> Callable[..., Any]:
    """A forward function that skips that of a module, runs it twice, or applies an activation after it.

    >>> double = diverted(torch.nn.Hardtanh(-1, 0.5).forward, "duplicate")
    >>> double(torch.tensor([-2.0, 2.0]))
    tensor([-1.0000,  0.5000])
    """

    def removed(*args: Any, **kwargs: Any) -> Any:
        return next(tensors((args, kwargs)))

    def duplicated(*args: Any, **kwargs: Any) -> Any:
        once = forward(*args, **kwargs)
        return forward(*replace_tensors(args, lambda _: once), **replace_tensors(kwargs, lambda _: once))

    def followed(*args: Any, **kwargs: Any) -> Any:
        return ADDED[activation](forward(*args, **kwargs))

    return {"remove": removed, "duplicate": duplicated, "follow": followed}[change]
