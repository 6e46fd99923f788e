"""Choice of the mutants that attack together: MUTEN's greedy diverse choice, and two choices to compare with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import isnan
from typing import Any, Literal, get_args

import numpy as np
from torch import Tensor

from mutiny.core.checks import check_whole, is_number
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.parsing import described
from mutiny.core.random import generator_for
from mutiny.core.stats.centrality import pagerank
from mutiny.faults import Operator
from mutiny.faults.parsing import as_operators
from mutiny.models import ModelView, Patch
from mutiny.verbs.attack.similarity import Representation

Kind = Literal["diverse", "random", "similar"]
CODES = ("GF", "WS", "NEB", "NAI", "NS")
RATIOS = (0.01, 0.02, 0.03, 0.04)
RATIO = "ratio"
"""Parameter that `Choice.ratios` sets."""
OWN_RATIO = re.compile(rf"\b{RATIO}\s*=")
SIMILAR = 0.95
"""Share of the original's accuracy that similar mutants keep (MUTEN, section IV-B)."""
TRIES = 20
"""Number of mutants dropped in a row after which the choice fails."""


@dataclass(frozen=True)
class Choice:
    """How mutants are made and chosen (MUTEN, Algorithm 1).

    Args:
        count: Number of mutants that attack together with the model; 0 for the model alone.
        kind: Choice of mutants: ``diverse``, ``random`` or ``similar``. ``diverse`` creates mutants one after another
            and, whenever there is one too many, drops the one that is most similar to the others; ``random`` takes the
            first ones; ``similar`` takes the first ones that keep 95% of the original's accuracy.
        iterations: Number of mutants to create for a diverse choice. At least ``count``; the paper does not say how
            many.
        operators: Operators used to create mutants, such as ``"GF(sd=0.1),NS"``. Each is used at every ratio, or once
            if it has none (LR, LA, LD, AFR).
        ratios: Shares of weights or neurons that a mutant changes.
        floor: Minimum share of the original's accuracy that a mutant must keep. Worse mutants are dropped and do not
            count. The paper has no such limit for diverse mutants.

    >>> Choice(count=3).pairs()[:2]
    [('GF', 0.01), ('GF', 0.02)]
    >>> Choice(count=60).iterations
    60
    """

    count: int = 5
    kind: Kind = "diverse"
    iterations: int = 50
    operators: tuple[str, ...] = CODES
    ratios: tuple[float, ...] = RATIOS
    floor: float = 0.0

    def __post_init__(self) -> None:
        check_whole("mutants", self.count, 0)
        check_whole("iterations", self.iterations)
        object.__setattr__(self, "iterations", max(self.iterations, self.count))
        object.__setattr__(self, "operators", _texts(self.operators))
        object.__setattr__(self, "ratios", _shares(self.ratios))
        if self.kind not in get_args(Kind):
            raise BadInput("kind", repr(self.kind), f"one of {', '.join(get_args(Kind))}")
        if not (is_number(self.floor) and 0 <= self.floor <= 1):
            raise BadInput("floor", repr(self.floor), "a share between 0 and 1")

    def pairs(self) -> list[tuple[str, float | None]]:
        """Operators and ratios, of which each mutant draws one pair; all operators are equally likely."""
        return [(text, ratio if _has_ratio(text) else None) for text in self.operators for ratio in self.ratios]

    @property
    def least(self) -> float:
        """Smallest share of the original's accuracy that a mutant must keep."""
        return max(self.floor, SIMILAR) if self.kind == "similar" else self.floor


@dataclass(frozen=True)
class MutantSpec:
    """Specification of a mutant, which together with the original and the seed determines it.

    Attributes:
        code: Code of the operator, with its parameters in brackets if they are not the usual ones.
        ratio: Share of weights or neurons, if the operator has one.
        number: Number of the mutant among all that were created.
        accuracy: Accuracy on the inputs by which mutants are compared.
    """

    code: str
    ratio: float | None
    number: int
    accuracy: float

    def patch(self, view: ModelView, seed: int) -> Patch:
        """Creates the patch of the mutant again."""
        return _operator(self.code, self.ratio).patch(view, generator_for(seed, "attack", "mutant", self.number))

    def __str__(self) -> str:
        return self.code if self.ratio is None else f"{self.code} {100 * self.ratio:.3g}%"


@dataclass(frozen=True, eq=False)
class Mutant:
    """A mutant with its features.

    Attributes:
        operator: Operator that created it.
        patch: Patch of the original.
        accuracy: Accuracy on the inputs by which mutants are compared.
        features: Features of its last hidden layer on these inputs.
        number: Number among all mutants that were created; with the seed, it decides the operator's random draws.
    """

    operator: Operator
    patch: Patch
    accuracy: float
    features: Representation
    number: int = 0

    @property
    def spec(self) -> MutantSpec:
        """Specification, without patch and features."""
        return MutantSpec(
            described(self.operator, self.operator.code, without=RATIO),
            self.operator.parameters().get(RATIO),
            self.number,
            self.accuracy,
        )


