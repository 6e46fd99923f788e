"""Conversion of records to and from plain JSON values, with every type checked, and hashes of such values.

A JSON file is not trusted: a missing value, or a value of another type, becomes a `BadInput` that names its place.
"""

from __future__ import annotations

import hashlib
import json
import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import BadInput

Plain = Any
"""Numbers, strings, ``None``, and lists, tuples and mappings of them: everything that JSON can represent."""
Kind = TypeVar("Kind")
LARGEST = 1e99
"""Numbers of a result must be smaller; a plot cannot show larger ones."""
ROUNDING = 1e-9
"""Amount by which a share may exceed its bounds."""
REQUIRED: Any = object()
"""Default of `JsonObject.get` for keys that must be present."""


def hash_of(value: Plain) -> str:
    """First 32 hexadecimal digits of the SHA-256 of a plain value.

    >>> hash_of({"a": 1, "b": 2}) == hash_of({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def to_plain(value: Any) -> Any:
    """Converts records to plain JSON values: NaN and infinity become ``None``, arrays become lists, keys are stable.

    The metadata of a dataclass field can set another ``key``, or ``omit_none``; see `json_key` and `omitted_if_none`.

    >>> from mutiny.core.records import KillEvidence
    >>> to_plain(KillEvidence(True, 0.01, float("inf")))
    {'killed': True, 'p_value': 0.01, 'effect_size': None, 'note': ''}
    """
    if is_dataclass(value) and not isinstance(value, type):
        given = [(f, getattr(value, f.name)) for f in fields(value)]
        return {
            f.metadata.get("key", f.name): to_plain(item)
            for f, item in given
            if item is not None or not f.metadata.get("omit_none")
        }
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def json_key(name: str) -> Any:
    """A dataclass field whose key in JSON is ``name``; its default is an empty string."""
    return field(default="", metadata={"key": name})


def omitted_if_none() -> Any:
    """A dataclass field with the default ``None`` that JSON leaves out while it is ``None``."""
    return field(default=None, metadata={"omit_none": True})


def from_plain(kind: type[Kind], value: Any, where: str = "") -> Kind:
    """A record of a class, read from plain values. Keys that the class does not have are ignored.

    Args:
        kind: Dataclass whose annotations say what is expected. A class method ``from_plain(value, where)`` of the class
            is called instead, if there is one.
        value: Plain values, as in a JSON file. ``null`` stands for a float that is not finite.
        where: Place of the value, for messages.

    >>> from mutiny.core.stats import Interval
    >>> from_plain(Interval, {"low": 0, "high": 1.0, "level": 0.95, "method": "wilson"})
    Interval(low=0.0, high=1.0, level=0.95, method='wilson')
    >>> from_plain(Interval, {"low": "0"}, "score.interval")
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: score.interval.low="0": expected a number.
    """
    record: Kind = _read(kind, value, where)
    return record


class JsonObject:
    """A JSON object whose values are read one by one, with their types checked.

    >>> JsonObject({"seed": 1}).get("seed", int)
    1
    """

    def __init__(self, value: Any, where: str = "") -> None:
        expect(isinstance(value, dict), where, value, "an object")
        self.values: dict[str, Any] = value
        self.where = where

    def get(self, key: str, kind: Any, default: Any = REQUIRED) -> Any:
        """The value of a key, as `from_plain` reads it."""
        if key not in self.values:
            if default is REQUIRED:
                raise BadInput(_inside(self.where, key), "nothing", "a value")
            return default
        return _read(kind, self.values[key], _inside(self.where, key))

    def object(self, key: str) -> JsonObject:
        """The object under a key; an empty one if there is none."""
        return JsonObject(self.values.get(key, {}), _inside(self.where, key))

    def objects(self, key: str) -> list[JsonObject]:
        """The objects in a list."""
        place = _inside(self.where, key)
        return [JsonObject(item, f"{place}[{at}]") for at, item in enumerate(self.get(key, tuple[Any, ...]))]

    def integers(self, key: str) -> npt.NDArray[np.int64]:
        """A list of whole numbers as an array."""
        return np.array(self.get(key, tuple[int, ...]), np.int64)

    def floats(self, key: str) -> npt.NDArray[np.float64]:
        """A list of numbers as an array; ``null`` becomes NaN."""
        return np.array(self.get(key, tuple[float, ...]), np.float64)


def _read(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return value
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _either(get_args(kind), value, where)
    if origin is Literal:
        expect(isinstance(value, str) and value in get_args(kind), where, value, f"one of {', '.join(get_args(kind))}")
        return value
    if origin is tuple:
        return _tuple(get_args(kind), value, where)
    if origin is not None and issubclass(origin, Mapping):
        expect(isinstance(value, dict), where, value, "an object")
        value_kind = get_args(kind)[1]
        return {name: _read(value_kind, item, _inside(where, name)) for name, item in value.items()}
    if hasattr(kind, "from_plain"):
        return kind.from_plain(value, where)
    if is_dataclass(kind):
        return _record(kind, value, where)
    return _single(kind, value, where)


def _either(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and types.NoneType in kinds:
        return None
    (kind,) = [kind for kind in kinds if kind is not types.NoneType]
    return _read(kind, value, where)


def _tuple(kinds: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    expect(isinstance(value, list), where, value, "a list")
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_read(kinds[0], item, f"{where}[{at}]") for at, item in enumerate(value))
    expect(len(value) == len(kinds), where, value, f"a list of {len(kinds)}")
    return tuple(_read(kind, item, f"{where}[{at}]") for at, (kind, item) in enumerate(zip(kinds, value, strict=True)))


def _record(kind: Any, value: Any, where: str) -> Any:
    given, hints, values = JsonObject(value, where), _hints(kind), {}
    for item in fields(kind):
        key = item.metadata.get("key", item.name)
        optional = item.default is not MISSING or item.default_factory is not MISSING
        if key in given.values or not optional:
            values[item.name] = given.get(key, hints[item.name])
    return kind(**values)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _single(kind: Any, value: Any, where: str) -> Any:
    if kind is float:
        if value is None:
            return math.nan
        expect(isinstance(value, (int, float)) and not isinstance(value, bool), where, value, "a number")
        expect(abs(value) < LARGEST, where, value, "a number of less than a hundred digits")
        return float(value)
    if kind is int:
        expect(isinstance(value, int) and not isinstance(value, bool), where, value, "a whole number")
        expect(abs(value) < 1 << 63, where, value, "a number of at most 18 digits")
    elif kind is bool:
        expect(isinstance(value, bool), where, value, "true or false")
    elif kind is str:
        expect(isinstance(value, str), where, value, "a text")
    elif issubclass(kind, StrEnum):
        names = [member.value for member in kind]
        expect(isinstance(value, str) and value in names, where, value, f"one of {', '.join(names)}")
        return kind(value)
    else:
        raise TypeError(f"{where}: {kind} cannot be read")
    return value


def _inside(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def expect(fine: bool, where: str, value: Any, expected: str) -> None:
    """Raises `BadInput` unless ``fine``."""
    if not fine:
        raise BadInput(where or "result", shown(value), expected)


def expect_numbers(names: Iterable[str], where: str, expected: str) -> None:
    """Raises `BadInput` unless all names of an object are whole numbers of at most 18 digits."""
    names = [*names]
    expect(all(name.isdecimal() and len(name) <= 18 for name in names), where, names, expected)


def expect_share(value: float | None, where: str) -> None:
    """Raises `BadInput` for a share outside 0 to 1; ``None`` and NaN are accepted."""
    fine = value is None or math.isnan(value) or -ROUNDING <= value <= 1 + ROUNDING
    expect(fine, where, value, "a number between 0 and 1")


def expect_least(value: int | None, where: str, least: int = 1) -> None:
    """Raises `BadInput` for a number that is too small; ``None`` is accepted."""
    expect(value is None or value >= least, where, value, f"at least {least}")


def shown(value: Any) -> str:
    """A JSON value in a message, cut after 40 characters.

    >>> shown(None), shown("a" * 50)
    ('null', '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...')
    """
    try:
        text = json.dumps(value)
    except (ValueError, TypeError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:40]}..."
