"""Checks of numbers and words that users pass as arguments."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from math import isfinite
from numbers import Integral, Real
from pathlib import Path

import numpy as np

from mutiny.core.errors import BadInput


def is_number(value: object) -> bool:
    """Whether a value is a real number; booleans are not.

    >>> is_number(0.5), is_number(True), is_number("0.5")
    (True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool)


def check_one_of(name: str, value: object, words: Sequence[str]) -> None:
    """Raises `BadInput` unless a value is one of the words.

    >>> check_one_of("combine", "sum", ["logits", "gradients"])
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: combine='sum': expected one of logits, gradients.
    """
    if not isinstance(value, str) or value not in words:
        raise BadInput(name, repr(value), f"one of {', '.join(words)}")


def check_flag(name: str, value: object) -> None:
    """Raises `BadInput` unless a value is ``True`` or ``False``."""
    if not isinstance(value, (bool, np.bool_)):
        raise BadInput(name, repr(value), "True or False")


def check_whole(name: str, value: object, least: int = 1, most: int | None = None) -> None:
    """Raises `BadInput` unless a value is a whole number of at least ``least``, and at most ``most`` if that is given.

    >>> check_whole("seed", 0, 0)
    >>> check_whole("count", 2.5)
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: count=2.5: expected a whole number of at least 1.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise BadInput(name, repr(value), f"a whole number of at least {least}")
    if most is not None and int(value) > most:
        raise BadInput(name, repr(value), f"a whole number of at most {most:,}")


def check_path(name: str, path: str | Path) -> None:
    """Raises `BadInput` for a path that is too long for this system; whether it exists is left to others."""
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise BadInput(name, f"{str(path)[:40]}...", "a shorter path") from None
    except ValueError:  # a null character: there is no such file
        return


def check_positive(name: str, value: object) -> None:
    """Raises `BadInput` unless a value is a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, Real) or not (isfinite(value) and float(value) > 0):
        raise BadInput(name, repr(value), "a number above 0")
