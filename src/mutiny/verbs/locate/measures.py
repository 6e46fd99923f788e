"""Suspiciousness measures of spectrum-based fault localization.

For each neuron, ``ef`` and ``ep`` count the failing and passing inputs on which it was active, ``nf`` and ``np`` those
on which it was silent; ``F = ef + nf`` and ``P = ep + np``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from mutiny.core.checks import is_number
from mutiny.core.errors import BadInput
from mutiny.core.parsing import Names, described
from mutiny.core.registry import Registry

Floats = npt.NDArray[np.float64]


class Counts(NamedTuple):
    """Number of inputs by outcome and activity, ``(neurons,)`` each; intervals use fractional numbers too."""

    ef: Floats
    ep: Floats
    nf: Floats
    np: Floats

    @property
    def failing(self) -> Floats:
        """``F``, the number of failing inputs."""
        return self.ef + self.nf

    @property
    def passing(self) -> Floats:
        """``P``, the number of passing inputs."""
        return self.ep + self.np


@dataclass(frozen=True)
class Measure(ABC):
    """A suspiciousness measure: for fixed ``F`` and ``P`` it rises with ``ef`` and falls with ``ep``."""

    code: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    both_ways: ClassVar[bool] = False
    """Whether silence on failures is as suspicious as activity, so that the measure need not rise with ``ef``."""

    @abstractmethod
    def suspicion(self, counts: Counts) -> Floats:
        """The formula, ``(neurons,)``; `__call__` suppresses warnings about zero divisions and replaces NaN by 0."""

    def __call__(self, counts: Counts) -> Floats:
        """Score of each neuron, ``(neurons,)``; NaN counts as 0, and infinity is allowed, as in D*."""
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = self.suspicion(counts)
        return np.where(np.isnan(scores), 0.0, scores)

    def __str__(self) -> str:
        return described(self, self.code)


def ratio(above: Floats, below: Floats) -> Floats:
    """``above / below``, and 0 where both are 0."""
    return np.divide(above, below, out=np.zeros(np.broadcast_shapes(above.shape, below.shape)), where=below != 0)


@dataclass(frozen=True)
class Ochiai(Measure):
    """``ef / sqrt(F (ef + ep))``: the cosine between the neuron's activity and the failures."""

    code: ClassVar[str] = "ochiai"
    title: ClassVar[str] = "Ochiai"
    source: ClassVar[str] = "DeepFault, Table 1"

    def suspicion(self, counts: Counts) -> Floats:
        """The formula."""
        return ratio(counts.ef, np.sqrt(counts.failing * (counts.ef + counts.ep)))


@dataclass(frozen=True)
class Tarantula(Measure):
    """``(ef / F) / (ef / F + ep / P)``: its share of failures if failing and passing inputs were equally frequent."""

    code: ClassVar[str] = "tarantula"
    title: ClassVar[str] = "Tarantula"
    source: ClassVar[str] = "DeepFault, Table 1"

    def suspicion(self, counts: Counts) -> Floats:
        """The formula."""
        hit, passed = ratio(counts.ef, counts.failing), ratio(counts.ep, counts.passing)
        return ratio(hit, hit + passed)


@dataclass(frozen=True)
class DStar(Measure):
    """``ef^power / (ep + nf)``; infinite for a neuron that is active on exactly the failures.

    Args:
        power: Exponent; 3 in DeepFault, 2 in most other work. With 1 the ranking is that of Jaccard.
    """

    code: ClassVar[str] = "dstar"
    title: ClassVar[str] = "D*"
    source: ClassVar[str] = "DeepFault, Table 1"

    power: float = 3.0

    def __post_init__(self) -> None:
        if not is_number(self.power) or not 0 < self.power <= 100:
            raise BadInput("dstar power", repr(self.power), "a number above 0, and at most 100")

    def suspicion(self, counts: Counts) -> Floats:
        """The formula."""
        return counts.ef**self.power / (counts.ep + counts.nf)


@dataclass(frozen=True)
class Jaccard(Measure):
    """``ef / (F + ep)``: overlap of the failing inputs and the inputs on which it is active, divided by their union."""

    code: ClassVar[str] = "jaccard"
    title: ClassVar[str] = "Jaccard"
    source: ClassVar[str] = "Jaccard, 1901; Chen et al., Pinpoint, DSN 2002"

    def suspicion(self, counts: Counts) -> Floats:
        """The formula."""
        return ratio(counts.ef, counts.failing + counts.ep)


