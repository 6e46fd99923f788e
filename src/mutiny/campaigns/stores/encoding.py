"""Encodes values as JSON and raw parts."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import BadInput

if TYPE_CHECKING:
    from torch import Tensor

Part = bytes | memoryview
TAG = "!"
"""Key that marks JSON objects which encode something other than a dictionary with string keys."""
KINDS = "biufcSUmM"
"""Kinds of numpy dtypes that can be stored: all except objects and structured arrays."""


class Encoder:
    """Turns values into JSON; arrays and bytes become ``parts``, each object once."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._places: dict[int, int] = {}

    def text(self, value: Any) -> bytes:
        """The JSON text of a value."""
        return json.dumps(self.encode(value), separators=(",", ":")).encode()

    def encode(self, value: Any) -> Any:
        """A value as objects that JSON can represent."""
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if -(1 << 63) <= value < 1 << 63 else {TAG: "int", "hex": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {TAG: "float", "hex": struct.pack(">d", value).hex()}
        if kind is list:
            return self._all(value)
        if kind is dict:
            if all(type(key) is str and not key.startswith(TAG) for key in value):
                return {key: self.encode(item) for key, item in value.items()}
            return {TAG: "dict", "items": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        if kind is tuple:
            return {TAG: "tuple", "items": self._all(value)}
        if kind is set or kind is frozenset:
            return {TAG: kind.__name__, "items": self._all(value)}
        if kind is bytes:
            return {TAG: "bytes", "part": self._part(value, lambda: value)}
        if kind is np.ndarray and value.dtype.kind in KINDS:
            return self._array(value)
        if isinstance(value, np.generic) and value.dtype.kind in KINDS:
            return {TAG: "scalar", "dtype": value.dtype.str, "hex": value.tobytes().hex()}
        if kind.__module__ == "torch" and kind.__name__ == "Tensor" and _is_plain(value):
            return self._tensor(value)
        return self._record(value)

    def _all(self, values: Any) -> list[Any]:
        return [self.encode(value) for value in values]

    def _part(self, value: Any, make: Callable[[], Part]) -> int:
        place = self._places.get(id(value))
        if place is None:
            place = self._places[id(value)] = len(self.parts)
            self.parts.append(make())
        return place

    def _array(self, array: npt.NDArray[Any]) -> Any:
        axes = memory_order(array.strides)
        dense = array.transpose(axes).flags.c_contiguous
        axes = axes if dense else list(range(array.ndim))

        def raw() -> Part:
            flat = np.asarray(array.transpose(axes), order="C").reshape(-1)
            return flat.view(np.uint8).data if flat.nbytes else b""

        return {
            TAG: "array",
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "axes": axes,
            "part": self._part(array, raw),
        }

    def _tensor(self, tensor: Tensor) -> Any:
        import torch

        axes = memory_order(tensor.stride())
        axes = axes if tensor.permute(axes).is_contiguous() else list(range(tensor.ndim))

        def raw() -> Part:
            flat = tensor.detach().resolve_conj().resolve_neg().cpu().permute(axes).contiguous().reshape(-1)
            return flat.view(torch.uint8).numpy().data if flat.numel() else b""

        return {
            TAG: "tensor",
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "axes": axes,
            "part": self._part(tensor, raw),
        }

    def _record(self, value: Any) -> Any:
        kind = type(value)
        name = f"{kind.__module__}:{kind.__qualname__}"
        if kind.__module__.partition(".")[0] == "mutiny" and "<" not in name:
            if isinstance(value, Enum) and value.name in kind.__members__:
                return {TAG: "enum", "class": name, "name": value.name}
            if isinstance(value, tuple) and hasattr(kind, "_fields"):
                return {TAG: "record", "class": name, "fields": dict(zip(kind._fields, self._all(value), strict=True))}
            if is_frozen(kind):
                encoded = {f.name: self.encode(getattr(value, f.name)) for f in fields(value)}
                return {TAG: "record", "class": name, "fields": encoded}
        shown, fix = (
            f"a {name.removeprefix('builtins:')}",
            "Return one of these from the work; nothing else can be kept.",
        )
        raise BadInput("value", shown, "plain values, arrays, tensors and records of mutiny", fix)


def memory_order(strides: Sequence[int]) -> list[int]:
    """Axes from the slowest to the fastest in memory."""
    return sorted(range(len(strides)), key=lambda axis: -strides[axis])


def is_frozen(kind: type) -> bool:
    """Whether a class is a frozen dataclass."""
    parameters: Any = getattr(kind, "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)


def _is_plain(tensor: Tensor) -> bool:
    return tensor.dtype in torch_types().values() and str(tensor.layout) == "torch.strided"


def torch_types() -> dict[str, Any]:
    """Dtypes of tensors that can be stored, by name."""
    import torch

    names = (
        "float64 float32 float16 bfloat16 complex64 complex128 bool int8 int16 int32 int64 uint8 uint16 uint32 uint64"
    )
    return {name: getattr(torch, name) for name in names.split()}
