"""The data of each kind of chart, ready to be drawn by `mutiny.reports.page.charts`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Point = tuple[float, float]


@dataclass(frozen=True)
class Scores:
    """A dot between 0 and 1 for each name, and the mean of all with its interval.

    Attributes:
        names: Names of the rows, from top to bottom.
        values: Value of each row; ``None`` for none.
        overall: Mean of the values.
        interval: Interval of the mean.
    """

    names: tuple[str, ...]
    values: tuple[float | None, ...]
    overall: float | None = None
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Ranges:
    """A dot between a low and a high end for each name, all between 0 and 1."""

    names: tuple[str, ...]
    values: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    label: str


@dataclass(frozen=True)
class StrengthPoint:
    """A mutant in a chart: its strength, its metric (mean, minimum and maximum over instances), and its verdict."""

    strength: float
    metric: float
    low: float
    high: float
    verdict: str


@dataclass(frozen=True)
class Strengths:
    """The metric by strength, on some sets of inputs.

    Attributes:
        strength: Name of the strength.
        metric: Name of the metric.
        points: Mutants by set, in the order of rising strength.
        originals: Mean metric of the originals by set.
    """

    strength: str
    metric: str
    points: tuple[tuple[str, tuple[StrengthPoint, ...]], ...]
    originals: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class SearchPath:
    """The strengths that a search tried, in order, by set of inputs, with their verdicts."""

    strength: str
    bounds: tuple[float, float]
    steps: tuple[tuple[str, tuple[tuple[float, str], ...]], ...]


@dataclass(frozen=True)
class Line:
    """One curve; ``style`` is solid, dashed or dotted, and a quiet curve is a reference."""

    name: str
    points: tuple[Point, ...]
    style: str = "solid"
    quiet: bool = False


@dataclass(frozen=True)
class Lines:
    """Curves over the same axes.

    Attributes:
        lines: The curves.
        x: Label of the horizontal axis.
        y: Label of the vertical axis.
        marks: Positions of vertical lines, with their labels.
        shares: Axes that show percentages: ``"y"``, ``"xy"`` or none.
    """

    lines: tuple[Line, ...]
    x: str
    y: str
    marks: tuple[tuple[float, str], ...] = ()
    shares: str = ""


@dataclass(frozen=True, eq=False)
class Matrix:
    """Shares as shades, ``(rows, columns)``.

    Attributes:
        values: Shares between 0 and 1.
        groups: Name, first row and end (exclusive) of each block of rows.
        columns: Name, first column and end (exclusive) of each block of columns.
        x: Label of the columns.
        y: Label of the rows.
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
        names: Names of the layers, in the order of execution.
        sizes: Number of neurons of each layer.
        shades: Suspiciousness between 0 and 1 of each neuron, one array per layer; empty if only suspects are known.
        marks: Layer, neuron and rank of each suspect.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    shades: tuple[Floats, ...]
    marks: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class CostColumn:
    """Faults of similar cost: the share that is noticed, with its interval; no share without faults."""

    name: str
    share: float | None
    low: float
    high: float
    noticed: int
    faults: int


@dataclass(frozen=True)
class NoticeCurve:
    """The share of faults that are noticed, by cost.

    Attributes:
        columns: Ranges of cost, the cheapest first; each is twice as costly as the one before.
        counted: Number of columns that count; those after them are hollow.
        overall: Notice rate.
        interval: Interval of the notice rate.
        x: Label of the horizontal axis.
    """

    columns: tuple[CostColumn, ...]
    counted: int
    overall: float | None
    interval: tuple[float, float] | None
    x: str


Picture = Scores | Ranges | Strengths | SearchPath | Lines | Matrix | Layers | NoticeCurve
