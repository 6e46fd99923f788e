"""Binary search for the weakest mutant that is still killed. MUFF, Algorithm 1."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Generic, TypeVar

from mutiny.core.checks import check_positive, check_whole
from mutiny.core.errors import BadInput
from mutiny.core.records import Verdict
from mutiny.faults.training.base import Span


@dataclass(frozen=True)
class Search:
    """Limits and precision of the search for mutants, and the condition for a stable mutant.

    Args:
        k_max: Maximum number of repetitions of a mutant per original. Line 6 of the algorithm.
        rse: Relative standard error of the metric above which a mutant is unstable. Line 10 and eq. 5.
        precision: Width of the strength interval at which a search stops. Operators before training have their own
            precision, unless a value other than the default is given.
        lower: Lower bound of the strength; the operator's own by default.
        upper: Upper bound of the strength; the operator's own by default.
        max_probes: Maximum number of strengths tried per search.
        max_seconds: Maximum duration of a search in seconds. A search that is cut short may differ from run to run.
        min_instances: Minimum number of instances for a reliable standard error. It matters only with few originals.
    """

    k_max: int = 5
    rse: float = 0.05
    precision: float = 5e-4
    lower: float | None = None
    upper: float | None = None
    max_probes: int | None = None
    max_seconds: float | None = None
    min_instances: int = 5

    def __post_init__(self) -> None:
        for name in ("k_max", "min_instances"):
            check_whole(name, getattr(self, name))
        for name in ("rse", "precision"):
            check_positive(name, getattr(self, name))
        check_whole("max_probes", 1 if self.max_probes is None else self.max_probes)
        check_positive("max_seconds", 1.0 if self.max_seconds is None else self.max_seconds)
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise BadInput("lower", self.lower, f"less than upper={self.upper}")

    def bounds(self, allowed: tuple[float, float]) -> tuple[float, float]:
        """Bounds of the search, given the bounds of the operator."""
        least, most = allowed
        low = least if self.lower is None else self.lower
        high = most if self.upper is None else self.upper
        if not least <= low < high <= most:
            raise BadInput("lower, upper", f"{low:g}, {high:g}", f"an interval inside [{least:g}, {most:g}]")
        return low, high

    def probes(self, allowed: tuple[float, float]) -> int:
        """Largest number of strengths that a search tries."""
        low, high = self.bounds(allowed)
        width, count = high - low, 0
        while width > self.precision or count == 0:
            width, count = width / 2, count + 1
        return count if self.max_probes is None else min(count, self.max_probes)


Value = TypeVar("Value", covariant=True)
"""What a search tries: a strength, ``None`` if the operator has none, or the name of a configuration."""


@dataclass(frozen=True)
class Trace(Generic[Value]):
    """The path of one search: every value tried with its verdict, in order, and the reason why it ended."""

    probes: tuple[tuple[Value, Verdict], ...]
    stopped: str

    @property
    def archive(self) -> tuple[Value, ...]:
        """Killed values, from easy to hard to kill (line 16)."""
        return tuple(value for value, verdict in self.probes if verdict is Verdict.KILLED)

    def counts(self) -> dict[str, int]:
        """Number of values ``killed``, ``survived`` and ``unstable``."""
        verdicts = [verdict for _, verdict in self.probes]
        return {v.value: verdicts.count(v) for v in (Verdict.KILLED, Verdict.SURVIVED, Verdict.UNSTABLE)}


Asking = Generator[float, Verdict, Trace[float]]
"""A search that yields a strength, is sent the verdict on it, and returns its path in the end."""


def binary_search(
    probe: Callable[[float], Verdict],
    bounds: tuple[float, float],
    search: Search,
    clock: Callable[[], float] = time.monotonic,
) -> Trace[float]:
    """`bisection` with a function that returns verdicts.

    >>> trace = binary_search(lambda s: Verdict.KILLED if s >= 0.3 else Verdict.SURVIVED, (0.0, 1.0), Search())
    >>> len(trace.probes), round(trace.archive[-1], 2), trace.stopped
    (11, 0.3, 'precision')
    """
    return _answered(bisection(bounds, search, clock), probe)


def bisection(bounds: tuple[float, float], search: Search, clock: Callable[[], float] = time.monotonic) -> Asking:
    """Halves the interval: unstable or killed goes down, survived goes up (lines 2, 13-19)."""
    low, high = bounds
    tried: list[tuple[float, Verdict]] = []
    start = clock()
    while True:
        middle = (low + high) / 2
        verdict = yield middle
        tried.append((middle, verdict))
        if verdict is Verdict.SURVIVED:
            low = middle
        else:
            high = middle
        if high - low <= search.precision or not low < (low + high) / 2 < high:  # no float lies between
            return Trace(tuple(tried), "precision")
        limit = _reached_limit(search, len(tried), clock, start)
        if limit is not None:
            return Trace(tuple(tried), limit)


def _reached_limit(search: Search, probes: int, clock: Callable[[], float], start: float) -> str | None:
    """Name of the limit that ends a search, or ``None``."""
    if search.max_probes is not None and probes >= search.max_probes:
        return "probes"
    if search.max_seconds is not None and clock() - start >= search.max_seconds:
        return "time"
    return None


def _answered(asking: Asking, probe: Callable[[float], Verdict]) -> Trace[float]:
    strength = next(asking)
    while True:
        try:
            strength = asking.send(probe(strength))
        except StopIteration as end:
            trace: Trace[float] = end.value
            return trace


async def following(asking: Asking, probe: Callable[[float], Awaitable[Verdict]]) -> Trace[float]:
    """Path of a search whose verdicts are awaited."""
    strength = next(asking)
    while True:
        verdict = await probe(strength)
        try:
            strength = asking.send(verdict)
        except StopIteration as end:
            trace: Trace[float] = end.value
            return trace


def within(span: Span, search: Search) -> Span:
    """The part of a span inside the bounds of a search, with the search's precision.

    >>> within(Span(10, 1, 1, True), Search(lower=3)), within(Span(0.0, 1.0, 0.05), Search(precision=0.2)).precision
    (Span(mild=10, severe=3, precision=1, whole=True), 0.2)
    """
    bounds = search.bounds((min(span.mild, span.severe), max(span.mild, span.severe)))
    low, high = (math.ceil(bounds[0]), math.floor(bounds[1])) if span.whole else bounds
    if not low < high:
        raise BadInput(
            "lower, upper", f"{bounds[0]:g}, {bounds[1]:g}", "bounds with at least two whole numbers between them"
        )
    mild, severe = (low, high) if span.mild < span.severe else (high, low)
    precision = span.precision if search.precision == Search.precision else search.precision
    return Span(mild, severe, max(1, math.floor(precision)) if span.whole else precision, span.whole)


def steps(span: Span, search: Search | None = None) -> int:
    """Largest number of values that `descent` tries.

    >>> steps(Span(10, 1, 1, True)), steps(Span(0.0, 1.0, 0.05)), steps(Span(0.0, 1.0, 0.05), Search(max_probes=3))
    (5, 6, 3)
    """
    halves = abs(span.mild - span.severe) / span.precision
    count = 1 + max(0, math.ceil(math.log2(max(1.0, halves)) - 1e-9))
    return count if search is None or search.max_probes is None else min(count, search.max_probes)


def weakest_killed(probe: Callable[[float], Verdict], span: Span) -> Trace[float]:
    """`descent` with a function that returns verdicts.

    >>> trace = weakest_killed(lambda epochs: Verdict.KILLED if epochs < 5 else Verdict.SURVIVED, Span(10, 1, 1, True))
    >>> [int(epochs) for epochs, _ in trace.probes], trace.archive[-1]
    ([1, 5, 3, 4], 4)
    """
    return _answered(descent(span), probe)


def descent(span: Span, search: Search | None = None, clock: Callable[[], float] = time.monotonic) -> Asking:
    """DeepCrime's search: the severest value first; if it is killed, bisection down to the weakest killed value.

    Args:
        span: Values to search, see `within`.
        search: Limits of probes and time.
        clock: Clock for the limit of time.
    """
    search, start = search or Search(), clock()
    verdict = yield span.severe
    tried = [(span.severe, verdict)]
    if tried[0][1] is not Verdict.KILLED:
        return Trace(tuple(tried), "the severest is not killed")
    mild, severe = span.mild, span.severe
    while abs(mild - severe) > span.precision * (1 + 1e-9):
        limit = _reached_limit(search, len(tried), clock, start)
        if limit is not None:
            return Trace(tuple(tried), limit)
        middle = (mild + severe) / 2
        middle = math.floor(middle) if span.whole else middle
        verdict = yield middle
        tried.append((middle, verdict))
        if verdict is Verdict.KILLED:
            severe = middle
        else:
            mild = middle
    return Trace(tuple(tried), "precision")


def not_monotone(verdicts: dict[float, Verdict]) -> tuple[float, float] | None:
    """A killed strength and a larger one that survived, or ``None``. The search assumes that there is no such pair.

    >>> not_monotone({0.1: Verdict.KILLED, 0.5: Verdict.SURVIVED})
    (0.1, 0.5)
    """
    killed = [s for s, verdict in verdicts.items() if verdict is Verdict.KILLED]
    survived = [s for s, verdict in verdicts.items() if verdict is Verdict.SURVIVED]
    if killed and survived and min(killed) < max(survived):
        return min(killed), max(survived)
    return None
