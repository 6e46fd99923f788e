"""Disagreement among several answers to the same input, from several originals or repeated passes of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from mutiny.core.errors import NotApplicable
from mutiny.subjects.tasks import Classification
from mutiny.verbs.select.base import BOTH, Scores, Selector
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.uncertainty.entropy import entropy

CHUNK = 4096
"""Inputs that are compared at once."""


def variation_ratio(answers: Tensor) -> Tensor:
    """Share of answers that differ from the most frequent class, ``(n,)``, from ``(answers, n, classes)``.

    >>> variation_ratio(torch.tensor([[[0.9, 0.1]], [[0.6, 0.4]], [[0.2, 0.8]], [[0.7, 0.3]]])).tolist()
    [0.25]
    """
    named = answers.argmax(dim=2)
    return (named != named.mode(dim=0).values).double().mean(dim=0)


def predictive_entropy(answers: Tensor) -> Tensor:
    """Entropy of the mean answer in bits, ``(n,)``, from ``(answers, n, classes)``."""
    return entropy(answers.double().mean(dim=0))


def mutual_information(answers: Tensor) -> Tensor:
    """Entropy of the mean answer minus mean entropy of the answers, ``(n,)``; zero if all answers are equal (BALD).

    >>> mutual_information(torch.tensor([[[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]]])).tolist()
    [0.0, 1.0]
    """
    return (predictive_entropy(answers) - entropy(answers).mean(dim=0)).clamp(min=0)


def variance(answers: Tensor) -> Tensor:
    """Sum of the variances of all outputs, ``(n,)``, from ``(answers, n, outputs)``."""
    return answers.double().var(dim=0, correction=0).sum(dim=1)


MEASURES: Mapping[str, Callable[[Tensor], Tensor]] = {
    "votes": variation_ratio,
    "entropy": predictive_entropy,
    "mutual-information": mutual_information,
}


@dataclass(frozen=True)
class Disagreement(Selector):
    """Disagreement of several originals that were trained in the same way (a deep ensemble).

    For regression, it is the sum over outputs of the standard deviation over originals.

    Args:
        measure: ``votes``: share of originals that differ from the most frequent class; ``entropy``: entropy of the
            mean probabilities; ``mutual-information``: that entropy minus the mean entropy of each original (BALD).
    """

    code: ClassVar[str] = "disagreement"
    title: ClassVar[str] = "disagreement of originals"
    source: ClassVar[str] = "Lakshminarayanan et al., Deep Ensembles, NeurIPS 2017; Houlsby et al., BALD, 2011"
    tasks: ClassVar[tuple[type, ...]] = BOTH

    measure: Literal["votes", "entropy", "mutual-information"] = "votes"

    def __post_init__(self) -> None:
        self._one_of("measure", tuple(MEASURES))

    def score(self, evidence: Evidence) -> Scores:
        """The measure over the originals' answers."""
        originals = len(evidence.models)
        if originals < 2:
            raise NotApplicable(
                "it compares several originals and there is one: give models=[...] that were trained in the same way, "
                "or use deepgini"
            )
        every = [evidence.outputs("pool", original) for original in range(originals)]
        scores = []
        for at in range(0, evidence.size, CHUNK):
            some = [outputs[at : at + CHUNK] for outputs in every]
            if isinstance(evidence.task, Classification):
                answers = torch.stack([evidence.task.probabilities(outputs) for outputs in some])
                scores.append(MEASURES[self.measure](answers))
            else:
                values = torch.stack([outputs.reshape(len(outputs), -1) for outputs in some]).double()
                scores.append(values.std(dim=0, correction=0).sum(dim=1))
        return torch.cat(scores).numpy()
