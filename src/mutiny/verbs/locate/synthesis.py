"""Inputs that exercise suspects: DeepFault's Algorithm 2, in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from mutiny.core.json_values import to_plain
from mutiny.models.activation_gradients import activation_gradients
from mutiny.models.capture import NeuronValue
from mutiny.models.placement import placement
from mutiny.subjects.data.balls import NORMS, Norm, distances
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.data.nested import concatenate, to_device
from mutiny.verbs.locate.ascent import Ascent as Ascent  # part of what this module offers
from mutiny.verbs.locate.failures import truths
from mutiny.verbs.locate.model_under_test import ModelUnderTest
from mutiny.verbs.locate.spectrum import Ints

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Keeps = Callable[[Any, Any], Any]
"""From a batch of originals and of what became of them to one truth value per input: has it kept its label?"""


@dataclass(frozen=True, eq=False)
class Synthesis:
    """New inputs and what became of them.

    Attributes:
        indices: of the originals in the data, ``(n,)``.
        originals: the inputs before, in their structure.
        inputs: the inputs after.
        failed: which of the new inputs fail, ``(n,)``; all originals passed.
        kept: which still have the label of their original, ``(n,)``; all if no oracle told. If one of the others fails,
            that shows nothing.
        raised: share of the suspects that say more than before, ``(n,)``.
        distances: ``l1``, ``l2`` and ``linf`` between old and new, ``(n,)`` each.
        labels: targets of the originals, one row each; ``None`` if they are not known.
        settings: how they were made.
    """

    indices: Ints
    originals: Any
    inputs: Any
    failed: Bools
    kept: Bools
    raised: Floats
    distances: Mapping[Norm, Floats]
    labels: npt.NDArray[Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def succeeded(self) -> Bools:
        """Which fail and have kept their label, ``(n,)``."""
        return self.failed & self.kept

    def __len__(self) -> int:
        return len(self.indices)

    def to_json(self) -> dict[str, Any]:
        """Plain values: how many, what became of them, and how they were made; the inputs themselves are left out."""
        return {
            "count": len(self),
            "failed": int(self.failed.sum()),
            "kept": int(self.kept.sum()),
            "succeeded": int(self.succeeded.sum()),
            "success_rate": float(self.succeeded.mean()),
            "raised": float(self.raised.mean()),
            "distances": {
                str(norm): {"mean": float(far.mean()), "largest": float(far.max())}
                for norm, far in self.distances.items()
            },
            "indices": self.indices.tolist(),
            "settings": to_plain(self.settings),
        }


def synthesis(
    case: ModelUnderTest,
    indices: Ints,
    neurons: Mapping[str, Ints],
    ascent: Ascent,
    of: NeuronValue = "signal",
    keeps: Keeps | None = None,
) -> Synthesis:
    """Changes the inputs at ``indices`` so that the neurons say more.

    Args:
        case: the model and its inputs; those at ``indices`` should pass.
        indices: which inputs.
        neurons: numbers of neurons by layer.
        ascent: how.
        of: what a neuron says, see `mutiny.models.capture.activations`.
        keeps: tells whether a new input still has the label of its original.
    """
    ascent = ascent.fitted(case.data)
    gradients, put = activation_gradients(case.view, neurons, case.call, of), placement(case.model).put
    old, new, failed, kept, raised, apart = [], [], [], [], [], []
    for at in range(0, len(indices), case.pace.batch_size):
        where = indices[at : at + case.pace.batch_size]
        start = put(case.data.read(where))
        first = found = gradients(start, ascent.scale)
        now = ascent.moved(start, start, found.gradient)
        for _ in range(ascent.steps - 1):
            found = gradients(now, ascent.scale)
            now = ascent.moved(start, now, found.gradient)
        after = gradients(now, None)
        with torch.no_grad():
            failed.append(case.failing(now, after.outputs, where).cpu().numpy())
            kept.append(_kept(keeps, start, now, len(where)))
        raised.append((after.values > first.values).double().mean(dim=1).cpu().numpy())
        old.append(to_device(start, "cpu"))
        new.append(to_device(now, "cpu"))
        apart.append(distances(old[-1], new[-1]))
    return Synthesis(
        indices=indices,
        originals=concatenate(old),
        inputs=concatenate(new),
        failed=np.concatenate(failed),
        kept=np.concatenate(kept),
        raised=np.concatenate(raised),
        distances={norm: np.concatenate([one[norm] for one in apart]) for norm in NORMS},
        labels=None if unknown(case.data.targets, case.task) else case.data.targets[indices],
        settings=_settings(ascent, of, keeps),
    )


def _settings(ascent: Ascent, of: NeuronValue, keeps: Keeps | None) -> dict[str, Any]:
    return {**vars(ascent), "project": ascent.project is not None, "at": of, "keeps": keeps is not None}


def _kept(keeps: Keeps | None, originals: Any, inputs: Any, rows: int) -> Bools:
    if keeps is None:
        return np.ones(rows, bool)
    return truths(keeps(originals, inputs), rows, "keeps", "the label of the original")
