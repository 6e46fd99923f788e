"""The inputs that changed most, and the confusions that became more or less frequent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mutiny.verbs.compare.answers import ComparedAnswers
from mutiny.verbs.compare.pairs import Pairs

LISTED = 20
"""Inputs, and confusions, that are listed."""
Change = Literal["broken", "repaired", "other"]


@dataclass(frozen=True)
class ChangedInput:
    """An input whose answer or score changed.

    Attributes:
        id: Identifier of the input.
        change: ``broken``, ``repaired``, or ``other`` if both answers are wrong.
        before: Answer or score of A.
        after: Answer or score of B.
        target: The right answer; ``None`` if unknown.
        size: How much the probability of the right answer, or the score, changed; ``None`` if unknown.
    """

    id: str
    change: Change
    before: str
    after: str
    target: str | None = None
    size: float | None = None


@dataclass(frozen=True)
class ConfusionChange:
    """How often a class is taken for another one, before and after.

    Attributes:
        target: The right answer.
        answer: The wrong answer.
        a: Number of inputs for which A says so.
        b: Number of inputs for which B says so.
    """

    target: str
    answer: str
    a: int
    b: int

    @property
    def difference(self) -> int:
        """B minus A."""
        return self.b - self.a


def most_changed(pairs: Pairs, sign: int = 1) -> tuple[ChangedInput, ...]:
    """The inputs that changed most: broken answers first, each kind by how far the network's opinion moved.

    Args:
        pairs: Answers of A and B.
        sign: -1 if lower scores are better.
    """
    gains = sign * pairs.differences
    a, b = pairs.a, pairs.b
    if a.scores is not None and b.scores is not None:
        order = np.argsort(-np.abs(gains), kind="stable")[:LISTED]
        places, sizes = [place for place in order.tolist() if gains[place]], b.scores - a.scores
    else:
        changed = gains != 0
        if a.said is not None and b.said is not None:
            changed |= np.array([mine != theirs for mine, theirs in zip(a.said, b.said, strict=True)], bool)
        known = a.confidence is not None and b.confidence is not None
        sizes = b.confidence - a.confidence if known else np.full(len(pairs), np.nan)  # type: ignore[operator]
        rank = np.array([0, 2, 1])[(gains + 1).astype(np.int64)]  # broken, repaired, other
        order = np.lexsort((-np.nan_to_num(np.abs(sizes)), rank))
        places = [place for place in order.tolist() if changed[place]][:LISTED]
    kinds: tuple[Change, ...] = ("broken", "other", "repaired")
    return tuple(
        ChangedInput(
            a.ids[place],
            kinds[int(np.sign(gains[place])) + 1],
            _said(a, place),
            _said(b, place),
            None if pairs.targets is None else pairs.targets[place],
            None if np.isnan(sizes[place]) else float(sizes[place]),
        )
        for place in places
    )


def confusion_changes(pairs: Pairs) -> tuple[ConfusionChange, ...]:
    """Confusions whose number differs, the largest differences first; empty if answers are unknown."""
    targets = pairs.targets
    if targets is None or pairs.a.said is None or pairs.b.said is None:
        return ()
    counts = [
        Counter((target, said) for target, said in zip(targets, side, strict=True) if target != said)
        for side in (pairs.a.said, pairs.b.said)
    ]
    changes = [ConfusionChange(*cell, counts[0][cell], counts[1][cell]) for cell in counts[0] | counts[1]]
    different = [change for change in changes if change.difference]
    return tuple(sorted(different, key=lambda change: (-abs(change.difference), change.target, change.answer))[:LISTED])


def _said(answers: ComparedAnswers, place: int) -> str:
    if answers.scores is not None:
        return f"{answers.scores[place]:.4g}"
    if answers.said is not None:
        return answers.said[place]
    assert answers.correct is not None
    return "right" if answers.correct[place] else "wrong"
