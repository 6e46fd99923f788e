"""Text from files, names and exceptions, made safe to print: it cannot move a cursor, hide or reorder other text."""

from __future__ import annotations

import re
import shlex

UNPRINTABLE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, among them escape; not tab and newline
    "\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # direction, zero width, line separators
    "\ud800-\udfff\ufffe\uffff"  # no characters: half a pair, or bytes of a file name that are not UTF-8
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # invisible marks and tags
    "]"
)


def printable(text: object, breaks: bool = True) -> str:
    r"""Text in which characters that act instead of being seen are shown as Python writes them.

    Args:
        text: The text.
        breaks: Whether newlines and tabs stay; they are shown too if a value must not begin a line of its own.

    >>> print(printable("a\x1b[2Jb \u202e é 日本 \ud800"), printable("a\nb", breaks=False))
    a\x1b[2Jb \u202e é 日本 \ud800 a\nb
    """
    shown = UNPRINTABLE.sub(_shown, str(text))
    return shown if breaks else shown.replace("\n", "\\n").replace("\t", "\\t")


def quoted(word: object) -> str:
    r"""A word for a shell, with escapes in ``$'...'`` if it has characters that cannot be printed.

    >>> quoted("a.mutiny"), quoted("a b"), quoted("a'\n\x1b")
    ('a.mutiny', "'a b'", "$'a\\'\\n\\x1b'")
    """
    text = str(word)
    if printable(text, breaks=False) == text:
        return shlex.quote(text)
    raw = "".join(char if printable(char, breaks=False) == char else _bytes(char) for char in _escaped(text))
    return f"$'{raw}'"


def _shown(match: re.Match[str]) -> str:
    number = ord(match[0])
    if number < 0x20 and match[0] in "\r":
        return "\\r"
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _bytes(char: str) -> str:
    errors = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"  # bytes of a file name; else none
    return {"\n": "\\n", "\t": "\\t"}.get(char) or "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", errors))
