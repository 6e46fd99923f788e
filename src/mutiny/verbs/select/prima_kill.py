"""PRIMA without its ranking model: the number of mutants that are killed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.faults.parsing import as_operators
from mutiny.verbs.select.base import Scores, Selector
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.kill_rate import PRIMA, at_ratio, kills


@dataclass(frozen=True)
class PrimaKill(Selector):
    """Number of the model's mutants that predict another class; PRIMA's first feature, which needs no labels.

    The NSS paper compares with PRIMA, but mentions neither labels nor a ranking model, only 100 mutants with 10% of the
    neurons or weights changed. This method implements that description. Ties remain; `kill-rate` breaks them.

    Args:
        mutants: Number of mutants, spread evenly over GF, NEB, NAI and WS (NSS: m = 100). Duplicates do not count.
        ratio: Share of the weights or neurons that each mutant changes (NSS: x = 10%).
    """

    code: ClassVar[str] = "prima-kill"
    title: ClassVar[str] = "PRIMA's kills"
    source: ClassVar[str] = "Wang et al., PRIMA, ICSE 2021; settings of NSS, Table 5"

    mutants: int = 100
    ratio: float = 0.1

    def __post_init__(self) -> None:
        self._within("mutants", 1, 100_000)
        self._within("ratio", 0, 1)

    def score(self, evidence: Evidence) -> Scores:
        """The number of kills."""
        return kills(evidence, at_ratio(as_operators(PRIMA), self.ratio), self.mutants, self.code).count.astype(float)
