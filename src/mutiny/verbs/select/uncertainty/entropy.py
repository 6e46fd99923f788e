"""Softmax entropy."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import ClassVar

import torch
from torch import Tensor

from mutiny.verbs.select.base import Scores, Selector
from mutiny.verbs.select.evidence import Evidence


def entropy(probabilities: Tensor) -> Tensor:
    """``-sum p log2 p`` over the last axis, in bits; ``0 log 0`` is 0.

    >>> entropy(torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    nats: Tensor = torch.special.entr(probabilities.double()).sum(dim=-1)
    return nats / log(2)


@dataclass(frozen=True)
class Entropy(Selector):
    """Entropy of the class probabilities, in bits."""

    code: ClassVar[str] = "entropy"
    title: ClassVar[str] = "softmax entropy"
    source: ClassVar[str] = "Weiss and Tonella, Simple Techniques Work Surprisingly Well, ISSTA 2022"

    def score(self, evidence: Evidence) -> Scores:
        """``-sum(p log2(p))``."""
        return entropy(evidence.probabilities()).numpy()
