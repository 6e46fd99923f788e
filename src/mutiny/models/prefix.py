"""What many passes over the same inputs have in common: everything before the first call that differs."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import Tensor

from mutiny.models.torch_ops import replace_tensors, tensors


class OtherWay(BaseException):
    """A pass took another way than the one before it. Not an `Exception`, so that no model catches it by accident."""


class Prefix:
    """What a pass computed before its first change, call by call, for later passes over the same inputs.

    Only what something still holds when the change comes can be read after it; the rest is forgotten.

    Attributes:
        inputs: with which all passes must be made.
        known: whether a pass was noted already.
    """

    def __init__(self, inputs: Any) -> None:
        self.inputs = replace_tensors(inputs, Tensor.clone)
        self.known = False
        self._said: list[tuple[Any, Any]] = []
        self._at = 0
        self._spoilt: tuple[Tensor, Tensor] | None = None
        self._versions: list[tuple[Tensor, int]] = []

    def step(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The result of the next call: computed in the first pass, remembered in all others."""
        if not self.known:
            result = func(*args, **kwargs)
            self._said.append((func, weakref.ref(result) if isinstance(result, Tensor) else result))
            return result
        if self._at == len(self._said) or self._said[self._at][0] != func:
            raise OtherWay
        self._at += 1
        return self._said[self._at - 1][1]

    def end(self, spoilt: Tensor | None) -> None:
        """The first change comes; it is about to change ``spoilt`` in place."""
        if self.known and self._at != len(self._said):
            raise OtherWay
        self._spoilt = None if spoilt is None else (spoilt, spoilt.clone())
        if not self.known:
            self._said = [(func, _alive(held)) for func, held in self._said]

    def watch(self) -> None:
        """Notes how often everything that is remembered was changed in place so far."""
        kept = tensors([self.inputs, *(held for _, held in self._said)])
        self._versions = [(tensor, tensor._version) for tensor in kept if not tensor.is_inference()]

    def restore(self) -> bool:
        """Prepares the next pass; false if the last one has changed what is remembered."""
        intact = all(tensor._version == version for tensor, version in self._versions)
        if self._spoilt is not None:
            self._spoilt[0].copy_(self._spoilt[1])
        self.known, self._at = True, 0
        return intact


def _alive(held: Any) -> Any:
    """What a weak reference refers to; an empty tensor if nobody can read it any more."""
    if not isinstance(held, weakref.ref):
        return held
    found: Tensor | None = held()
    return torch.empty(0) if found is None else found
