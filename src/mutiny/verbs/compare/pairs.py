"""The answers of A and B to the same inputs, joined by the identifiers of the inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mutiny.core.errors import BadInput
from mutiny.verbs.compare.answers import Bools, ComparedAnswers, Floats, Texts

SHOWN = 3
"""Identifiers in a message."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Answers to the same inputs in the same order.

    Attributes:
        a: Answers of A.
        b: Answers of B.
    """

    a: ComparedAnswers
    b: ComparedAnswers

    @classmethod
    def of(cls, a: ComparedAnswers, b: ComparedAnswers) -> Pairs:
        """Puts the answers of B into the order of A; raises `BadInput` unless both are about the same inputs."""
        if (a.scores is None) != (b.scores is None):
            kinds = ["scores" if each.scores is not None else "answers that are right or wrong" for each in (a, b)]
            raise BadInput("b", kinds[1], f"{kinds[0]}, as A has")
        if a.ids != b.ids:
            places = {identifier: place for place, identifier in enumerate(b.ids)}
            _check_same(a.ids, b.ids)
            b = b.reordered(np.array([places[identifier] for identifier in a.ids], np.int64))
        if a.targets is not None and b.targets is not None:
            for identifier, mine, theirs in zip(a.ids, a.targets, b.targets, strict=True):
                if mine != theirs:
                    wrong = f"target {theirs} of input {identifier}"
                    raise BadInput("b", wrong, f"{mine}, as A has", "Both must answer the same question.")
        return cls(a, b)

    def __len__(self) -> int:
        return len(self.a)

    @property
    def targets(self) -> Texts | None:
        """The right answers, if one of the two has them."""
        return self.b.targets if self.a.targets is None else self.a.targets

    @property
    def broken(self) -> Bools:
        """Inputs that A gets right and B gets wrong."""
        a, b = self._correct
        return a & ~b

    @property
    def repaired(self) -> Bools:
        """Inputs that A gets wrong and B gets right."""
        a, b = self._correct
        return b & ~a

    @property
    def _correct(self) -> tuple[Bools, Bools]:
        a, b = self.a.correct, self.b.correct
        assert a is not None
        assert b is not None
        return a, b

    @property
    def differences(self) -> Floats:
        """Score of B minus score of A; for answers, 1 if repaired and -1 if broken."""
        if self.a.scores is not None and self.b.scores is not None:
            return self.b.scores - self.a.scores
        return self.repaired.astype(np.float64) - self.broken

    @property
    def same_answers(self) -> bool:
        """Whether both say the same about every input, as far as is known."""
        if self.a.said is not None and self.b.said is not None:
            return self.a.said == self.b.said
        return not self.differences.any()

    @property
    def same_outputs(self) -> bool:
        """Whether the outputs of two networks are the same, bit for bit."""
        return bool(self.a.digest) and self.a.digest == self.b.digest

    def columns(self) -> dict[str, Texts]:
        """Properties of the inputs by name, of A before those of B."""
        return {**self.b.columns, **self.a.columns}


def _check_same(a: Texts, b: Texts) -> None:
    """Raises `BadInput` unless the same inputs are in both."""
    mine, theirs = set(a), set(b)
    lacking, others = [name for name in a if name not in theirs], [name for name in b if name not in mine]
    if lacking or others:
        parts = []
        if lacking:
            parts.append(f"lacks {len(lacking):,} of the {len(a):,} ids of A, such as {_some(lacking)}")
        if others:
            parts.append(f"has {len(others):,} that A lacks, such as {_some(others)}")
        fix = "Both must answer the same inputs, each named by the same id."
        raise BadInput("b", f"answers to other inputs: it {' and '.join(parts)}", "the ids of A", fix)


def _some(names: list[str]) -> str:
    return ", ".join(name[:40] for name in names[:SHOWN])
