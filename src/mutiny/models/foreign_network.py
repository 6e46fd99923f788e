"""Networks that are not ordinary modules: functions, TorchScript, exported programs, ONNX Runtime sessions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput
from mutiny.models.device import placement
from mutiny.models.onnx_session import OnnxNetwork, is_onnx_session
from mutiny.models.state import check_mode, digest


class ForeignNetwork(nn.Module):
    """A callable in the form of a module, to be called but not changed.

    The callable is no part of the module tree, because TorchScript modules and exported programs cannot be examined
    like ordinary modules.

    Args:
        function: Callable that takes inputs as a model does and returns a tensor or an array.

    >>> ForeignNetwork(lambda x: x.numpy() * 2)(torch.ones(1, 2))
    tensor([[2., 2.]])
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.training = False
        self.__dict__["function"] = function

    function: Callable[..., Any]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function; modules get inputs on their device, in their dtype."""
        if isinstance(self.function, nn.Module):
            put = placement(self.function).put
            args, kwargs = put(args), put(kwargs)
        return as_tensor(self.function(*args, **kwargs))


def as_tensor(outputs: Any) -> Any:
    """Outputs whose arrays are tensors."""
    if isinstance(outputs, (np.ndarray, np.generic)):
        return torch.from_numpy(np.array(outputs))
    if isinstance(outputs, (list, tuple)) and outputs and isinstance(outputs[0], (np.ndarray, int, float, list)):
        first = outputs[0]
        return torch.from_numpy(np.array(first if isinstance(first, np.ndarray) else outputs))
    return outputs


def is_plain(model: nn.Module) -> bool:
    """Whether the code and weights of a module can be read, so that the same network is recognized.

    >>> is_plain(nn.Linear(1, 1)), is_plain(ForeignNetwork(abs))
    (True, False)
    """
    opaque = (ForeignNetwork, torch.jit.ScriptModule, torch.fx.GraphModule)
    return not any(isinstance(module, opaque) for module in model.modules())


def as_network(value: Any, name: str) -> nn.Module | None:
    """The module of anything that can be called like a network; ``None`` for something else.

    Ordinary modules are returned as they are; they must be in evaluation mode.

    Args:
        value: An ``nn.Module``, ``torch.jit`` module, ``torch.export.ExportedProgram``, ONNX Runtime session, the path
            of an ``.onnx`` file, or any function from inputs to outputs.
        name: Name of the argument, for messages.
    """
    if isinstance(value, nn.Module):
        inner = getattr(value, "_orig_mod", None)  # torch.compile keeps the real module here
        value = inner if isinstance(inner, nn.Module) else value
        opaque = isinstance(value, (torch.jit.ScriptModule, torch.fx.GraphModule))
        if not isinstance(value, torch.fx.GraphModule):  # its mode was decided when it was exported
            check_mode(value, name)
        return ForeignNetwork(value) if opaque else value
    if isinstance(value, torch.export.ExportedProgram):
        return ForeignNetwork(value.module())
    if is_onnx_session(value):
        return ForeignNetwork(OnnxNetwork(value))
    if isinstance(value, (str, Path)) and Path(value).suffix.lower() == ".onnx":
        return ForeignNetwork(OnnxNetwork.read(Path(value), name))
    if callable(value) and not inspect.isclass(value):
        return ForeignNetwork(value)
    if inspect.isclass(value) and issubclass(value, nn.Module):
        raise BadInput(name, f"the class {value.__name__}", "a network with its weights", "Make an instance of it.")
    return None


def untouched_key(model: nn.Module) -> tuple[str, ...]:
    """Hashes of the weights of a network of any kind, by which a change is noticed."""
    held = model.function if isinstance(model, ForeignNetwork) else model
    if not isinstance(held, nn.Module):
        return ()
    tensors = [*held.named_parameters(), *held.named_buffers()]
    modes = [f"{name} {module.training}" for name, module in held.named_modules()]
    return (*(f"{name} {digest(tensor)}" for name, tensor in tensors if isinstance(tensor, Tensor)), *modes)
