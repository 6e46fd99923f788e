"""Judges on one fault: one forward pass over the test set serves all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mutiny.core.records import FaultJudgement
from mutiny.faults.evaluation import Runner
from mutiny.models import Patch
from mutiny.verbs.assess.judges.answers import NetworkAnswers, answering
from mutiny.verbs.assess.judges.base import Judge


@dataclass(frozen=True, eq=False)
class Judging:
    """Judges besides the paired test, and the test set on which they judge faults.

    Attributes:
        judges: The judges.
        split: Name of the test set.
    """

    judges: tuple[Judge, ...]
    split: str
    _clean: dict[int, NetworkAnswers] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.judges)

    def check(self, runner: Runner, original: int) -> None:
        """Raises `BadInput` if a judge cannot be used with an original.

        Args:
            runner: Originals and their data.
            original: Number of the original.
        """
        with answering(runner, Patch(()), original, self.split) as clean:
            for judge in self.judges:
                judge.check(clean, f"original {original + 1}")

    def judged(
        self, runner: Runner, patch: Patch, original: int
    ) -> tuple[npt.NDArray[np.float32], tuple[FaultJudgement, ...]]:
        """How much worse a fault answers each input, ``(n,)``, and what the judges say about it.

        Args:
            runner: Originals and their data.
            patch: Patch of the original.
            original: Number of the original.
        """
        clean = self._answers_of(runner, original)
        with answering(runner, patch, original, self.split) as faulty:
            change = faulty.worse_than(clean)
            return change, self._said(clean, faulty)

    def _said(self, clean: NetworkAnswers, faulty: NetworkAnswers) -> tuple[FaultJudgement, ...]:
        said: list[FaultJudgement] = []
        for judge in self.judges:
            judgement = judge.decide(clean, faulty)
            reason = None if judgement.outcome.decided else judgement.reason
            said.append(FaultJudgement(judge.label, judgement.outcome, reason, judgement.values or None))
        return tuple(said)

    def _answers_of(self, runner: Runner, original: int) -> NetworkAnswers:
        """Answers of an original; only those of the last one are kept, because outputs may be large."""
        if original not in self._clean:
            with answering(runner, Patch(()), original, self.split) as clean:
                _ = clean.outputs
            self._clean.clear()
            self._clean[original] = clean
        return self._clean[original]
