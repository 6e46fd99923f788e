"""A deliberately weak test set: the easy inputs of the strong one. MUFF, section II-B."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import BadInput
from mutiny.faults.evaluation import CleanPass


@dataclass(frozen=True)
class WeakSet:
    """Which test inputs the weak set keeps. The papers give no thresholds; these are mutiny's.

    Classification keeps the inputs on which the originals are most confident (mean of the largest class probability).

    For regression MUFF removes inputs with a *low* mean loss or a low standard deviation of the loss, and that is the
    default. The purpose beside it, that "corner-case inputs, possibly useful to kill a mutant, are removed", is rather
    the contrary: ``regression="high-loss"`` does that. Measured on two subjects, what is left then notices *weaker*
    mutants than the whole test set, for a mean over small losses moves sooner; so it is not weak.

    Args:
        share: Share of the test inputs in the weak set.
        confidence: if given, keep inputs with at least this mean confidence instead (classification only).
        regression: ``"low-loss"`` or ``"high-loss"``: which inputs are removed.
    """

    share: float = 0.5
    confidence: float | None = None
    regression: str = "low-loss"

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise BadInput("weak share", self.share, "a share between 0 and 1")
        if self.confidence is not None and not 0 < self.confidence <= 1:
            raise BadInput("weak confidence", self.confidence, "a probability")
        if self.regression not in ("high-loss", "low-loss"):
            raise BadInput("weak regression", repr(self.regression), '"low-loss" or "high-loss"')

    def choose(self, passes: Sequence[CleanPass]) -> npt.NDArray[np.int64]:
        """Positions in the test set, ascending, from the originals' clean passes over it."""
        size = passes[0].outcome.inputs
        keep = max(1, round(self.share * size))
        confidences = [p.confidence for p in passes if p.confidence is not None]
        if confidences:
            mean = np.mean(confidences, axis=0)
            if self.confidence is not None:
                kept = np.flatnonzero(mean >= self.confidence)
                if not 0 < len(kept) < size:
                    raise BadInput(
                        "weak confidence",
                        self.confidence,
                        "a threshold that keeps some of the test inputs, not all",
                        f"It keeps {len(kept)} of {size}; the median confidence is {np.median(mean):.4f}.",
                    )
                return kept
            return np.sort(np.argsort(-mean, kind="stable")[:keep])
        losses = np.array([p.shares for p in passes])
        ranks = [_ranks(losses.mean(axis=0)), *([_ranks(losses.std(axis=0))] if len(passes) > 1 else [])]
        if self.regression == "high-loss":
            return np.sort(np.argsort(np.max(ranks, axis=0), kind="stable")[:keep])
        return np.sort(np.argsort(-np.min(ranks, axis=0), kind="stable")[:keep])


def _ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")
