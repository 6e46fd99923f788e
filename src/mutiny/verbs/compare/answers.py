"""The answers of one network to a set of inputs, computed or read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Texts = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ComparedAnswers:
    """What one network answers to each input: right or wrong, or a score.

    Attributes:
        ids: Identifier of each input.
        correct: Whether each answer is right, ``(n,)``; ``None`` for scores.
        scores: Score of each input, ``(n,)``; ``None`` for answers that are right or wrong.
        said: The answer to each input; ``None`` if only its correctness is known.
        targets: The right answer to each input; ``None`` if unknown.
        confidence: Probability of the right answer according to the network, ``(n,)``; ``None`` if unknown.
        columns: Further properties of the inputs by name, to slice by.
        others: Names of all columns that could be kept.
        digest: Hash of all outputs, bit for bit; empty if outputs are not known.
    """

    ids: Texts
    correct: Bools | None = None
    scores: Floats | None = None
    said: Texts | None = None
    targets: Texts | None = None
    confidence: Floats | None = None
    columns: Mapping[str, Texts] = field(default_factory=dict)
    others: Texts = ()
    digest: str = ""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def mean(self) -> float:
        """Share of right answers, or mean score."""
        return self.mean_of(np.ones(len(self), bool))

    def mean_of(self, which: Bools) -> float:
        """The same over some inputs."""
        values = self.scores if self.correct is None else self.correct
        assert values is not None
        return float(values[which].mean())

    def reordered(self, order: npt.NDArray[np.int64]) -> ComparedAnswers:
        """The answers to the inputs at ``order``, in that order."""
        places = order.tolist()

        def texts(values: Texts | None) -> Texts | None:
            return None if values is None else tuple(values[place] for place in places)

        return replace(
            self,
            ids=tuple(self.ids[place] for place in places),
            correct=None if self.correct is None else self.correct[order],
            scores=None if self.scores is None else self.scores[order],
            said=texts(self.said),
            targets=texts(self.targets),
            confidence=None if self.confidence is None else self.confidence[order],
            columns={name: tuple(values[place] for place in places) for name, values in self.columns.items()},
        )
