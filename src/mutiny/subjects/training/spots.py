"""Function calls in a network's forward pass, told apart by what ran before them, and answered by something else.

A call stands at the same spot in training and evaluation, in every turn of a loop, and whether or not other parts of
the network run: it is known by the layer before it, not by its position in the whole pass.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from torch import nn

from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import weighted_call

Answer = Callable[[Any, Any, Any], Any]


class Spot(NamedTuple):
    """Where calls of a function stand in a program.

    Attributes:
        weight: parameter that the last layer before them multiplies by, its first if there are several; empty if no
            layer ran before them.
        function: name of the torch function, without underscores at its ends.
        number: how many calls of the function there were since that layer.
    """

    weight: str
    function: str
    number: int = 0


class Following(CallHandler):
    """Knows the spot of each call while it is active.

    Args:
        model: whose parameters tell spots apart.
    """

    def __init__(self, model: nn.Module) -> None:
        self._names = {id(parameter): name for name, parameter in model.named_parameters()}
        self.restart()

    def restart(self) -> None:
        """Begins as at the first call of a forward pass."""
        self._weight = ""
        self._since: Counter[str] = Counter()

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        """Finds the spot of a call and passes both to `at`."""
        call = weighted_call(name, args, kwargs)
        if call is not None:
            self._weight = self._names.get(id(call.weights[0]), "")
            self._since.clear()
        spot = Spot(self._weight, name.strip("_"), self._since[name.strip("_")])
        self._since[spot.function] += 1
        return self.at(spot, func, args, kwargs)

    def at(self, spot: Spot, func: Any, args: Any, kwargs: Any) -> Any:
        """What the call at this spot returns."""
        raise NotImplementedError


class Rerouted:
    """A forward function that answers the calls at one spot otherwise; copied and pickled with its network.

    Args:
        model: the network; later changes go around earlier ones.
        spot: of the calls.
        answer: takes the function, its arguments and its keyword arguments.

    >>> import torch
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    >>> spot = Spot("0.weight", "relu")
    >>> model.__dict__["forward"] = Rerouted(model, spot, lambda func, args, kwargs: func(*args, **kwargs) + 9)
    >>> bool((model(torch.zeros(1, 2)) >= 9).all())
    True
    """

    def __init__(self, model: nn.Module, spot: Spot, answer: Answer) -> None:
        self.model, self.spot, self.answer = model, spot, answer
        self.inner = model.__dict__.get("forward")

    @property
    def _forward(self) -> Callable[..., Any]:
        usual: Callable[..., Any] = type(self.model).forward.__get__(self.model)
        return self.inner or usual

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._forward)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """One forward pass."""
        with _Answering(self):
            return self._forward(*args, **kwargs)


class _Answering(Following):
    def __init__(self, route: Rerouted) -> None:
        super().__init__(route.model)
        self._route = route

    def at(self, spot: Spot, func: Any, args: Any, kwargs: Any) -> Any:
        return self._route.answer(func, args, kwargs) if spot == self._route.spot else func(*args, **kwargs)
