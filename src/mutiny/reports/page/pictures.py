"""The data of each kind of chart, ready to be drawn by `mutiny.reports.page.charts`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Point = tuple[float, float]


@dataclass(frozen=True)
class Scores:
    """A dot on a line from 0 to 1 for each name, and the mean of all with its interval.

    Attributes:
        names: of the rows, from top to bottom.
        values: ``None`` where there is none.
        overall: their mean.
        interval: of the mean.
    """

    names: tuple[str, ...]
    values: tuple[float | None, ...]
    overall: float | None = None
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Ranges:
    """A dot between a low and a high end for each name, on a line from 0 to 1."""

    names: tuple[str, ...]
    values: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    label: str


@dataclass(frozen=True)
class StrengthPoint:
    """A mutant in a chart: its strength, its metric (mean, least and most over instances), and what became of it."""

    strength: float
    metric: float
    low: float
    high: float
    verdict: str


@dataclass(frozen=True)
class Strengths:
    """How the metric falls as the strength grows, on some sets of inputs.

    Attributes:
        strength: its name.
        metric: its name.
        probes: by set, by rising strength.
        originals: mean metric of the originals by set.
    """

    strength: str
    metric: str
    probes: tuple[tuple[str, tuple[StrengthPoint, ...]], ...]
    originals: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Path:
    """The strengths that a search tried, one after another, by set of inputs, with their verdicts."""

    strength: str
    bounds: tuple[float, float]
    steps: tuple[tuple[str, tuple[tuple[float, str], ...]], ...]


@dataclass(frozen=True)
class Line:
    """One curve; ``style`` is solid, dashed or dotted, and quiet ones are references."""

    name: str
    points: tuple[Point, ...]
    style: str = "solid"
    quiet: bool = False


@dataclass(frozen=True)
class Lines:
    """Curves over the same axes.

    Attributes:
        lines: the curves.
        x: what goes to the right; ``y`` what goes up.
        mark: where a vertical line stands, and ``mark_name`` what it means.
        shares: axes that are percentages: ``"y"``, ``"xy"`` or none.
    """

    lines: tuple[Line, ...]
    x: str
    y: str
    mark: float | None = None
    mark_name: str = ""
    shares: str = ""


@dataclass(frozen=True, eq=False)
class Matrix:
    """Shares as shades, ``(rows, columns)``.

    Attributes:
        values: between 0 and 1.
        groups: names of blocks of rows, with the first row and the one after the last of each.
        columns: names of blocks of columns, in the same way; their sizes may differ.
        x: what the columns are; ``y`` what the rows are.
    """

    values: Floats
    groups: tuple[tuple[str, int, int], ...]
    columns: tuple[tuple[str, int, int], ...]
    x: str
    y: str


@dataclass(frozen=True, eq=False)
class Layers:
    """Neurons of each layer as a strip of shades, and some of them marked.

    Attributes:
        names: of the layers, in the order of execution.
        sizes: neurons of each.
        shades: suspicion between 0 and 1 of each neuron, one array per layer; empty if only the suspects are known.
        marks: layer, neuron and rank of the suspects.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    shades: tuple[Floats, ...]
    marks: tuple[tuple[int, int, int], ...]


Picture = Scores | Ranges | Strengths | Path | Lines | Matrix | Layers
