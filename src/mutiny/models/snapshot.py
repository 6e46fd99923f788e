"""The complete state of a model, kept so that it can be restored bit for bit, whatever code of others did to it."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

import torch
from torch import Tensor, nn

OF_TORCH = ("_parameters", "_buffers", "_modules")
"""Attributes in which torch keeps the tensors and the parts of a module."""
WHOLE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Types to compare values as bits, by size in bytes."""


class ModelSnapshot:
    """Weights, buffers, gradients, flags, modes, hooks, attributes and module tree of a model, with a copy of values.

    >>> model = nn.Linear(2, 2)
    >>> snapshot = ModelSnapshot(model)
    >>> _ = model.half().train(), model.weight.data.zero_()
    >>> snapshot.changed()
    'weight'
    >>> snapshot.restore()
    >>> snapshot.changed(), model.weight.dtype
    (None, torch.float32)
    """

    def __init__(self, model: nn.Module) -> None:
        self._modules = [_ModuleSnapshot(path, module) for path, module in model.named_modules()]
        tensors: dict[int, _TensorSnapshot] = {}
        for module in self._modules:
            for name, tensor in module.tensors():
                if id(tensor) not in tensors:
                    tensors[id(tensor)] = _TensorSnapshot(name, tensor)
        self._tensors = [*tensors.values()]

    def changed(self) -> str | None:
        """Name of the first thing that differs and may change answers; ``None`` if there is none.

        Gradients, flags of gradients, and attributes that torch does not know do not count.
        """
        for tensor in self._tensors:
            if tensor.changed():
                return tensor.name
        return next((name for module in self._modules if (name := module.changed()) is not None), None)

    def restore(self) -> None:
        """Makes everything what it was. Can be repeated, so that an interrupt in between does no harm."""
        for module in self._modules:
            module.restore()
        for tensor in self._tensors:
            tensor.restore()


class _ModuleSnapshot:
    """One module without the values of its tensors."""

    def __init__(self, path: str, module: nn.Module) -> None:
        self.path, self.module, self.kind = path, module, type(module)
        self.attributes = dict(module.__dict__)
        self.contents = {
            name: dict(value)
            for name, value in self.attributes.items()
            if isinstance(value, MutableMapping) and (name in OF_TORCH or name.endswith("_hooks"))
        }

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        """Parameters and buffers with their names in the model."""
        for kind in ("_parameters", "_buffers"):
            for name, tensor in self.contents[kind].items():
                if isinstance(tensor, Tensor):
                    yield f"{self.path}.{name}" if self.path else name, tensor

    def changed(self) -> str | None:
        """Name of what differs, if it may change answers."""
        now = self.module.__dict__
        for name, content in self.contents.items():
            if not _same(now.get(name), content):
                return self.path or name.strip("_")
        forward = now.get("forward") is not self.attributes.get("forward")
        mode = now.get("training") != self.attributes.get("training")
        return (self.path or "the model") if forward or mode or type(self.module) is not self.kind else None

    def restore(self) -> None:
        """Makes class, attributes, tensors, parts and hooks those of before."""
        if type(self.module) is not self.kind:
            self.module.__class__ = self.kind
        now = self.module.__dict__
        for name in [name for name in now if name not in self.attributes]:
            del now[name]
        now.update(self.attributes)
        for name, content in self.contents.items():
            if not _same(now[name], content):
                now[name].clear()
                now[name].update(content)


class _TensorSnapshot:
    """A parameter or buffer with a copy of its values."""

    def __init__(self, name: str, tensor: Tensor) -> None:
        self.name, self.tensor = name, tensor
        self.memory = tensor.data  # the same memory, whatever ``.data`` is set to later
        self.values = tensor.detach().clone()
        self.requires_grad, self.grad = tensor.requires_grad, tensor.grad
        self.gradient = None if tensor.grad is None else tensor.grad.detach().clone()

    def changed(self) -> bool:
        """Whether type, device, shape or a bit differs."""
        now = self.tensor
        if (now.dtype, now.device, now.shape) != (self.values.dtype, self.values.device, self.values.shape):
            return True
        return not _equal(now.detach(), self.values)

    def restore(self) -> None:
        """Writes the values into the memory that the tensor had, and gives it back to the tensor."""
        with torch.inference_mode():  # tensors made in inference mode can only be written in it
            if not _equal(self.memory, self.values):
                self.memory.copy_(self.values)
            if self.grad is not None and self.gradient is not None:
                self.grad.detach().copy_(self.gradient)
        if self.tensor.data_ptr() != self.memory.data_ptr() or self.tensor.dtype != self.memory.dtype:
            self.tensor.data = self.memory
        if self.tensor.is_leaf:
            self.tensor.requires_grad_(self.requires_grad)
        self.tensor.grad = self.grad


def _same(now: Any, before: dict[Any, Any]) -> bool:
    """Whether a mapping has the same keys in the same order with the same objects."""
    if not isinstance(now, MutableMapping) or list(now) != list(before):
        return False
    return all(now[key] is value for key, value in before.items())


def _equal(first: Tensor, second: Tensor) -> bool:
    """Whether two tensors of one type and shape have the same bits."""
    try:
        kind = WHOLE[first.element_size()]
        return torch.equal(first.view(kind), second.view(kind))
    except (KeyError, RuntimeError):  # sparse, quantized, 16 bytes: no view of the bits
        return torch.equal(first, second)
