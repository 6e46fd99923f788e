"""Mutations of bytes and of plain values that any format can have."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

MEBI = 1 << 20
NUMBERS = (0, 1, -1, 2, 127, 255, 256, 65535, 1 << 31, (1 << 31) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
TEXTS = ("", "a", "killed", "nan", "-1", "1e999", "a" * 3000, "\ud800", "\udcff", "\u202e", "\x1b[2J", "\x00", "é", "1")
"""Texts that readers may take for something else, or cannot show."""


def rarely(draw: Random) -> bool:
    """Whether a case is one of the few that are slow to make."""
    return draw.random() < 0.02


def odd_value(draw: Random) -> Any:
    """A value that does not belong anywhere."""
    match draw.randrange(8):
        case 0:
            return draw.choice([None, True, False])
        case 1:
            return draw.choice([*NUMBERS, -(1 << 63), 10**30, -(10**400)])
        case 2:
            return draw.choice([0.5, -0.5, -0.0, 1e-320, 1e98, -1e98, 1e308, float("inf"), float("-inf"), float("nan")])
        case 3:
            return draw.choice(TEXTS)
        case 4:
            return draw.choice([[], {}, [[]], ["a"], [None], {"a": 1}, {"": {}}, [0.5, "b"]])
        case 5:
            return nested(draw, draw.choice([5, 99, 101, 300]))
        case 6:
            return [draw.choice([0, "x", None, []])] * draw.choice([1, 7, 1000])
        case _:
            return draw.randrange(-10, 10)


def nested(draw: Random, levels: int) -> Any:
    """Lists or objects in one another."""
    value: Any = 0
    for _ in range(levels):
        value = [value] if draw.random() < 0.5 else {"a": value}
    return value


def places(value: Any) -> list[tuple[Any, Any]]:
    """All containers in a value, each with each of its keys."""
    found, todo = [], [value]
    while todo:
        owner = todo.pop()
        items = owner.items() if isinstance(owner, dict) else enumerate(owner) if isinstance(owner, list) else ()
        for key, item in items:
            found.append((owner, key))
            if isinstance(item, (dict, list)):
                todo.append(item)
    return found


def mutated_value(draw: Random, value: Any) -> Any:
    """A plain value with one to three changes."""
    value = copy.deepcopy(value)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        there = places(value)
        if not there:
            return odd_value(draw)
        owner, key = draw.choice(there)
        match draw.randrange(9):
            case 0:
                del owner[key]
            case 1 | 2 | 3:
                owner[key] = odd_value(draw)
            case 4:
                other, place = draw.choice(there)
                owner[key] = copy.deepcopy(other[place]) if not _gone(other, place) else None
            case 5 if isinstance(owner, list):
                owner[key:key] = [copy.deepcopy(owner[key])] * draw.choice([1, 3, 200])
            case 5:
                owner[draw.choice(TEXTS)] = owner.pop(key)
            case 6 if isinstance(owner[key], (int, float)) and not isinstance(owner[key], bool):
                owner[key] = owner[key] * draw.choice([-1, 2, 0.5, 1e9]) + draw.choice([0, 1, -1, 1e-9])
            case 6:
                owner[key] = [owner[key]]
            case 7:
                owner[key] = str(owner[key])[:1000]
            case _ if isinstance(owner[key], (list, dict)):
                owner[key].clear()
            case _:
                owner[key] = type(owner[key])() if owner[key] is not None else 0
    return value


def _gone(owner: Any, key: Any) -> bool:
    return key not in owner if isinstance(owner, dict) else key >= len(owner)


def mutated_bytes(draw: Random, content: bytes) -> bytes:
    """Bytes with one to four changes."""
    made = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 4])):
        size = len(made)
        at = draw.randrange(size) if size else 0
        match draw.randrange(8):
            case 0 | 1 if size:
                made[at] ^= draw.randrange(1, 256)
            case 2:
                width = draw.choice([1, 2, 4, 8])
                number = draw.choice(NUMBERS) % (1 << 8 * width)
                made[at : at + width] = number.to_bytes(width, draw.choice(["little", "big"]))
            case 3:
                del made[at:]
            case 4:
                made[at : at + draw.choice([1, 4, 100, 5000])] = b""
            case 5:
                made[at:at] = draw.randbytes(draw.choice([1, 4, 100]))
            case 6:
                length = draw.choice([1, 16, 512, 4096])
                made[at : at + length] = bytes(min(length, size - at))
            case _:
                other = draw.randrange(size) if size else 0
                made[at : at + 64] = made[other : other + 64]
    return bytes(made)
