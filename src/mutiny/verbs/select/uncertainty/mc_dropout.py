"""Monte-Carlo dropout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from mutiny.core.errors import NotApplicable
from mutiny.models.device import placement
from mutiny.models.dropout import DropoutPasses
from mutiny.models.layout import laid_out
from mutiny.models.view import PROBE_INPUTS
from mutiny.subjects.tasks import Classification
from mutiny.verbs.select.base import BOTH, Scores, Selector
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.uncertainty.disagreement import MEASURES as OF_CLASSES
from mutiny.verbs.select.uncertainty.disagreement import variance, variation_ratio

MEASURES: Mapping[str, Callable[[Tensor], Tensor]] = {
    "variation-ratio": variation_ratio,
    "entropy": OF_CLASSES["entropy"],
    "mutual-information": OF_CLASSES["mutual-information"],
    "variance": variance,
}
ANSWERS = 2**24
"""Numbers in memory at once: all samples of all outputs of a batch."""


@dataclass(frozen=True)
class McDropout(Selector):
    """Variation of the answers with dropout active, as in training, while everything else is in evaluation mode.

    Dropout modules and functions are active, also in-place ones. Dropout inside attention and recurrent layers stays
    off, see `mutiny.models.dropout`. For regression, the measure is always the variance.

    Args:
        samples: Number of passes, each with its own dropout masks.
        measure: ``variation-ratio``: share of passes that differ from the most frequent class; ``entropy``: entropy of
            the mean probabilities; ``mutual-information``: that entropy minus the mean entropy of each pass (BALD);
            ``variance``: sum over classes of the variance of the probability.
    """

    code: ClassVar[str] = "mc-dropout"
    title: ClassVar[str] = "Monte-Carlo dropout"
    source: ClassVar[str] = "Gal and Ghahramani, Dropout as a Bayesian Approximation, ICML 2016; NSS, Table 5"
    tasks: ClassVar[tuple[type, ...]] = BOTH

    samples: int = 200
    measure: Literal["variation-ratio", "entropy", "mutual-information", "variance"] = "variation-ratio"

    def __post_init__(self) -> None:
        self._within("samples", 2, 100_000)
        self._one_of("measure", tuple(MEASURES))

    def score(self, evidence: Evidence) -> Scores:
        """The measure over all samples, batch by batch."""
        task, model = evidence.task, evidence.model
        outputs = evidence.outputs()[0].numel()  # raises a clear error if the model fails without dropout
        put = placement(model).put
        probe = put(evidence.pool.first(PROBE_INPUTS))
        passes = DropoutPasses(model, probe, evidence.forward, evidence.seed)
        self._check(passes, evidence)
        measure = MEASURES[self.measure] if isinstance(task, Classification) else variance
        size = max(1, min(evidence.pace.batch_size, ANSWERS // (self.samples * outputs)))
        scores = np.empty(evidence.size)  # allocated once, because many small arrays would fragment the heap
        with laid_out(model, evidence.pace.layout):
            for at in range(0, evidence.size, size):
                batch = put(evidence.pool.read(slice(at, min(at + size, evidence.size))))
                samples = passes.outputs(batch, at, self.samples)
                if isinstance(task, Classification):
                    answers = torch.stack([task.probabilities(outputs) for outputs in samples])
                else:
                    answers = torch.stack([outputs.reshape(len(outputs), -1) for outputs in samples])
                scores[at : at + size] = measure(answers).cpu()
        return scores

    def _check(self, passes: DropoutPasses, evidence: Evidence) -> None:
        """Notes dropout that cannot be active; raises `NotApplicable` if none can."""
        inactive = f"dropout inside {', '.join(passes.unreached)} cannot be switched on alone and stays off"
        if not passes.calls:
            reason = inactive if passes.unreached else "the model has no dropout layer with a rate above 0"
            raise NotApplicable(f"{reason}; use deepgini or, with several originals, disagreement")
        if passes.unreached:
            evidence.note(f"{self.code}: {inactive}")
        if not passes.replays:
            evidence.note(f"{self.code} runs the whole model for each of {self.samples} samples")
