"""Which tensors of a forward pass no input can change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from mutiny.models.torch_ops import CREATING, in_place, memory, tensors


class Constants:
    """Follows constants through one forward pass: parameters, buffers and what is computed from nothing else.

    Memory that an input was written into is constant no longer. A single number that no function of the pass made, an
    attribute of a module say, counts as a constant.

    >>> import torch
    >>> weight, x = torch.ones(3), torch.randn(2, 3)
    >>> constants = Constants([weight])
    >>> half = weight[:, None] / 2
    >>> constants.note("div", (weight, 2), {}, half)
    >>> [constants.holds(tensor) for tensor in (weight, half, x, torch.tensor(2.0))]
    [True, True, False, True]
    """

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self._known = {memory(tensor): (tensor, True) for tensor in tensors}  # kept, or its memory may be reused

    def holds(self, tensor: Tensor) -> bool:
        """Whether no input can change ``tensor``."""
        known = self._known.get(memory(tensor))
        return tensor.ndim == 0 if known is None else known[1]

    def note(self, name: str, args: Any, kwargs: Any, result: Any, data: bool = False) -> None:
        """Takes notice of a call after it was made; ``data``: its arguments are no constants, whatever they seem."""
        read = [*tensors((args, kwargs))]
        constant = name in CREATING or (bool(read) and not data and all(map(self.holds, read)))
        if not constant and not read:  # made of numbers that may be the input
            return
        written = (args[:1] if in_place(name) else (), kwargs.get("out"))
        for tensor in tensors((result, written)):
            place = memory(tensor)
            if place in self._known or constant or tensor.ndim == 0:
                self._known[place] = (tensor, constant and self._known.get(place, (tensor, True))[1])