Evaluate = Callable[[Patch], tuple[Tensor, float]]
"""From a patch to the features of some inputs ``(n, d)`` and the accuracy on them; NaN if outputs are not finite."""


def chosen(view: ModelView, choice: Choice, evaluate: Evaluate, seed: int) -> tuple[Mutant, ...]:
    """Creates mutants and returns those of the choice.

    Args:
        view: View of the original.
        choice: Choice of mutants.
        evaluate: Function that runs a mutant.
        seed: Seed of everything random.
    """
    if not choice.count:
        return ()
    _, clean = evaluate(Patch(()))
    if isnan(clean):
        raise BadInput(
            "model",
            "outputs that are NaN or infinite",
            "a model with finite outputs, from which to create mutants",
            "Use data that it can answer, or attack it alone with mutants=0.",
        )
    candidates = _candidates(view, choice, evaluate, choice.least * clean, seed)
    if choice.kind != "diverse":
        return tuple(islice(candidates, choice.count))
    members: list[Mutant] = []
    alike = np.zeros((0, 0))
    for mutant in islice(candidates, choice.iterations):
        new = np.array([mutant.features.cka(member.features) for member in members])
        alike = np.block([[alike, new[:, None]], [new[None], np.zeros((1, 1))]]) if members else np.zeros((1, 1))
        members.append(mutant)
        if len(members) > choice.count:
            leaves = most_central(alike)
            members.pop(leaves)
            alike = np.delete(np.delete(alike, leaves, 0), leaves, 1)
    return tuple(members)


def most_central(alike: Any) -> int:
    """Index of the member with the highest PageRank: the most similar to all others. The last one among equals.

    >>> most_central([[0, 0.9, 0.2], [0.9, 0, 0.3], [0.2, 0.3, 0]])
    1
    """
    ranks = pagerank(alike)
    return int(len(ranks) - 1 - ranks[::-1].argmax())


def _candidates(view: ModelView, choice: Choice, evaluate: Evaluate, least: float, seed: int) -> Iterator[Mutant]:
    """Yields mutants without end, each by an operator and a ratio drawn at random."""
    rng, pairs = generator_for(seed, "attack", "operators"), choice.pairs()
    number = dropped = 0
    while True:
        code, ratio = pairs[int(rng.integers(len(pairs)))]
        operator = _operator(code, ratio)
        number += 1
        try:
            patch = operator.patch(view, generator_for(seed, "attack", "mutant", number))
            features, accuracy = evaluate(patch)
        except NotApplicable as reason:
            pairs = [pair for pair in pairs if pair[0] != code]
            if not pairs:
                raise BadInput("operators", choice.operators, "some that apply to this model", str(reason)) from None
            continue
        finite = not isnan(accuracy) and bool(features.isfinite().all())
        if finite and accuracy >= least:
            dropped = 0
            yield Mutant(operator, patch, accuracy, Representation.of(features), number)
            continue
        dropped += 1
        if dropped >= TRIES:
            raise _none_accepted(least, accuracy if finite else None)


def _none_accepted(least: float, last: float | None) -> BadInput:
    """Why no mutant is accepted; ``last`` is the accuracy of the last one, if its outputs are finite."""
    if last is None:
        return BadInput(
            "mutants",
            "NaN or infinite outputs",
            "mutants with finite outputs",
            f"{TRIES} in a row were dropped, the last for this reason. Lower the ratios, or use other operators.",
        )
    return BadInput(
        "floor",
        f"{least:.1%} accuracy",
        "an accuracy that mutants can reach",
        f"{TRIES} in a row did not; the last had {last:.1%}. Lower the ratios.",
    )


def _texts(operators: Any) -> tuple[str, ...]:
    """Returns operators in their shortest text, from text with commas or from several texts.

    >>> _texts("gf, NI(direction=incoming)")
    ('GF', 'NI(direction=incoming)')
    """
    given = (operators,) if isinstance(operators, str) or not isinstance(operators, Iterable) else tuple(operators)
    if not all(isinstance(text, str) for text in given):
        raise BadInput("operators", repr(operators), "codes such as GF, or text with parameters such as GF(sd=0.1)")
    own = [text for text in given if OWN_RATIO.search(text)]
    if own:
        raise BadInput("operators", repr(own[0]), "operators without a ratio", "Give it in ratios=.")
    return tuple(described(operator, operator.code) for operator in as_operators(given))


def _shares(ratios: Any) -> tuple[float, ...]:
    """Returns ratios from one or several."""
    shares = tuple(ratios) if isinstance(ratios, Iterable) else (ratios,)
    if not shares or not all(is_number(share) and 0 < share <= 1 for share in shares):
        raise BadInput("ratios", ratios if isinstance(ratios, tuple) else repr(ratios), "shares above 0, at most 1")
    return shares


def _has_ratio(text: str) -> bool:
    return RATIO in _operator(text).parameters()


def _operator(text: str, ratio: float | None = None) -> Operator:
    (operator,) = as_operators(text)
    return operator if ratio is None else replace(operator, **{RATIO: ratio})
