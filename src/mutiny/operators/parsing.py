"""From text to operators: ``WI,NI(ratio=0.1, direction=incoming)``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from mutiny.errors import BadInput
from mutiny.operators import OPERATORS
from mutiny.operators.base import Operator

ITEM = re.compile(r"\s*([A-Za-z]+)\s*(?:\(([^()]*)\))?\s*(?:,|$)")


def as_operators(wanted: str | Iterable[str | Operator] | None) -> tuple[Operator, ...]:
    """Operators from codes, from text with parameters, from instances, or all of them.

    >>> as_operators("WI, NI(ratio=0.1, direction=incoming)")[1].direction
    'incoming'
    >>> [operator.code for operator in as_operators(["GF", OPERATORS["WS"](ratio=0.2)])]
    ['GF', 'WS']
    """
    if wanted is None:
        return tuple(kind() for kind in OPERATORS.values())
    items = _split(wanted) if isinstance(wanted, str) else list(wanted)
    found = [one for item in items for one in ([item] if isinstance(item, Operator) else _parse(item))]
    if not found:
        raise BadInput("operators", repr(wanted), "at least one of " + ", ".join(OPERATORS))
    return tuple(found)


def _split(text: str) -> list[str]:
    items, position = [], 0
    while position < len(text.rstrip()):
        match = ITEM.match(text, position)
        if match is None:
            raise BadInput("operators", repr(text), "codes with optional parameters, such as WI,NI(ratio=0.1)")
        items.append(match.group().strip().rstrip(","))
        position = match.end()
    return items


def _parse(item: object) -> list[Operator]:
    if not isinstance(item, str):
        raise BadInput("operators", repr(item), "codes such as 'WI', or operator instances")
    parts = _split(item)
    if len(parts) != 1:
        return [one for part in parts for one in _parse(part)]
    match = ITEM.match(parts[0])
    code = match.group(1).upper() if match else item
    kind = OPERATORS.get(code)
    if kind is None:
        near = get_close_matches(code, OPERATORS, 1)
        hint = f"Did you mean {near[0]}?" if near else "`mutiny operators` explains each."
        raise BadInput("operator", repr(item.strip()), f"one of {', '.join(OPERATORS)}", hint)
    given = match.group(2) if match else None
    names = {field.name: str(field.type) for field in fields(kind)}
    settings: dict[str, Any] = {}
    for pair in (part for part in (given or "").split(",") if part.strip()):
        name, equals, value = (piece.strip() for piece in pair.partition("="))
        if not equals or name not in names:
            raise BadInput(f"{code} parameter", repr(pair.strip()), f"name=value with a name among {', '.join(names)}")
        settings[name] = _value(value, names[name], f"{code} {name}")
    return [kind(**settings)]


def _value(text: str, kind: str, argument: str) -> Any:
    """The value that ``text`` stands for in a field whose annotation is ``kind``.

    >>> _value("3", "str | None", "LR layer"), _value("none", "str", "GF clip"), _value("a+b", "tuple[str, ...]", "")
    ('3', 'none', ('a', 'b'))
    """
    if kind.endswith("None") and text.lower() == "none":
        return None
    if kind.startswith("tuple"):
        return tuple(part.strip() for part in text.split("+"))
    if kind.startswith("str"):
        return text.strip("'\"")
    if kind == "bool":
        if text.lower() not in ("true", "false"):
            raise BadInput(argument, repr(text), "true or false")
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        raise BadInput(argument, repr(text), "a number") from None
