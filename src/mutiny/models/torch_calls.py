"""Intercepting torch function calls: the only place that knows torch's ``__torch_function__`` protocol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, final

from torch.overrides import TorchFunctionMode


class CallHandler(TorchFunctionMode, ABC):
    """Handles every torch function call while it is active: ``with handler: model(inputs)``.

    Handlers nest: the innermost one handles a call first. While a handler runs, it is inactive, so the torch functions
    that it calls, ``func`` included, go to the next handler outside of it and never back to itself. A handler is active
    again after each call, also after one that raised, and removed when its context is left.

    Torch reports what reaches its Python functions and tensor methods. A module such as ``nn.ReLU`` appears as the
    function that it calls (``relu``), an operator as its method (``x + y`` as ``add`` or ``__add__``), and reading an
    attribute such as ``x.shape`` as ``__get__``. What torch computes inside one function, such as the steps of
    ``lstm``, does not appear.

    >>> import torch
    >>> from torch import nn
    >>> class Names(CallHandler):
    ...     def __init__(self):
    ...         self.names = []
    ...     def handle(self, name, func, args, kwargs):
    ...         self.names.append(name)
    ...         return func(*args, **kwargs)
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    >>> with Names() as handler:
    ...     _ = model(torch.ones(1, 2)).sum()
    >>> handler.names
    ['ones', 'linear', 'relu', 'sum']
    """

    @abstractmethod
    def handle(self, name: str, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Returns the result of one call, which is ``func(*args, **kwargs)`` unless the handler changes it.

        Args:
            name: Name of the function; empty for a callable without one.
            func: Torch function or method.
            args: Positional arguments; for a method, the tensor comes first.
            kwargs: Keyword arguments. They belong to the caller: copy them before changing them.
        """

    @final
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # `types` lists tensor subclasses among the arguments; their own overrides run inside `func`. Torch passes
        # None for kwargs when there are none.
        return self.handle(getattr(func, "__name__", ""), func, args, kwargs or {})
