"""Decodes values from JSON and raw parts, with the same types; never runs code from a file.

Sizes are checked before memory is taken, and the fields of records against their annotations.
"""

from __future__ import annotations

import importlib
import math
import re
import struct
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import Any

import numpy as np

from mutiny.campaigns.stores.encoding import KINDS, TAG, is_frozen, torch_types
from mutiny.campaigns.stores.sealed_part import SealedPart
from mutiny.core.field_types import checks_of
from mutiny.core.limits import Allowance


class Unreadable(Exception):
    """A stored value needs a class that this version of mutiny does not have; the message names it."""


DTYPE = re.compile(rf"[<>=|]([{KINDS}])(\d{{1,9}})(\[\d{{0,9}}[A-Za-z]{{1,2}}\])?")
"""Numpy dtypes as text: byte order, kind, size and, for dates, unit."""
DIMENSIONS = 32
"""Maximum number of dimensions of arrays."""


class Decoder:
    """Turns JSON and parts into values; arrays from parts are writable.

    Args:
        parts: Raw parts.
        allowance: Memory that the value may take.
    """

    def __init__(self, parts: Sequence[SealedPart], allowance: Allowance) -> None:
        self.parts, self.allowance = parts, allowance
        self._raw: dict[int, bytearray] = {}

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
                return self._bytes(encoded["part"])
            case "scalar":
                kind, raw = _dtype(encoded["dtype"]), bytearray.fromhex(encoded["hex"])
                return np.frombuffer(raw, kind).reshape(())[()] if kind.itemsize else np.ndarray((), kind)[()]
            case "array" | "tensor":
                return self._stored(tag, **{name: encoded[name] for name in ("dtype", "shape", "axes", "part")})
            case "enum":
                return _member(encoded["class"], encoded["name"])
            case "record":
                return self._record(encoded["class"], encoded["fields"])
        raise Unreadable(f"a value of the kind {tag!r}")

    def _bytes(self, part: int) -> bytes:
        """A copy of a part; the memory of each further copy is taken from the allowance."""
        if part in self._raw:
            self.allowance.take(len(self._raw[part]))
        else:
            self._raw[part] = bytearray(self.parts[part].content())
        return bytes(self._raw[part])

    def _stored(self, tag: str, dtype: str, shape: list[int], axes: list[int], part: int) -> Any:
        """An array or a tensor."""
        if sorted(axes) != [*range(len(shape))] or len(shape) > DIMENSIONS:
            raise ValueError(f"axes {axes} of shape {shape}")
        if not all(type(size) is int and size >= 0 for size in shape):
            raise ValueError(f"shape {shape}")
        dense, back = [shape[axis] for axis in axes], [axes.index(axis) for axis in range(len(axes))]
        if tag == "array":
            kind = _dtype(dtype)
            return self._content(part, kind.itemsize, dense, kind, np).transpose(back)
        import torch

        if dtype not in torch_types():
            raise Unreadable(f"a tensor of {dtype}")
        return self._content(part, torch_types()[dtype].itemsize, dense, torch_types()[dtype], torch).permute(back)

    def _content(self, part: int, itemsize: int, shape: list[int], kind: Any, library: Any) -> Any:
        """The items of a part as an array of numpy or torch, whose size was checked before."""
        if math.prod(max(1, size) for size in [*shape, itemsize]) >= 1 << 62:
            raise ValueError(f"shape {shape}")
        items = math.prod(shape)
        if not items or not itemsize:  # no items, or strings of length 0
            self.allowance.take(items)
            return np.ndarray(shape, kind) if library is np else library.empty(shape, dtype=kind)
        if part not in self._raw:
            self._raw[part] = bytearray(self.parts[part].content(items * itemsize))
        return library.frombuffer(self._raw[part], dtype=kind).reshape(shape)

    def _all(self, encoded: list[Any]) -> list[Any]:
        return [self.decode(item) for item in encoded]

    def _record(self, name: str, encoded: dict[str, Any]) -> Any:
        kind: Any = _class_of(name)
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            names, defaults = kind._fields, kind._field_defaults
        elif is_frozen(kind):
            names, defaults = [f.name for f in fields(kind)], {f.name: f for f in fields(kind) if _has_default(f)}
        else:
            raise Unreadable(f"{name}, which is not a record")
        missing = [field for field in names if field not in encoded and field not in defaults]
        if missing:
            raise Unreadable(f"a {name} without {', '.join(missing)}")
        values, checks = {field: self.decode(encoded[field]) for field in names if field in encoded}, checks_of(kind)
        for field, value in values.items():
            if field in checks and not checks[field](value):
                raise Unreadable(f"a {name} whose {field} has another type")
        if issubclass(kind, tuple):
            return tuple.__new__(kind, [values[field] if field in values else defaults[field] for field in names])
        made: Any = object.__new__(kind)  # the constructor is not called: a file must not run anything
        for field in names:
            object.__setattr__(made, field, values[field] if field in values else _default(defaults[field]))
        return made


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


def _dtype(text: str) -> np.dtype[Any]:
    if not DTYPE.fullmatch(text):
        raise Unreadable(f"an array of {text[:20]}")
    return np.dtype(text)
