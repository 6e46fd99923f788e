"""Monte-Carlo dropout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from mutiny.core.errors import NotApplicable
from mutiny.models.dropout import DropoutPasses
from mutiny.models.layout import laid_out
from mutiny.models.placement import placement
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
"""Numbers held at once: all samples of all outputs of a batch."""


@dataclass(frozen=True)
class McDropout(Selector):
    """How much the answers vary when dropout acts, as in training, while all else stays in evaluation mode.

    Dropout by modules or functions counts, also in place; that inside attention and recurrent layers stays off, see
    `mutiny.models.dropout`. Regression always takes the variance.

    Args:
        samples: passes with masks of their own.
        measure: ``variation-ratio``: share of passes that do not name the class most often named; ``entropy``: of the
            mean probabilities; ``mutual-information``: that entropy less the mean of each pass's own (BALD);
            ``variance``: of the probabilities, added up over the classes.
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
        outputs = evidence.outputs()[0].numel()  # also says what is wrong if the model fails without dropout
        put = placement(model).put
        probe = put(evidence.pool.first(PROBE_INPUTS))
        passes = DropoutPasses(model, probe, evidence.forward, evidence.seed)
        self._check(passes, evidence)
        measure = MEASURES[self.measure] if isinstance(task, Classification) else variance
        size = max(1, min(evidence.pace.batch_size, ANSWERS // (self.samples * outputs)))
        scores = np.empty(evidence.size)  # one block: many small ones would tear the heap to pieces
        with laid_out(model, evidence.pace.layout):
            for at in range(0, evidence.size, size):
                batch = put(evidence.pool.read(slice(at, min(at + size, evidence.size))))
                said = passes.outputs(batch, at, self.samples)
                if isinstance(task, Classification):
                    answers = torch.stack([task.probabilities(one) for one in said])
                else:
                    answers = torch.stack([one.reshape(len(one), -1) for one in said])
                scores[at : at + size] = measure(answers).cpu()
        return scores

    def _check(self, passes: DropoutPasses, evidence: Evidence) -> None:
        """Says what dropout there is, and what of it cannot act."""
        still = f"dropout inside {', '.join(passes.unreached)} cannot be switched on alone and stays off"
        if not passes.calls:
            why = still if passes.unreached else "the model has no dropout layer that acts (with a rate above 0)"
            raise NotApplicable(f"{why}; use deepgini or, with several originals, disagreement")
        if passes.unreached:
            evidence.note(f"{self.code}: {still}")
        if not passes.replays:
            evidence.note(f"{self.code} runs the whole model for each of {self.samples} samples")
