"""Kill rate: the share of the model's mutants that answer differently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import NotApplicable
from mutiny.faults.base import Operator
from mutiny.faults.parsing import as_operators
from mutiny.models import Patch
from mutiny.subjects.inference.passes import rows
from mutiny.subjects.tasks import changed_answers
from mutiny.verbs.select.base import BOTH, Scores, Selector
from mutiny.verbs.select.evidence import Evidence

PRIMA = ("GF", "NEB", "NAI", "WS")
"""Operators that PRIMA uses to mutate models."""
TIE = 1e-3
"""Weight of the mean change, which is at most 1, relative to one kill."""


@dataclass(frozen=True)
class KillRate(Selector):
    """Share of the model's mutants whose answer to an input differs from the model's own; needs no labels.

    For classification, the answer is the predicted class. For regression, a mutant kills if an output changes by more
    than the tolerance. Ties are broken by the mean change of the probabilities (total variation) or of the outputs,
    which adds at most a thousandth of one kill.

    Args:
        operators: Codes joined by ``+``. In Python, any text for operators, such as ``("GF(sd=0.3)", "WI")``.
        mutants: Total number of mutants, spread evenly over the operators. Duplicates do not count.
        ratio: Share of the weights or neurons to change, for all operators with a ratio; ``none`` keeps the ratio of
            each operator, 5% by default.
    """

    code: ClassVar[str] = "kill-rate"
    title: ClassVar[str] = "kill rate"
    source: ClassVar[str] = "mutiny, after PRIMA and DeepMutation++"
    tasks: ClassVar[tuple[type, ...]] = BOTH

    operators: tuple[str, ...] = PRIMA
    mutants: int = 100
    ratio: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.operators, str):
            object.__setattr__(self, "operators", (self.operators,))
        self._within("mutants", 1, 100_000)
        if self.ratio is not None:
            self._within("ratio", 0, 1)
        as_operators(self.operators)

    def score(self, evidence: Evidence) -> Scores:
        """``(kills + TIE * mean change) / mutants``."""
        killed = kills(evidence, at_ratio(as_operators(self.operators), self.ratio), self.mutants, self.code)
        return (killed.count + TIE * killed.change) / killed.mutants


@dataclass(frozen=True)
class Kills:
    """Effect of all mutants on each input.

    Attributes:
        count: Number of mutants that answer differently, ``(n,)``.
        change: Mean change over the mutants, between 0 and 1, ``(n,)``, see `changed`.
        mutants: Number of mutants.
    """

    count: npt.NDArray[np.int64]
    change: Scores
    mutants: int


def kills(evidence: Evidence, operators: Sequence[Operator], total: int, method: str) -> Kills:
    """Runs ``total`` mutants over the pool, one after another; keeps only two numbers per input."""
    clean, model = evidence.outputs(), evidence.model
    count, change, mutants = np.zeros(evidence.size, np.int64), np.zeros(evidence.size), 0
    for _, patch in mutants_of(evidence, operators, total, method):
        mutants, start = mutants + 1, 0
        with patch.applied(model, evidence.forward) as call:
            for outputs in rows(call, model, evidence.pool, evidence.pace):
                here = slice(start, start + len(outputs))
                killed, moved = changed_answers(evidence.task, clean[here], outputs.cpu())
                count[here] += killed.numpy()
                change[here] += moved.numpy()
                start += len(outputs)
    return Kills(count, change / mutants, mutants)


def mutants_of(
    evidence: Evidence, operators: Sequence[Operator], total: int, method: str
) -> Iterator[tuple[int, Patch]]:
    """Yields mutants of the model under test, taking turns among operators, each with its operator's position.

    Operators that do not apply to the model are left out with a note. Duplicates of earlier mutants are skipped.
    """
    fitting, reasons = [], []
    for position, operator in enumerate(operators):
        try:
            operator.patch(evidence.view, evidence.rng("mutant", operator.code, 0))
            fitting.append(position)
        except NotApplicable as error:
            reasons.append(f"{operator.code}: {error}")
    if not fitting:
        raise NotApplicable(f"no operator applies to this model ({'; '.join(reasons)})")
    for reason in reasons:
        evidence.note(f"{method} leaves out {reason}")
    seen: set[str] = set()
    for number in range(total):
        repetition, turn = divmod(number, len(fitting))
        operator = operators[fitting[turn]]
        patch = operator.patch(evidence.view, evidence.rng("mutant", operator.code, repetition))
        if patch.digest not in seen:
            seen.add(patch.digest)
            yield fitting[turn], patch


def at_ratio(operators: Sequence[Operator], ratio: float | None) -> tuple[Operator, ...]:
    """The operators, with this ratio where they have one.

    >>> [operator.ratio for operator in at_ratio(as_operators("GF,WS(ratio=0.2)"), 0.1)]
    [0.1, 0.1]
    """
    return tuple(
        replace(operator, **{"ratio": ratio}) if ratio is not None and "ratio" in operator.tunable else operator
        for operator in operators
    )
