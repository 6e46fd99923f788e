"""Numbers and lists in the text of reports."""

from __future__ import annotations

import math
from collections.abc import Sequence

NONE = RANGE = "\u2013"
"""An en dash, which stands for a missing number and joins the ends of a range."""
MINUS = "\u2212"


def percent(value: float | None, digits: int = 0) -> str:
    """A share as a percentage. Shares near 0 or 1 get more digits, so that they are not rounded to 0% or 100%.

    >>> percent(0.414), percent(0.9996), percent(1.0), percent(0.001), percent(1e-9), percent(None)
    ('41%', '99.96%', '100%', '0.1%', '0%', '–')
    """
    if value is None or not math.isfinite(value):
        return NONE
    if value in (0.0, 1.0):
        return f"{value:.0%}"
    for more in range(digits, digits + 4):
        text = f"{value:.{more}%}"
        if float(text[:-1]) not in (0.0, 100.0):
            return text
    return f"{value:.0%}"  # so near that more digits would say nothing


def number(value: float | None) -> str:
    """A measured number.

    >>> number(0.0625), number(12.0), number(None), number(float("nan"))
    ('0.0625', '12', '–', '–')
    """
    return NONE if value is None or not math.isfinite(value) else f"{value:.3g}"


def cost(value: float) -> str:
    """A measured cost, with few digits; no fault is cheaper than none.

    >>> [cost(value) for value in (-0.2, 0.774, 6933.8, 1e6)]
    ['0.0', '0.8', '6,934', '1e+06']
    """
    return f"{max(0.0, value):.1f}" if value < 1000 else f"{value:,.0f}" if value < 1e5 else f"{value:.0e}"


def p_value(value: float | None) -> str:
    """A p-value.

    >>> p_value(0.0312), p_value(1e-9), p_value(None)
    ('0.031', '< 0.001', '–')
    """
    if value is None or not math.isfinite(value):
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def duration(seconds: float) -> str:
    """A duration in seconds, minutes or hours, rounded up.

    >>> duration(0.4), duration(75), duration(5400), duration(200_000)
    ('1 s', '75 s', '90 min', '56 h')
    """
    for limit, unit, size in ((90, "s", 1), (5400, "min", 60)):
        if seconds < limit or (unit == "min" and seconds <= limit):
            return f"{max(1, math.ceil(seconds / size))} {unit}"
    return f"{math.ceil(seconds / 3600)} h"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun in the singular or plural.

    >>> count(1, "input"), count(1200, "input"), count(2, "class", "classes")
    ('1 input', '1,200 inputs', '2 classes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def several(names: Sequence[object], most: int = 5) -> str:
    """A list in a sentence.

    >>> several(["a"]), several("ab"), several("abcdefg", most=3)
    ('a', 'a and b', 'a, b, c and 4 more')
    """
    shown = [str(name) for name in names]
    if len(shown) > most:
        return f"{', '.join(shown[:most])} and {len(shown) - most:,} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def index_list(indices: Sequence[int], most: int = 1000) -> str:
    """Rising indices, with ranges for consecutive ones.

    >>> index_list([1, 2, 3, 7, 9, 10]), index_list([1, 2, 4, 6], most=3)
    ('1–3, 7, 9–10', '1–2, 4 and 1 more')
    """
    ranges: list[list[int]] = []
    for index in indices[:most]:
        if ranges and index == ranges[-1][-1] + 1:
            ranges[-1][1:] = [index]
        else:
            ranges.append([index])
    more = f" and {len(indices) - most:,} more" if len(indices) > most else ""
    return ", ".join(RANGE.join(map(str, ends)) for ends in ranges) + more


def upper_first(text: str) -> str:
    """Text with a capital first letter.

    >>> upper_first("every mutant is unstable")
    'Every mutant is unstable'
    """
    return text[:1].upper() + text[1:]
