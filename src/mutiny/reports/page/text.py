"""The answers of a page for a terminal: for results of which there is nothing but a JSON file."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text as Words

from mutiny.reports.page.blocks import Text
from mutiny.reports.page.page import Page

LEFT_OUT = ("advice", "method")
"""Sections that a page has room for."""


def answers_text(page: Page) -> RenderableType:
    """Each question with its answer."""
    parts: list[RenderableType] = [Words.assemble((page.subject, "bold"), f"  {page.about}")]
    for section in page.sections:
        told = [block for block in section.blocks if isinstance(block, Text) and block.tone == "answer"]
        if told and section.id not in LEFT_OUT:
            parts += [Words(f"\n{section.title}", style="bold"), *(Words(block.text) for block in told)]
    parts.append(Words("\nmutiny report FILE -o report.html shows the rest.", style="dim"))
    return Padding(Group(*parts), (1, 1), expand=False)
