"""Pages of the documentation, cut into blocks. ``python tests/docs/pages.py`` counts them."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.M | re.S)
VARYING = re.compile(r"^ (By cost|Weak spot|Drastic, yet missed|They notice every)\b.*?\. *$\n?", flags=re.M | re.S)
"""Sentences that depend on which faults a network happens to have."""
FILE = re.compile(r"`([\w.-]+\.py)`[^`\n]*:$")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, its language, its text, and the file that the line before it names."""

    line: int
    language: str
    text: str
    file: str | None


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str | None = None) -> list[Block]:
    whole, found = text(page), []
    for fence in FENCE.finditer(whole):
        before = whole[: fence.start()]
        named = FILE.search(before.rstrip())
        found.append(Block(before.count("\n") + 1, fence[1], fence[2], named[1] if named else None))
    return [block for block in found if language in (None, block.language)]


def code(page: str) -> list[Block]:
    return blocks(page, "python")


def commands(page: str) -> list[str]:
    """``mutiny ...`` in blocks, with or without a prompt, and in the text between backticks."""
    whole = text(page)
    joined = [re.sub(r" \\\n\s*", " ", block.text) for block in blocks(page)]
    lines = [line.removeprefix("$ ").strip() for text_ in joined for line in text_.splitlines()]
    spans = re.findall(r"`(mutiny [^`\n]*)`", FENCE.sub("", whole))
    return [line for line in [*lines, *spans] if re.match(r"mutiny +[a-z-]", line)]


def words(text: str) -> list[str]:
    """Lines without numbers, which depend a little on the processor, and without what stands for one."""
    number = r"[+-]?\d[\d,.]*%?(/\d+)?|(?<=\s)-(?=\s|$)|\bany\b|\bnone\b"
    bare = (re.sub(number, "#", line) for line in text.splitlines())
    return [" ".join(line.split()) for line in bare if line.strip()]


def flowing(text: str) -> str:
    """The words in one line, wherever lines end, without sentences that only some results have."""
    return " ".join(words(VARYING.sub("", text)))


def forget() -> None:
    """Lets the next page have files of the same name."""
    for name in ("my_project", "my_subject"):
        sys.modules.pop(name, None)


if __name__ == "__main__":
    counted = [(page, len(code(page)), len(commands(page))) for page in PAGES]
    counted.append(("together", *(sum(row[at] for row in counted) for at in (1, 2))))
    for page, python, mutiny in counted:
        print(f"{page:32}{python:4} blocks of Python{mutiny:5} commands")  # noqa: T201
