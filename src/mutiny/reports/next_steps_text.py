"""What to do after an assessment, as text for a terminal: each step with a command to copy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text as TerminalText

from mutiny.reports.page.blocks import Block, Command, Text

TITLE = "What to do next:"
INDENT = 5
"""Number of spaces before a command."""
WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+""")
"""A word of a command line, with its quotes."""


def next_steps_text(steps: Sequence[Block], width: int = 80) -> RenderableType:
    """The text of `next_steps`; empty without any.

    Args:
        steps: Commands with reasons, and paragraphs.
        width: Width of the terminal.
    """
    parts: list[RenderableType] = [Padding(TerminalText(TITLE, style="bold"), (1, 1, 0, 1), expand=False)]
    for step in steps:
        if isinstance(step, Command):
            parts.append(Padding(_item(step), (0, 1, 0, 1), expand=False))
            lines = [" " * INDENT + line for line in broken(step.line, width - INDENT)]
            parts += [TerminalText(line, style="cyan", no_wrap=True, overflow="ignore") for line in lines]
        elif isinstance(step, Text):
            parts.append(Padding(TerminalText(step.text), (0, 1, 0, 1), expand=False))
    return Group(*parts if steps else ())


def broken(command: str, width: int) -> list[str]:
    r"""A command on several lines, if it is too long for one, that a shell reads as one.

    Lines end before options. A part that is too long by itself stays whole.

    >>> broken("mutiny assess 'my net.py:subject' --seeds 20 --store runs.mutiny", 40)
    ["mutiny assess 'my net.py:subject' \\", '  --seeds 20 --store runs.mutiny']
    """
    words = WORD.findall(command)
    starts = [at for at, word in enumerate(words) if word.startswith("-") or not at] + [len(words)]
    lines = [""]
    for start, end in pairwise(starts):
        part = " ".join(words[start:end])
        if not lines[-1]:
            lines[-1] = part
        elif len(lines[-1]) + len(part) + 3 <= width:  # a space before it, and a backslash after it
            lines[-1] += f" {part}"
        else:
            lines.append(f"  {part}")
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _item(step: Command) -> Table:
    """Title and reason of a step, indented after the first line."""
    item = Table.grid(padding=(0, 1, 0, 0))
    item.add_row("-", TerminalText.assemble((f"{step.title}.", "yellow"), f" {step.why}"))
    return item