@dataclass(frozen=True)
class Op2(Measure):
    """``ef - ep / (P + 1)``: ranks by ``ef`` first, so neurons that are always active come first."""

    code: ClassVar[str] = "op2"
    title: ClassVar[str] = "Op2"
    source: ClassVar[str] = "Naish, Lee, Ramamohanarao, TOSEM 2011"

    def suspicion(self, counts: Counts) -> Floats:
        """The formula."""
        return counts.ef - counts.ep / (counts.passing + 1)


@dataclass(frozen=True)
class Kulczynski2(Measure):
    """``(ef / F + ef / (ef + ep)) / 2``: the mean of recall and precision."""

    code: ClassVar[str] = "kulczynski2"
    title: ClassVar[str] = "Kulczynski2"
    source: ClassVar[str] = "Naish, Lee, Ramamohanarao, TOSEM 2011"

    def suspicion(self, counts: Counts) -> Floats:
        """The formula."""
        return (ratio(counts.ef, counts.failing) + ratio(counts.ef, counts.ef + counts.ep)) / 2


@dataclass(frozen=True)
class Ample(Measure):
    """``|ef / F - ep / P|``: difference of both rates; silence on failures is as suspicious as activity."""

    code: ClassVar[str] = "ample"
    title: ClassVar[str] = "Ample"
    source: ClassVar[str] = "Dallmeier, Lindig, Zeller, ECOOP 2005"
    both_ways: ClassVar[bool] = True

    def suspicion(self, counts: Counts) -> Floats:
        """The formula."""
        return np.abs(ratio(counts.ef, counts.failing) - ratio(counts.ep, counts.passing))


@dataclass(frozen=True)
class Wong3(Measure):
    """``ef - h``, where ``h`` counts the first two inputs of ``ep`` as 1, the next eight as 0.1, others as 0.001."""

    code: ClassVar[str] = "wong3"
    title: ClassVar[str] = "Wong3"
    source: ClassVar[str] = "Wong et al., COMPSAC 2007"

    def suspicion(self, counts: Counts) -> Floats:
        """The formula."""
        few, some, many = np.minimum(counts.ep, 2), np.clip(counts.ep - 2, 0, 8), np.maximum(counts.ep - 10, 0)
        return counts.ef - few - 0.1 * some - 0.001 * many


@dataclass(frozen=True)
class Zoltar(Measure):
    """``ef / (F + ep + 10000 nf ep / ef)``: nearly 0 unless ``nf`` or ``ep`` is 0."""

    code: ClassVar[str] = "zoltar"
    title: ClassVar[str] = "Zoltar"
    source: ClassVar[str] = "Janssen, Abreu, van Gemund, ASE 2009"

    def suspicion(self, counts: Counts) -> Floats:
        """The formula."""
        return ratio(counts.ef**2, counts.ef * (counts.failing + counts.ep) + 10_000 * counts.nf * counts.ep)


@dataclass(frozen=True)
class Ochiai2(Measure):
    """``ef np / sqrt((ef + ep) (nf + np) F P)``: Ochiai times the same for silence on passing inputs."""

    code: ClassVar[str] = "ochiai2"
    title: ClassVar[str] = "Ochiai2"
    source: ClassVar[str] = "Naish, Lee, Ramamohanarao, TOSEM 2011"

    def suspicion(self, counts: Counts) -> Floats:
        """The formula."""
        margins = (counts.ef + counts.ep) * (counts.nf + counts.np) * counts.failing * counts.passing
        return ratio(counts.ef * counts.np, np.sqrt(margins))


@dataclass(frozen=True)
class Barinel(Measure):
    """``ef / (ef + ep)``: share of failures among the inputs on which it is active; ranks like Tarantula."""

    code: ClassVar[str] = "barinel"
    title: ClassVar[str] = "Barinel"
    source: ClassVar[str] = "Abreu, Zoeteweij, van Gemund, ASE 2009"

    def suspicion(self, counts: Counts) -> Floats:
        """The formula."""
        return ratio(counts.ef, counts.ef + counts.ep)


ALL: tuple[type[Measure], ...] = (
    Ochiai,
    Tarantula,
    DStar,
    Jaccard,
    Op2,
    Kulczynski2,
    Ample,
    Wong3,
    Zoltar,
    Ochiai2,
    Barinel,
)
MEASURES: Registry[Measure] = Registry("mutiny.measures", Measure, ALL)
NAMES = Names("measures", Measure, MEASURES, "dstar(power=2)", "mutiny measures")


def as_measure(wanted: str | Measure) -> Measure:
    """A measure from its name, with optional parameters.

    >>> as_measure("dstar(power=2)")
    DStar(power=2.0)
    """
    parsed = NAMES.parse(wanted if isinstance(wanted, str) else [wanted])
    if len(parsed) != 1:
        raise BadInput("measure", repr(wanted), f"one of {', '.join(MEASURES)}")
    measure: Measure = parsed[0]
    return measure
