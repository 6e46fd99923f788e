"""The words, numbers and signs of a gate, with their columns. Nothing in the text is evaluated."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mutiny.core.errors import BadInput

LONGEST = 1000
"""Most characters of a gate."""
LONGEST_NUMBER = 40
"""Most characters of a number."""
SHOWN = 60
"""Most characters of a gate in a message."""
PIECE = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<sign>>=|<=|>|<|=|\(|\)|,|%)"
)
SEEN = re.compile(r"[A-Za-z0-9_.]{1,30}|.", re.DOTALL)
INSTEAD = {
    "==": "One of >=, >, <= and < compares.",
    "!": "The word for that is not.",
    "&": "The word for that is and.",
    "|": "The word for that is or.",
    "≥": "Write >=.",
    "≤": "Write <=.",
    "\u00a0": "Only spaces, tabs and line breaks separate words.",
}
"""What to write instead of characters that no gate has."""


@dataclass(frozen=True)
class Token:
    """A piece of a gate.

    Attributes:
        kind: ``word``, ``number``, ``sign``, or ``end`` after the last one.
        text: The piece; words in lower case.
        column: Its place, from 1.
    """

    kind: str
    text: str
    column: int


def tokens_of(text: str, argument: str) -> list[Token]:
    """The pieces of a gate, and an end.

    Args:
        text: The gate.
        argument: Name of the argument, for messages.

    >>> [token.text for token in tokens_of("Accuracy >= 97%", "judge")]
    ['accuracy', '>=', '97', '%', '']
    """
    if not isinstance(text, str):
        raise BadInput(argument, f"a {type(text).__name__}", 'a text such as "accuracy >= 0.97"')
    if len(text) > LONGEST:
        raise BadInput(argument, quoted_gate(text), f"at most {LONGEST:,} characters, not {len(text):,}")
    found, place = [], 0
    while place < len(text):
        piece = PIECE.match(text, place)
        fix = INSTEAD.get(text[place : place + 2]) or INSTEAD.get(text[place])
        if piece is None or text.startswith("==", place):
            raise unexpected(text, argument, "a metric, a comparison, and, or, not", place + 1, fix or "")
        kind, content = str(piece.lastgroup), piece.group()
        if kind == "number" and len(content) > LONGEST_NUMBER:
            raise unexpected(text, argument, f"a number of at most {LONGEST_NUMBER} characters", place + 1)
        if kind != "space":
            found.append(Token(kind, content.lower(), place + 1))
        place = piece.end()
    return [*found, Token("end", "", len(text) + 1)]


def quoted_gate(text: str) -> str:
    """A gate in quotes, cut if it is long."""
    return f'"{text}"' if len(text) <= SHOWN else f'"{text[:SHOWN]}..."'


def unexpected(text: str, argument: str, expected: str, column: int, fix: str = "") -> BadInput:
    """The error for a gate that has something else at a column."""
    return BadInput(argument, quoted_gate(text), f"{expected} at column {column}, {seen_at(text, column)}", fix)


def seen_at(text: str, column: int) -> str:
    """What a gate has at a column instead of what was expected.

    >>> seen_at("accuracy >= high", 13), seen_at("accuracy >=", 12)
    ("not 'high'", 'not the end')
    """
    seen = SEEN.match(text, column - 1)
    return "not the end" if seen is None else f"not {seen.group()!r}"
