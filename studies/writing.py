"""Pieces of a study's page: prose, tables, figures, and numbers in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from scipy import stats

from mutiny.reports.files import replacing

NOT_RUN = "not run"
DPI, INK, GRAY = 200, "#333333", "#969696"
"""Of all figures."""


def write_page(path: Path, sections: Iterable[str]) -> None:
    """A page of paragraphs, whole or not at all; empty ones are left out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        part.write_text("\n\n".join(filter(None, sections)) + "\n", encoding="utf-8")


def prose(path: Path) -> dict[str, str]:
    """Hand-written paragraphs by section."""
    parts = path.read_text(encoding="utf-8").split("\n## ")[1:]
    return {name.strip(): text.strip() for name, _, text in (part.partition("\n") for part in parts)}


def follows(sentences: Iterable[str]) -> str:
    """What was computed from numbers, as a list."""
    return "**What follows from the numbers.**\n\n" + ("\n".join(f"- {one}" for one in sentences) or f"- {NOT_RUN}")


def figure(path: Path, title: str, draw: Callable[[Path], bool]) -> str:
    """A link to a picture, drawn if there are numbers for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return f"![{title}]({path.parent.name}/{path.name})" if draw(path) else f"Figure: {NOT_RUN}."


def styled() -> Any:
    """``pyplot`` without a display, in the style of all figures."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    style = {"axes.spines.top": False, "axes.spines.right": False, "font.size": 9, "hatch.linewidth": 0.7}
    pyplot.rcParams.update(style | {"axes.edgecolor": INK, "text.color": INK, "axes.titlesize": 10})
    return pyplot


def sources(folder: Path, names: Iterable[str]) -> str:
    """How to repeat a study, and where its numbers are."""
    links = ", ".join(f"[{name}]({folder.name}/{name})" for name in names if (folder / name).exists())
    return (
        f"`python -m studies.{folder.name} --data DIR` repeats it, or continues where it stopped. Raw numbers: "
        f"{links or NOT_RUN}."
    )


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table.

    >>> print(markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def percent(value: float, digits: int = 1) -> str:
    """A share in words.

    >>> percent(0.1234)
    '12.3%'
    """
    return f"{100 * value:.{digits}f}%"


def rank_correlation(ours: Sequence[object], theirs: Sequence[object]) -> tuple[float, int] | None:
    """Spearman's correlation over the places where both have a number, and how many those are; at least four.

    >>> rank_correlation([0.1, 0.2, 0.3, 0.5, "N/A"], [0.2, 0.3, 0.4, 0.9, 0.1])
    (1.0, 4)
    """
    both = [
        (a, b) for a, b in zip(ours, theirs, strict=True) if isinstance(a, float | int) and isinstance(b, float | int)
    ]
    if len(both) < 4 or any(len({pair[side] for pair in both}) == 1 for side in (0, 1)):
        return None
    return round(float(stats.spearmanr(*zip(*both, strict=True)).statistic), 3), len(both)
