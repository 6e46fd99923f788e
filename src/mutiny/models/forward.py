"""Calling a model on nested inputs and extracting the tensor of predictions from its result."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput
from mutiny.models.shared_context import SharedContext

Forward = Callable[[nn.Module, Any], Tensor]

OUTPUT_KEYS = ("logits", "out", "output", "outputs", "prediction", "predictions", "y")


def default_forward(model: nn.Module, inputs: Any) -> Tensor:
    """Calls ``model`` and returns its main output.

    A tuple is passed as positional arguments and a dict as keyword arguments if the model's signature takes them,
    otherwise as one argument. From a tuple the first tensor is the output; from a dict the entry ``logits`` (or one
    of ``out``, ``output``, ``prediction``, ...), or the only tensor in it.
    """
    if isinstance(inputs, Mapping) and _accepts(model, (), inputs):
        result = model(**inputs)
    elif isinstance(inputs, (tuple, list)) and _accepts(model, inputs, {}):
        result = model(*inputs)
    else:
        result = model(inputs)
    return main_output(result)


def as_forward(forward: Forward | None) -> Forward:
    """The given function, or `default_forward`; an error if it cannot be called."""
    if forward is not None and not callable(forward):
        expected = "a function of model and inputs that returns the outputs"
        raise BadInput("forward", repr(forward)[:60], expected)
    return forward or default_forward


class ForwardModule(nn.Module):
    """A model together with its forward function, for ``torch.func.functional_call``; names begin with ``model.``."""

    def __init__(self, model: nn.Module, forward_function: Forward) -> None:
        super().__init__()
        self.model, self._forward_function = model, forward_function
        self.training = False

    def forward(self, inputs: Any) -> Tensor:
        """Calls the forward function."""
        return self._forward_function(self.model, inputs)


def main_output(result: Any) -> Tensor:
    """The tensor of predictions in the result of a model: a tensor, tuple, dict or model-output object."""
    if isinstance(result, Tensor):
        return result
    if isinstance(result, Mapping):
        for key in OUTPUT_KEYS:
            if isinstance(value := result.get(key), Tensor):
                return value
        candidates = [value for value in result.values() if isinstance(value, Tensor)]
        if len(candidates) == 1:
            return candidates[0]
        shown = f"a dict with the keys {sorted(map(str, result))}"
        raise BadInput("model output", shown, f"one tensor, or one under {', '.join(OUTPUT_KEYS)}", FIX)
    if isinstance(result, (tuple, list)) and result and isinstance(result[0], Tensor):
        return result[0]
    if isinstance(logits := getattr(result, "logits", None), Tensor):
        return logits
    raise BadInput("model output", type(result).__name__, "a tensor, or a tuple or dict that holds one", FIX)


FIX = "Give the subject forward=lambda model, inputs: ... that returns the tensor of predictions."


def _accepts(model: nn.Module, args: Any, kwargs: Mapping[str, Any]) -> bool:
    try:
        inspect.signature(model.forward).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return False
    return True


@contextmanager
def steady() -> Iterator[None]:
    """Disables fused attention and compiled code, so that all forward passes round in the same way.

    Patches that intercept torch calls force the ordinary path. The fused path rounds differently, and clean and mutated
    runs must round alike.
    """
    with _UNFUSED.entered():
        if "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance"):  # else nothing is compiled
            with _EAGER.entered():
                yield
        else:
            yield


@contextmanager
def _unfused() -> Iterator[None]:
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    yield
    torch.backends.mha.set_fastpath_enabled(before)


_UNFUSED = SharedContext(_unfused)
_EAGER = SharedContext(lambda: torch.compiler.set_stance("force_eager"))
