"""Decodes values from JSON and raw parts, with the same types; never runs code from a file."""

from __future__ import annotations

import importlib
import json
import math
import struct
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mutiny.campaigns.stores.encoding import KINDS, TAG, is_frozen, torch_types

if TYPE_CHECKING:
    from torch import Tensor


class Unreadable(Exception):
    """A stored value needs a class that this version of mutiny does not have; the message names it."""


class Decoder:
    """Turns JSON and parts into values; arrays from parts are writable."""

    def __init__(self, parts: Sequence[bytearray]) -> None:
        self.parts = parts

    def value(self, text: bytes) -> Any:
        """The value of a JSON text."""
        return self.decode(json.loads(text))

    def decode(self, encoded: Any) -> Any:
        """A value from parsed JSON."""
        if isinstance(encoded, list):
            return self._all(encoded)
        if not isinstance(encoded, dict):
            return encoded
        tag = encoded.get(TAG)
        match tag:
            case None:
                return {key: self.decode(item) for key, item in encoded.items()}
            case "int":
                return int(encoded["hex"], 16)
            case "float":
                return struct.unpack(">d", bytes.fromhex(encoded["hex"]))[0]
            case "dict":
                return {self.decode(key): self.decode(item) for key, item in encoded["items"]}
            case "tuple" | "set" | "frozenset":
                return {"tuple": tuple, "set": set, "frozenset": frozenset}[tag](self._all(encoded["items"]))
            case "bytes":
                return bytes(self.parts[encoded["part"]])
            case "scalar":
                return _as_array(bytearray.fromhex(encoded["hex"]), encoded["dtype"], ())[()]
            case "array" | "tensor":
                shape, axes = encoded["shape"], encoded["axes"]
                make = _as_array if tag == "array" else _as_tensor
                stored = make(self.parts[encoded["part"]], encoded["dtype"], tuple(shape[axis] for axis in axes))
                back = [axes.index(axis) for axis in range(len(axes))]
                return stored.transpose(back) if isinstance(stored, np.ndarray) else stored.permute(back)
            case "enum":
                return _member(encoded["class"], encoded["name"])
            case "record":
                return self._record(encoded["class"], encoded["fields"])
        raise Unreadable(f"a value of the kind {tag!r}")

    def _all(self, encoded: list[Any]) -> list[Any]:
        return [self.decode(item) for item in encoded]

    def _record(self, name: str, values: dict[str, Any]) -> Any:
        kind: Any = _class_of(name)
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            defaults = kind._field_defaults
            missing = [field for field in kind._fields if field not in values and field not in defaults]
            if not missing:
                return tuple.__new__(
                    kind, [self.decode(values[f]) if f in values else defaults[f] for f in kind._fields]
                )
        elif is_frozen(kind):
            missing = [f.name for f in fields(kind) if f.name not in values and not _has_default(f)]
            if not missing:
                made: Any = object.__new__(kind)  # the constructor is not called: a file must not run anything
                for f in fields(kind):
                    object.__setattr__(made, f.name, self.decode(values[f.name]) if f.name in values else _default(f))
                return made
        else:
            raise Unreadable(f"{name}, which is not a record")
        raise Unreadable(f"a {name} without {', '.join(missing)}")


def _class_of(name: str) -> type:
    module, _, path = name.partition(":")
    kind: Any = None
    if module.partition(".")[0] == "mutiny" and "__main__" not in module:
        try:
            kind = importlib.import_module(module)
        except ImportError:
            raise Unreadable(name) from None
        for step in path.split("."):
            kind = vars(kind).get(step)
            if not isinstance(kind, type):
                raise Unreadable(name)
    if not isinstance(kind, type) or kind.__module__ != module:
        raise Unreadable(f"{name}, which is not part of mutiny")
    return kind


def _member(name: str, member: str) -> Any:
    kind = _class_of(name)
    if not issubclass(kind, Enum) or member not in kind.__members__:
        raise Unreadable(f"{name}.{member}")
    return kind.__members__[member]


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _as_array(raw: bytearray, dtype: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    kind = np.dtype(dtype)
    if kind.kind not in KINDS:
        raise Unreadable(f"an array of {dtype}")
    if kind.itemsize == 0 or (not raw and not math.prod(shape)):  # strings of length 0, or no items
        return np.ndarray(shape, kind)
    return np.frombuffer(raw, kind).reshape(shape)


def _as_tensor(raw: bytearray, dtype: str, shape: tuple[int, ...]) -> Tensor:
    import torch

    kind = torch_types().get(dtype)
    if kind is None:
        raise Unreadable(f"a tensor of {dtype}")
    if not raw and not math.prod(shape):
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(raw, dtype=kind).reshape(shape)
