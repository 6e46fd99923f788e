"""Which functions a program calls in a forward pass, where, and from which module."""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn

from mutiny.faults.training.base import Program
from mutiny.models.forward import steady
from mutiny.models.undo import Undo
from mutiny.models.view import PROBE_INPUTS
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.training.spots import Following, Spot


class Heard(NamedTuple):
    """One call.

    Attributes:
        spot: where it stands.
        path: of the module that makes it; ``None`` if it is made outside the network.
        args: its arguments.
        kwargs: its keyword arguments.
    """

    spot: Spot
    path: str | None
    args: Any
    kwargs: Any


def heard_calls(program: Program, model: nn.Module, wanted: Container[str]) -> list[Heard]:
    """The calls of some functions, in order, in one pass of ``model``, a network of the program.

    Args:
        program: says how it is called, and with what.
        model: in the mode in which it is to run; its running statistics may change.
        wanted: names of functions.
    """
    hearing = _Hearing(model, wanted)
    with seeded(0), steady(), torch.no_grad(), Undo() as undo:
        for path, module in model.named_modules():
            undo.add(module.register_forward_pre_hook(partial(hearing.enter, path)).remove)
            undo.add(module.register_forward_hook(hearing.leave).remove)
        with hearing:
            program.forward(model, program.data.first(PROBE_INPUTS))
    return hearing.calls


class _Hearing(Following):
    def __init__(self, model: nn.Module, wanted: Container[str]) -> None:
        super().__init__(model)
        self.calls: list[Heard] = []
        self._wanted, self._stack = wanted, list[str]()

    def enter(self, path: str, _module: nn.Module, _args: Any) -> None:
        if not self._stack:
            self.restart()
        self._stack.append(path)

    def leave(self, _module: nn.Module, _args: Any, _output: Any) -> None:
        self._stack.pop()

    def at(self, spot: Spot, func: Any, args: Any, kwargs: Any) -> Any:
        if getattr(func, "__name__", "") in self._wanted:
            inside = bool(self._stack) and self._stack[0] == ""
            self.calls.append(Heard(spot, self._stack[-1] if inside else None, args, kwargs))
        return func(*args, **kwargs)
