"""Whether stored values fit the annotations of the records that they belong to.

A check is lenient where code is: lists may stand for tuples, and numbers of numpy for those of Python.
"""

from __future__ import annotations

import collections.abc
import types
from collections.abc import Callable
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from mutiny.core.json_values import LARGEST

Check = Callable[[Any], bool]
"""Function that tells whether a value fits."""
WHOLE = 1 << 63
"""Whole numbers in fields of records are smaller."""
SEQUENCES = (tuple, list, collections.abc.Sequence, collections.abc.Collection, collections.abc.Iterable)
MAPPINGS = (dict, collections.abc.Mapping)
SETS = (set, frozenset)
KINDS = {"b": "b", "i": "iu", "u": "iu", "f": "iuf", "U": "U"}
"""Kinds of numpy dtypes that an array may have, by that of its annotation."""


def fits(value: Any, hint: Any) -> bool:
    """Whether a value has the type that an annotation says; annotations of other kinds than these allow anything.

    >>> fits((1, 2.5), tuple[float, ...]), fits("1", float), fits({"a": None}, dict[str, int | None])
    (True, False, True)
    """
    return check_of(hint)(value)


@cache
def checks_of(kind: type) -> dict[str, Check]:
    """Checks of the fields of a class by name; none if annotations name what is imported for type checkers only."""
    try:
        return {name: check_of(hint) for name, hint in get_type_hints(kind).items()}
    except NameError:
        return {}


def check_of(hint: Any) -> Check:
    """The check for an annotation."""
    if hint is None or hint is types.NoneType:
        return lambda value: value is None
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        checks = [check_of(each) for each in arguments]
        return lambda value: any(check(value) for check in checks)
    if origin is Literal:
        return lambda value: any(type(value) is type(each) and value == each for each in arguments)
    if origin is not None and isinstance(origin, type):
        return _check_of_generic(origin, arguments)
    return _check_of_class(hint) if isinstance(hint, type) and hint is not Any else _anything


def _check_of_generic(origin: type, arguments: tuple[Any, ...]) -> Check:
    if origin is np.ndarray:
        return _check_of_array(arguments)
    if origin in MAPPINGS:
        key, item = map(check_of, arguments)
        return lambda value: isinstance(value, dict) and all(map(key, value)) and all(map(item, value.values()))
    if origin is tuple and arguments[-1:] != (...,):
        checks = [*map(check_of, arguments)]
        return lambda value: (
            isinstance(value, (tuple, list))
            and len(value) == len(checks)
            and all(check(item) for check, item in zip(checks, value, strict=True))
        )
    if origin in SETS or origin in SEQUENCES:
        kinds, check = SETS if origin in SETS else (tuple, list), check_of(arguments[0])
        return lambda value: isinstance(value, kinds) and all(map(check, value))
    return _anything


def _check_of_array(arguments: tuple[Any, ...]) -> Check:
    items = get_args(arguments[-1])[0] if get_args(arguments[-1]) else Any
    kind = np.dtype(items).kind if isinstance(items, type) and issubclass(items, np.generic) else ""
    return lambda value: isinstance(value, np.ndarray) and value.dtype.kind in KINDS.get(kind, value.dtype.kind)


def _check_of_class(kind: type) -> Check:
    if kind is float:
        return lambda value: (
            type(value) is float or (isinstance(value, Real) and (not isinstance(value, int) or abs(value) < LARGEST))
        )
    if kind is int:
        return lambda value: isinstance(value, Integral) and -WHOLE < int(value) < WHOLE
    if kind is bool:
        return lambda value: isinstance(value, (bool, np.bool_))
    if getattr(kind, "_is_protocol", False):
        return _anything
    kinds = (tuple, list) if kind is tuple else kind
    return lambda value: isinstance(value, kinds)


def _anything(_: Any) -> bool:
    return True
