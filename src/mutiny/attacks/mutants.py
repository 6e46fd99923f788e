"""Which mutants attack together? MUTEN's greedy choice of diverse ones, and two to compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from torch import Tensor

from mutiny.attacks.similarity import Representation
from mutiny.checks import check_whole
from mutiny.errors import BadInput, NotApplicable
from mutiny.models import ModelView, Patch
from mutiny.operators import OPERATORS, Operator
from mutiny.random import generator_for
from mutiny.stats.centrality import pagerank

Kind = Literal["diverse", "random", "similar"]
CODES = ("GF", "WS", "NEB", "NAI", "NS")
RATIOS = (0.01, 0.02, 0.03, 0.04)
SIMILAR = 0.95
"""Share of the original's accuracy that similar mutants keep (MUTEN, section IV-B)."""
TRIES = 20
"""Mutants that may be refused in a row before we give up."""


@dataclass(frozen=True)
class Choice:
    """How mutants are made and chosen (MUTEN, Algorithm 1).

    Args:
        count: mutants in the ensemble, beside the original.
        kind: ``"diverse"``: made one after another, and whenever there is one too many, the one that is most like the
            others leaves. ``"random"``: the first that are made. ``"similar"``: the first that keep 95% of the
            original's accuracy.
        iterations: mutants that are made for a diverse choice. The paper does not say how many.
        operators: codes; each is used at every ratio.
        ratios: shares of weights or neurons that change.
        floor: least share of the original's accuracy that a mutant must keep; a worse one is thrown away and does not
            count. The paper has none for diverse mutants.

    >>> Choice(count=3).pairs()[:2]
    [('GF', 0.01), ('GF', 0.02)]
    """

    count: int = 5
    kind: Kind = "diverse"
    iterations: int = 50
    operators: tuple[str, ...] = CODES
    ratios: tuple[float, ...] = RATIOS
    floor: float = 0.0

    def __post_init__(self) -> None:
        check_whole("mutants", self.count, 0)
        check_whole("iterations", self.iterations, self.count)
        if self.kind not in get_args(Kind):
            raise BadInput("kind", repr(self.kind), f"one of {', '.join(get_args(Kind))}")
        unknown = [code for code in self.operators if code not in OPERATORS]
        if unknown or not self.operators:
            raise BadInput("operators", unknown or self.operators, f"some of {', '.join(OPERATORS)}")
        if not self.ratios or not all(0 < ratio <= 1 for ratio in self.ratios):
            raise BadInput("ratios", self.ratios, "shares between 0 and 1")
        if not 0 <= self.floor <= 1:
            raise BadInput("floor", self.floor, "a share between 0 and 1")

    def pairs(self) -> list[tuple[str, float]]:
        """Operators and ratios, of which each mutant draws one."""
        return [(code, ratio) for code in self.operators for ratio in self.ratios]

    @property
    def least(self) -> float:
        """Least share of the original's accuracy."""
        return max(self.floor, SIMILAR) if self.kind == "similar" else self.floor


@dataclass(frozen=True, eq=False)
class Mutant:
    """One that was made.

    Attributes:
        operator: that made it.
        patch: of the original.
        accuracy: on the inputs that were looked at.
        features: what its last hidden layer says to them.
    """

    operator: Operator
    patch: Patch
    accuracy: float
    features: Representation


Look = Callable[[Patch], tuple[Tensor, float]]
"""From a patch to the features of some inputs ``(n, d)`` and the accuracy on them."""


def chosen(view: ModelView, choice: Choice, look: Look, seed: int) -> tuple[Mutant, ...]:
    """The mutants of an ensemble.

    Args:
        view: of the original.
        choice: how.
        look: runs a mutant.
        seed: one seed, the same mutants.
    """
    if not choice.count:
        return ()
    _, clean = look(Patch(()))
    made = _made(view, choice, look, choice.least * clean, seed)
    if choice.kind != "diverse":
        return tuple(mutant for mutant, _ in zip(made, range(choice.count), strict=False))
    members: list[Mutant] = []
    alike = np.zeros((0, 0))
    for mutant, _ in zip(made, range(choice.iterations), strict=False):
        new = np.array([mutant.features.cka(member.features) for member in members])
        alike = np.block([[alike, new[:, None]], [new[None], np.zeros((1, 1))]]) if members else np.zeros((1, 1))
        members.append(mutant)
        if len(members) > choice.count:
            leaves = most_central(alike)
            members.pop(leaves)
            alike = np.delete(np.delete(alike, leaves, 0), leaves, 1)
    return tuple(members)


def most_central(alike: Any) -> int:
    """The one with the highest PageRank: most like all the others. Among equals, the latest.

    >>> most_central([[0, 0.9, 0.2], [0.9, 0, 0.3], [0.2, 0.3, 0]])
    1
    """
    ranks = pagerank(alike)
    return int(len(ranks) - 1 - ranks[::-1].argmax())


def _made(view: ModelView, choice: Choice, look: Look, least: float, seed: int) -> Iterator[Mutant]:
    """Mutants without end, each by an operator and a ratio drawn at random."""
    rng, pairs = generator_for(seed, "attack", "operators"), choice.pairs()
    number = refused = 0
    while True:
        code, ratio = pairs[int(rng.integers(len(pairs)))]
        operator = _with_ratio(code, ratio)
        number += 1
        try:
            patch = operator.patch(view, generator_for(seed, "attack", "mutant", number))
            features, accuracy = look(patch)
        except NotApplicable as reason:
            pairs = [pair for pair in pairs if pair[0] != code]
            if not pairs:
                raise BadInput("operators", choice.operators, "some that apply to this model", str(reason)) from None
            continue
        if accuracy < least or not bool(features.isfinite().all()):
            refused += 1
            if refused >= TRIES:
                raise BadInput(
                    "floor", f"{least:.1%} accuracy", "a bar that mutants can reach",
                    f"{refused} in a row did not; the last had {accuracy:.1%}. Lower the ratios.",
                )  # fmt: skip
            continue
        refused = 0
        yield Mutant(operator, patch, accuracy, Representation.of(features))


def _with_ratio(code: str, ratio: float) -> Operator:
    kind: Any = OPERATORS[code]
    return kind(ratio=ratio)  # type: ignore[no-any-return]


def described(mutants: Sequence[Mutant]) -> list[str]:
    """What each is, for people."""
    return [f"{mutant.operator.code} {mutant.operator.parameters()['ratio']:.0%}" for mutant in mutants]
