"""Whether stored values fit the annotations of the records that they belong to.

A check is lenient where code is: lists may stand for tuples, and numbers of numpy for those of Python.
"""

from __future__ import annotations

import collections.abc
import types
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from mutiny.core.json_values import LARGEST

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
    if hint is Any:
        return True
    if hint is None or hint is types.NoneType:
        return value is None
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in arguments)
    if origin is Literal:
        return any(value is each or (type(value) is type(each) and value == each) for each in arguments)
    if origin is not None and isinstance(origin, type):
        return _fits_generic(value, origin, arguments)
    return _fits_class(value, hint) if isinstance(hint, type) else True


def _fits_generic(value: Any, origin: type, arguments: tuple[Any, ...]) -> bool:
    if origin in MAPPINGS:
        return isinstance(value, dict) and all(
            fits(key, arguments[0]) and fits(item, arguments[1]) for key, item in value.items()
        )
    if origin in SETS:
        return isinstance(value, SETS) and all(fits(item, arguments[0]) for item in value)
    if origin is tuple and arguments[-1:] != (...,):
        return (
            isinstance(value, (tuple, list)) and len(value) == len(arguments) and all(map(fits, value, arguments))  # type: ignore[arg-type]
        )
    if origin in SEQUENCES:
        return isinstance(value, (tuple, list)) and all(fits(item, arguments[0]) for item in value)
    return _fits_array(value, arguments) if origin is np.ndarray else True


def _fits_array(value: Any, arguments: tuple[Any, ...]) -> bool:
    items = get_args(arguments[-1])[0] if get_args(arguments[-1]) else Any
    kind = np.dtype(items).kind if isinstance(items, type) and issubclass(items, np.generic) else ""
    return isinstance(value, np.ndarray) and value.dtype.kind in KINDS.get(kind, value.dtype.kind)


def _fits_class(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, Real) and (not isinstance(value, int) or abs(value) < LARGEST)
    if kind is int:
        return isinstance(value, Integral) and abs(int(value)) < WHOLE
    if kind is bool:
        return isinstance(value, (bool, np.bool_))
    if getattr(kind, "_is_protocol", False) or kind is object:
        return True
    return isinstance(value, (tuple, list) if kind is tuple else kind)


@cache
def hints_of(kind: type) -> dict[str, Any]:
    """Annotations of a class by name; none if they name what is imported for type checkers only."""
    try:
        return get_type_hints(kind)
    except NameError:
        return {}
