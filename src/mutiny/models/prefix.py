"""The common start of several forward passes over the same inputs, computed once and replayed."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import Tensor

from mutiny.models.torch_ops import replace_tensors, tensors


class DifferentPath(BaseException):
    """A pass made other calls than the one before. Not an `Exception`, so that no model catches it by accident."""


class Prefix:
    """Results of the calls before the first change of a pass, for later passes over the same inputs.

    Only tensors that are still referenced when the change comes can be read after it; the others are dropped.

    Attributes:
        inputs: Inputs that all passes must use.
        known: Whether a pass was recorded already.
    """

    def __init__(self, inputs: Any) -> None:
        self.inputs = replace_tensors(inputs, Tensor.clone)
        self.known = False
        self._calls: list[tuple[Any, Any]] = []
        self._at = 0
        self._overwritten: tuple[Tensor, Tensor] | None = None
        self._versions: list[tuple[Tensor, int]] = []

    def step(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The result of the next call: computed in the first pass, replayed in all others."""
        if not self.known:
            result = func(*args, **kwargs)
            self._calls.append((func, weakref.ref(result) if isinstance(result, Tensor) else result))
            return result
        if self._at == len(self._calls) or self._calls[self._at][0] != func:
            raise DifferentPath
        self._at += 1
        return self._calls[self._at - 1][1]

    def end(self, overwritten: Tensor | None) -> None:
        """Ends the common start; the call that follows changes ``overwritten`` in place, if given."""
        if self.known and self._at != len(self._calls):
            raise DifferentPath
        self._overwritten = None if overwritten is None else (overwritten, overwritten.clone())
        if not self.known:
            self._calls = [(func, _alive(held)) for func, held in self._calls]

    def watch(self) -> None:
        """Records the version counters of all replayed tensors, so that later changes in place are detected."""
        kept = tensors([self.inputs, *(held for _, held in self._calls)])
        self._versions = [(tensor, tensor._version) for tensor in kept if not tensor.is_inference()]

    def restore(self) -> bool:
        """Prepares the next pass; false if the last one has changed a tensor that would be replayed."""
        intact = all(tensor._version == version for tensor, version in self._versions)
        if self._overwritten is not None:
            self._overwritten[0].copy_(self._overwritten[1])
        self.known, self._at = True, 0
        return intact


def _alive(held: Any) -> Any:
    """The tensor behind a weak reference; an empty one if it is gone, because then nothing can read it."""
    if not isinstance(held, weakref.ref):
        return held
    tensor: Tensor | None = held()
    return torch.empty(0) if tensor is None else tensor
