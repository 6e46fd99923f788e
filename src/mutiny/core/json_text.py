"""Parsing of JSON text that nobody vouches for: its size in memory and its nesting are bounded."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from typing import Any

from mutiny.core.limits import NESTING

PER_BYTE, PER_VALUE = 4, 256
"""Bytes that a byte of text, and a list, a dictionary or an item of one, take at most while the text is read."""


def memory_of(text: bytes) -> int:
    """Upper bound of the memory that the values of a JSON text take.

    >>> memory_of(b"[1, 2, 3]")
    804
    """
    return PER_BYTE * len(text) + PER_VALUE * sum(map(text.count, (b"[", b"{", b",")))


def parsed(text: bytes, refuse: Callable[[str], Any] | None = None) -> Any:
    """The values of a JSON text. Whoever calls it has made sure that there is room for `memory_of` the text.

    Args:
        text: JSON in UTF-8.
        refuse: Function that is called with ``NaN``, ``Infinity`` and ``-Infinity``.

    Raises:
        ValueError: The text is no JSON, or is nested too deeply; also if a whole number has thousands of digits.

    >>> parsed(b"[" * 500 + b"]" * 500)
    Traceback (most recent call last):
    ValueError: it has more than 100 levels of nesting
    """
    try:
        value = json.loads(text.removeprefix(codecs.BOM_UTF8).decode(), parse_constant=refuse)
    except RecursionError:
        raise too_deep() from None
    if depth(value) > NESTING:
        raise too_deep()
    return value


def depth(value: Any) -> int:
    """Levels of nesting of plain values, of which no more than one above `NESTING` are counted.

    >>> depth(1), depth([]), depth({"a": [1]})
    (0, 1, 2)
    """
    level = [value] if isinstance(value, (list, dict)) else []
    for number in range(NESTING + 1):
        if not level:
            return number
        level = [
            item
            for owner in level
            for item in (owner.values() if isinstance(owner, dict) else owner)
            if isinstance(item, (list, dict))
        ]
    return NESTING + 1


def too_deep() -> ValueError:
    """The error for values that are nested too deeply."""
    return ValueError(f"it has more than {NESTING} levels of nesting")
