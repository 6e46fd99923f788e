"""For the API pages: examples in docstrings, which begin with ``>>>``, become blocks of code."""

from __future__ import annotations

from typing import Any

from griffe import Extension, Object


def fenced(text: str) -> str:
    """Every run of lines from a prompt to the next empty line, as a block."""
    lines: list[str] = []
    inside, margin = False, ""
    for line in text.splitlines():
        if not inside and line.lstrip().startswith(">>>"):
            inside, margin = True, line[: len(line) - len(line.lstrip())]
            lines.append(f"{margin}```pycon")
        elif inside and not line.strip():
            inside = False
            lines.append(f"{margin}```")
        lines.append(line.split("  # doctest:")[0] if inside else line)
    return "\n".join([*lines, *([f"{margin}```"] if inside else [])])


class Doctests(Extension):
    """Changes the text of docstrings before it is parsed."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called by griffe for everything that it finds."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
