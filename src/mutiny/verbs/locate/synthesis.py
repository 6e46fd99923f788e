"""Synthesizes inputs on which suspects are more active: DeepFault's Algorithm 2, in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch

from mutiny.core.json_values import JsonObject, expect, from_plain, to_plain
from mutiny.models.activation_gradients import activation_gradients
from mutiny.models.capture import NeuronValue
from mutiny.models.device import placement
from mutiny.subjects.data.balls import NORMS, Norm, distances
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.data.nested import concatenate, to_device
from mutiny.verbs.locate.ascent import Ascent
from mutiny.verbs.locate.failures import truths
from mutiny.verbs.locate.model_under_test import ModelUnderTest
from mutiny.verbs.locate.spectrum import Ints

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Keeps = Callable[[Any, Any], Any]
"""Function from a batch of originals and their new inputs to one bool per input: does it keep its label?"""


@dataclass(frozen=True)
class DistanceSummary:
    """Mean and largest distance between originals and new inputs."""

    mean: float
    largest: float


@dataclass(frozen=True)
class SynthesisSummary:
    """Numbers about synthesized inputs, as JSON holds them.

    Attributes:
        count: Number of new inputs.
        failed: Number that fail.
        kept: Number that keep the label of their original.
        succeeded: Number that fail and keep their label.
        success_rate: Share that fail and keep their label.
        raised: Mean share of the suspects that are more active than before.
        distances: Distances from the originals by norm.
    """

    count: int
    failed: int
    kept: int
    succeeded: int
    success_rate: float
    raised: float
    distances: Mapping[str, DistanceSummary]


@dataclass(frozen=True, eq=False)
class Synthesis:
    """New inputs, and what the model does with them. JSON holds only `summary`, ``indices`` and ``settings``.

    Attributes:
        indices: Positions of the originals in the data, ``(n,)``.
        originals: Inputs before the change, in their structure; ``None`` if loaded from JSON.
        inputs: New inputs; ``None`` if loaded from JSON.
        failed: Which of the new inputs fail, ``(n,)``; all originals pass.
        kept: Which new inputs keep the label of their original, ``(n,)``; all, if no ``keeps`` was given.
        raised: Share of the suspects that are more active than before, ``(n,)``.
        distances: ``l1``, ``l2`` and ``linf`` distances from the originals, ``(n,)`` each.
        labels: Targets of the originals, one row each; ``None`` if they are not known.
        settings: Everything that decided the result, as plain values.
        loaded_summary: Summary in a synthesis loaded from JSON, whose arrays of outcomes and distances are empty.
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
    loaded_summary: SynthesisSummary | None = None

    @property
    def succeeded(self) -> Bools:
        """Which new inputs fail and keep their label, ``(n,)``."""
        return self.failed & self.kept

    @property
    def summary(self) -> SynthesisSummary:
        """Counts, rates and distances over all new inputs."""
        if self.loaded_summary is not None:
            return self.loaded_summary
        return SynthesisSummary(
            count=len(self),
            failed=int(self.failed.sum()),
            kept=int(self.kept.sum()),
            succeeded=int(self.succeeded.sum()),
            success_rate=float(self.succeeded.mean()),
            raised=float(self.raised.mean()),
            distances={
                str(norm): DistanceSummary(float(values.mean()), float(values.max()))
                for norm, values in self.distances.items()
            },
        )

    def __len__(self) -> int:
        return len(self.indices)

    def to_json(self) -> dict[str, Any]:
        """Plain values, without the inputs."""
        return {
            **to_plain(self.summary),
            "indices": self.indices.tolist(),
            "settings": to_plain(self.settings),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """A synthesis from what `to_json` returned. Every type is checked; nothing in it is run.

        Args:
            value: Plain values, as ``json.load`` gives them.

        Raises:
            BadInput: A value is missing or is not what was expected; the message names its place.
        """
        return cls.from_plain(value, "")

    @classmethod
    def from_plain(cls, value: object, where: str) -> Self:
        """Reads what `to_json` returned; ``where`` is its place in a larger JSON object."""
        given, summary = JsonObject(value, where), from_plain(SynthesisSummary, value, where)
        indices, settings = given.integers("indices"), given.get("settings", Mapping[str, Any])
        place = f"{where}." if where else ""
        expect(summary.count == len(indices) > 0, f"{place}count", summary.count, "the number of indices, at least 1")
        counts = (summary.succeeded, summary.failed, summary.kept, summary.count)
        fine = 0 <= summary.succeeded <= min(counts) and max(counts) == summary.count
        expect(fine, f"{place}succeeded", [*counts], "succeeded, failed, kept and count, in agreement")
        nested = any(isinstance(setting, (dict, list)) for setting in settings.values())
        expect(not nested, f"{place}settings", settings, "numbers, texts, true, false and null")
        none = np.empty(0, bool)
        return cls(
            indices=indices,
            originals=None,
            inputs=None,
            failed=none,
            kept=none,
            raised=np.empty(0),
            distances={},
            settings=settings,
            loaded_summary=summary,
        )


def joined(parts: Sequence[Synthesis]) -> Synthesis:
    """All inputs of several syntheses, with the settings of the first."""
    labels = [part.labels for part in parts if part.labels is not None]
    return replace(
        parts[0],
        indices=np.concatenate([part.indices for part in parts]),
        originals=concatenate([part.originals for part in parts]),
        inputs=concatenate([part.inputs for part in parts]),
        failed=np.concatenate([part.failed for part in parts]),
        kept=np.concatenate([part.kept for part in parts]),
        raised=np.concatenate([part.raised for part in parts]),
        distances={norm: np.concatenate([part.distances[norm] for part in parts]) for norm in NORMS},
        labels=np.concatenate(labels) if labels else None,
    )


def synthesis(
    tested: ModelUnderTest,
    indices: Ints,
    neurons: Mapping[str, Ints],
    ascent: Ascent,
    at: NeuronValue = "signal",
    keeps: Keeps | None = None,
) -> Synthesis:
    """Changes the inputs at ``indices`` so that the neurons become more active.

    Args:
        tested: Model with its inputs; those at ``indices`` should pass.
        indices: Positions of the inputs.
        neurons: Indices of neurons by layer.
        ascent: Step, distance and range of the change.
        at: Where activity is read, see `mutiny.models.capture.activations`.
        keeps: Function that says whether a new input keeps the label of its original.
    """
    ascent = ascent.fitted(tested.data)
    gradients, put = activation_gradients(tested.view, neurons, tested.call, at), placement(tested.model).put
    parts = []
    for start in range(0, len(indices), tested.pace.batch_size):
        where = indices[start : start + tested.pace.batch_size]
        old = put(tested.data.read(where))
        before = gradients(old, ascent.scale)
        new = ascent.moved(old, old, before.gradient)
        for _ in range(ascent.steps - 1):
            new = ascent.moved(old, new, gradients(new, ascent.scale).gradient)
        after = gradients(new, None)
        with torch.no_grad():
            failed = tested.failing(new, after.outputs, where).cpu().numpy()
            kept = np.ones(len(where), bool)
            if keeps is not None:
                kept = truths(keeps(old, new), len(where), "keeps", "the label of the original")
        raised = (after.values > before.values).double().mean(dim=1).cpu().numpy()
        old, new = to_device(old, "cpu"), to_device(new, "cpu")
        parts.append(Synthesis(where, old, new, failed, kept, raised, distances(old, new)))
    return replace(
        joined(parts),
        labels=None if unknown(tested.data.targets, tested.task) else tested.data.targets[indices],
        settings={**vars(ascent), "project": ascent.project is not None, "at": at, "keeps": keeps is not None},
    )
