"""Calls of torch functions in a forward pass of a program's network: where they are made, and by which module."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn

from mutiny.faults.training.base import Program
from mutiny.models.forward import steady
from mutiny.models.undo import Undo
from mutiny.models.view import PROBE_INPUTS
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.training.call_sites import CallSite, CallSiteHandler


class FunctionCall(NamedTuple):
    """One call of a torch function.

    Attributes:
        site: Position of the call in the network.
        path: Path of the module that makes the call; ``None`` if it is made outside the network.
        args: Positional arguments.
        kwargs: Keyword arguments.
    """

    site: CallSite
    path: str | None
    args: Any
    kwargs: Any


def function_calls(program: Program, model: nn.Module, names: Container[str]) -> list[FunctionCall]:
    """Calls of some torch functions in one forward pass, in order.

    Args:
        program: Program that defines how the network is called, and with which inputs.
        model: Network of the program, in the mode in which it should run; its running statistics may change.
        names: Names of the functions.
    """
    recorder = _Recorder(model, names)
    with seeded(0), steady(), torch.no_grad(), Undo() as undo:
        for path, module in model.named_modules():
            undo.add(module.register_forward_pre_hook(partial(recorder.enter, path)).remove)
            undo.add(module.register_forward_hook(recorder.leave).remove)
        with recorder:
            program.forward(model, program.data.first(PROBE_INPUTS))
    return recorder.calls


def names_by_layer(layers: Sequence[str], sites: Iterable[CallSite]) -> list[str]:
    """A name for each site: its layer, or ``layer:function``, ``layer:function2``, ... if a layer has several sites.

    >>> names_by_layer(["fc1", "fc2", "fc2"], [CallSite("", "relu"), CallSite("", "relu"), CallSite("", "relu", 1)])
    ['fc1', 'fc2:relu', 'fc2:relu2']
    """
    return [
        layer
        if layer and layers.count(layer) == 1
        else f"{layer or 'input'}:{site.function}{site.number + 1 if site.number else ''}"
        for layer, site in zip(layers, sites, strict=True)
    ]


class _Recorder(CallSiteHandler):
    """Records the wanted calls, and follows which modules run."""

    def __init__(self, model: nn.Module, names: Container[str]) -> None:
        super().__init__(model)
        self.calls: list[FunctionCall] = []
        self._wanted, self._running = names, list[str]()

    def enter(self, path: str, _module: nn.Module, _args: Any) -> None:
        if not self._running:
            self.restart()
        self._running.append(path)

    def leave(self, _module: nn.Module, _args: Any, _output: Any) -> None:
        self._running.pop()

    def at(self, site: CallSite, func: Any, args: Any, kwargs: Any) -> Any:
        if getattr(func, "__name__", "") in self._wanted:
            inside = bool(self._running) and self._running[0] == ""
            self.calls.append(FunctionCall(site, self._running[-1] if inside else None, args, kwargs))
        return func(*args, **kwargs)
