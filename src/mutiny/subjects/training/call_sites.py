"""Call sites of torch functions in a network's forward pass, and forward passes in which calls at a site are replaced.

A call is identified by the layer before it, not by its position in the whole pass. So it has the same site in training
and evaluation, in every iteration of a loop, and whether or not other parts of the network run.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from torch import nn

from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import weighted_call

Replacement = Callable[[Any, Any, Any], Any]
"""Takes a function, its arguments and its keyword arguments; returns what the call returns instead."""


class CallSite(NamedTuple):
    """Position of the calls of a function in a network.

    Attributes:
        weight: Name of the first weight of the last layer before the calls; empty if no layer ran before them.
        function: Name of the torch function, without leading and trailing underscores.
        number: Number of calls of the function between that layer and these calls.
    """

    weight: str
    function: str
    number: int = 0


class CallSiteHandler(CallHandler):
    """Determines the site of each call of a torch function while it is active.

    Args:
        model: Network whose weights identify the sites.
    """

    def __init__(self, model: nn.Module) -> None:
        self._names = {id(parameter): name for name, parameter in model.named_parameters()}
        self.restart()

    def restart(self) -> None:
        """Forgets all calls, as at the beginning of a forward pass."""
        self._weight = ""
        self._calls_since_layer: Counter[str] = Counter()

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        """Determines the site of a call and returns what `at` returns for it."""
        call = weighted_call(name, args, kwargs)
        if call is not None:
            self._weight = self._names.get(id(call.weights[0]), "")
            self._calls_since_layer.clear()
        function = name.strip("_")
        site = CallSite(self._weight, function, self._calls_since_layer[function])
        self._calls_since_layer[function] += 1
        return self.at(site, func, args, kwargs)

    def at(self, site: CallSite, func: Any, args: Any, kwargs: Any) -> Any:
        """Returns the value of the call at ``site``."""
        raise NotImplementedError


class PatchedForward:
    """A forward function in which the calls at one site are replaced; copied and pickled with its network.

    Args:
        model: The network. If its forward function is patched already, both patches apply.
        site: Site of the calls.
        replacement: Function that is called instead.

    >>> import torch
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    >>> site = CallSite("0.weight", "relu")
    >>> model.__dict__["forward"] = PatchedForward(model, site, lambda func, args, kwargs: func(*args, **kwargs) + 9)
    >>> bool((model(torch.zeros(1, 2)) >= 9).all())
    True
    """

    def __init__(self, model: nn.Module, site: CallSite, replacement: Replacement) -> None:
        self.model, self.site, self.replacement = model, site, replacement
        self.inner = model.__dict__.get("forward")

    @property
    def _forward(self) -> Callable[..., Any]:
        of_class: Callable[..., Any] = type(self.model).forward.__get__(self.model)
        return self.inner or of_class

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._forward)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """One forward pass."""
        with _ReplacingHandler(self):
            return self._forward(*args, **kwargs)


class _ReplacingHandler(CallSiteHandler):
    def __init__(self, patched: PatchedForward) -> None:
        super().__init__(patched.model)
        self._patched = patched

    def at(self, site: CallSite, func: Any, args: Any, kwargs: Any) -> Any:
        if site == self._patched.site:
            return self._patched.replacement(func, args, kwargs)
        return func(*args, **kwargs)
