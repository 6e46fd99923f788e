"""The text of any result, as its verb shows it on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from mutiny.core.results import Result
from mutiny.reports.assess_text import assess_text
from mutiny.reports.attack_text import attack_text
from mutiny.reports.compare_text import compare_text
from mutiny.reports.locate_text import locate_text
from mutiny.reports.muff_text import muff_text
from mutiny.reports.repair_text import repair_text
from mutiny.reports.select_text import select_text
from mutiny.reports.strengthen_text import strengthen_text
from mutiny.verbs.assess.muff.result import MuffAssessment

TEXTS: Mapping[str, Callable[[Any, int], RenderableType]] = {
    "assess": assess_text,
    "compare": lambda result, _: compare_text(result),
    "strengthen": lambda result, _: strengthen_text(result),
    "select": select_text,
    "locate": lambda result, _: locate_text(result),
    "repair": lambda result, _: repair_text(result),
    "attack": lambda result, _: attack_text(result),
}
"""Text of a result by verb, from the result and the width of the terminal."""


def result_text(result: Any, width: int) -> RenderableType:
    """The text that the result's verb shows; that of ``str`` for a result of a verb outside of mutiny."""
    if isinstance(result, MuffAssessment):
        return muff_text(result, width)
    if isinstance(result, Result) and result.verb in TEXTS:
        return TEXTS[result.verb](result, width)
    return Text(str(result))
