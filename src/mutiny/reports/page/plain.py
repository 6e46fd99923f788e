"""Records from plain values: the way back from `mutiny.core.records.to_plain`, with every type checked.

A JSON file is not trusted: what it lacks, or has of another type, becomes a sentence with the place in the file.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Kind = TypeVar("Kind")
LARGEST = 1e99
"""No number of a result is as large; a picture could not hold it."""
ROUNDING = 1e-9
"""By which a share may exceed its bounds."""


class Wrong(Exception):
    """Something is missing or of another type; the message says where and what was expected."""


def read_plain(kind: type[Kind], value: Any, where: str = "") -> Kind:
    """A record of a class, read from a dictionary. Keys that the class does not have are ignored.

    Args:
        kind: a dataclass, whose annotations say what is expected.
        value: plain values, as in a JSON file. ``null`` stands for a float that is no finite number.
        where: the place, for messages.

    >>> from mutiny.core.stats import Interval
    >>> read_plain(Interval, {"low": 0, "high": 1.0, "level": 0.95, "method": "wilson"})
    Interval(low=0.0, high=1.0, level=0.95, method='wilson')
    >>> read_plain(Interval, {"low": "0"}, "score.interval")
    Traceback (most recent call last):
    mutiny.reports.page.plain.Wrong: score.interval.low: expected a number
    """
    made: Kind = _read(kind, value, where)
    return made


def _read(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return value
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _either(get_args(kind), value, where)
    if origin is Literal:
        expect(isinstance(value, str) and value in get_args(kind), where, f"one of {', '.join(get_args(kind))}")
        return value
    if origin is tuple:
        return _tuple(get_args(kind), value, where)
    if origin is not None and issubclass(origin, Mapping):
        expect(isinstance(value, dict), where, "an object")
        of = get_args(kind)[1]
        return {name: _read(of, item, _inside(where, name)) for name, item in value.items()}
    if is_dataclass(kind):
        return _record(kind, value, where)
    return _single(kind, value, where)


def _either(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and types.NoneType in kinds:
        return None
    (kind,) = [one for one in kinds if one is not types.NoneType]
    return _read(kind, value, where)


def _tuple(kinds: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    expect(isinstance(value, list), where, "a list")
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_read(kinds[0], item, f"{where}[{at}]") for at, item in enumerate(value))
    expect(len(value) == len(kinds), where, f"a list of {len(kinds)}")
    return tuple(_read(kind, item, f"{where}[{at}]") for at, (kind, item) in enumerate(zip(kinds, value, strict=True)))


def _record(kind: Any, value: Any, where: str) -> Any:
    expect(isinstance(value, dict), where, "an object")
    hints, told = _hints(kind), {}
    for field in fields(kind):
        key = field.metadata.get("key", field.name)
        if key in value:
            told[field.name] = _read(hints[field.name], value[key], _inside(where, key))
        else:
            optional = field.default is not MISSING or field.default_factory is not MISSING
            expect(optional, _inside(where, key), "a value, but there is none")
    return kind(**told)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _single(kind: Any, value: Any, where: str) -> Any:
    if kind is float:
        if value is None:
            return math.nan
        expect(isinstance(value, (int, float)) and not isinstance(value, bool), where, "a number")
        expect(abs(value) < LARGEST, where, "a number of less than a hundred digits")
        return float(value)
    if kind is int:
        expect(isinstance(value, int) and not isinstance(value, bool), where, "a whole number")
        expect(abs(value) < LARGEST, where, "a number of less than a hundred digits")
    elif kind is bool:
        expect(isinstance(value, bool), where, "true or false")
    elif kind is str:
        expect(isinstance(value, str), where, "a text")
    elif issubclass(kind, StrEnum):
        names = [member.value for member in kind]
        expect(isinstance(value, str) and value in names, where, f"one of {', '.join(names)}")
        return kind(value)
    else:
        raise TypeError(f"{where}: {kind} cannot be read")
    return value


def _inside(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def expect(fine: bool, where: str, what: str) -> None:
    """Raises `Wrong` unless all is fine."""
    if not fine:
        raise Wrong(f"{where or 'the file'}: expected {what}")


def expect_share(value: float | None, where: str) -> None:
    """Raises `Wrong` for a share that cannot be; there may be none."""
    fine = value is None or math.isnan(value) or -ROUNDING <= value <= 1 + ROUNDING
    expect(fine, where, "between 0 and 1")


def expect_least(value: int | None, where: str, least: int = 1) -> None:
    """Raises `Wrong` for a number that is too small; there may be none."""
    expect(value is None or value >= least, where, f"at least {least}")
