"""Hashes of plain values."""

from __future__ import annotations

import hashlib
import json
from typing import Any

Plain = Any
"""Numbers, strings, ``None``, and lists, tuples and mappings of them: everything that JSON can represent."""


def hash_of(value: Plain) -> str:
    """First 32 hexadecimal digits of the SHA-256 of a plain value.

    >>> hash_of({"a": 1, "b": 2}) == hash_of({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]
