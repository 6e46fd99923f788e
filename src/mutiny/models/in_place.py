"""Faults between layers, put into the modules themselves, so that whoever calls a model or a part of it meets them.

Signals and activation calls belong to one forward pass. A pass begins where a module is called that no other module of
the model is calling: the model itself, or a part of it that code outside calls on its own. It ends when that call
returns; signals that reach the caller are scaled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import MethodType
from typing import Any

from torch import nn

from mutiny.models.signals import Scaled, SignalEditor
from mutiny.models.undo import Undo
from mutiny.models.view import parameter_names

Unbound = Callable[..., Any]
"""A forward function whose first argument is the module."""


def replace_forward(module: nn.Module, change: Callable[[Unbound], Unbound], undo: Undo) -> None:
    """Replaces the forward function of a module; the module tree, its names and its hooks stay as they are.

    The new function is a method of the module, so that a deep copy of the module runs it with its own weights.

    Args:
        module: The module.
        change: Function from the unbound forward function to the new one.
        undo: Receives the step that restores the old one.
    """
    before = module.__dict__.get("forward")
    undo.add(set_forward, module, before)
    changed = change(_unbound(module, before))
    set_forward(module, MethodType(changed, module))


def set_forward(module: nn.Module, forward: Callable[..., Any] | None) -> None:
    """Sets the forward function of one module; ``None`` leaves that of its class."""
    if forward is None:
        module.__dict__.pop("forward", None)
    else:
        module.__dict__["forward"] = forward


def _unbound(module: nn.Module, own: Any) -> Unbound:
    if own is None:
        return type(module).forward
    if isinstance(own, MethodType) and own.__self__ is module:
        unbound: Unbound = own.__func__
        return unbound

    @wraps(own)
    def forward(_module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return own(*args, **kwargs)

    return forward


class EditedPasses:
    """Makes every forward pass of a model, or of a part of it, one in which signals and activation calls are edited.

    Args:
        model: The model.
        scaled: Layers, the neurons in them and the factor for their signals.
        silenced: Ordinals of activation calls that return their input.
        activations: Path of the module of each activation call of a whole pass, in order.
        on_pass: Function that is called at the beginning of each pass.

    >>> import torch
    >>> model, passes = nn.Sequential(nn.ReLU(), nn.Linear(2, 2)), []
    >>> with Undo() as undo:
    ...     EditedPasses(model, silenced=[0], activations=["0"], on_pass=lambda: passes.append(1)).put_in(undo)
    ...     x = -torch.ones(1, 2)
    ...     torch.equal(model(x), model[1](x)), torch.equal(model[0](x), x), len(passes)
    (True, True, 3)
    """

    def __init__(
        self,
        model: nn.Module,
        scaled: Sequence[Scaled] = (),
        silenced: Sequence[int] = (),
        activations: Sequence[str] = (),
        on_pass: Callable[[], None] | None = None,
    ) -> None:
        names = parameter_names(model)
        every = model.named_parameters(remove_duplicate=False)
        self._names = {name: names[id(parameter)] for name, parameter in every}
        self._model, self._scaled, self._silenced = model, scaled, silenced
        self._activations, self._on_pass = activations, on_pass
        self._running = threading.local()

    def put_in(self, undo: Undo) -> None:
        """Replaces the forward functions of all modules, until ``undo``."""
        for path, module in self._model.named_modules():
            replace_forward(module, lambda unchanged, path=path: self._edited(unchanged, path), undo)  # type: ignore[misc]

    def _edited(self, unchanged: Unbound, path: str) -> Unbound:
        before = self._activations_before(path)
        silenced = [ordinal - before for ordinal in self._silenced]

        @wraps(unchanged)
        def forward(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            if getattr(self._running, "pass_", False):
                return unchanged(module, *args, **kwargs)
            if self._on_pass is not None:
                self._on_pass()
            editor = SignalEditor(
                self._names_in(module, path), self._scaled, silenced, [*module.parameters(), *module.buffers()]
            )
            self._running.pass_ = True
            try:
                return editor.run(lambda: unchanged(module, *args, **kwargs))
            finally:
                self._running.pass_ = False

        return forward

    def _activations_before(self, path: str) -> int:
        """Number of activation calls before the first one of a module, in a whole pass."""
        if not path:
            return 0
        inside = (ordinal for ordinal, at in enumerate(self._activations) if at == path or at.startswith(f"{path}."))
        return next(inside, len(self._activations))

    def _names_in(self, module: nn.Module, path: str) -> Mapping[int, str]:
        """Names of parameters by identity; those of the module as it is now, which may be a copy."""
        start = f"{path}." if path else ""
        named = module.named_parameters(remove_duplicate=False)
        return {id(tensor): self._names[start + name] for name, tensor in named if start + name in self._names}
