"""Internal Gini: DeepGini applied to a hidden layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from mutiny.models.read_points import Units
from mutiny.verbs.select.base import BOTH, Scores, Selector
from mutiny.verbs.select.evidence import Evidence

Normalize = Literal["softmax", "sum"]


def gini(features: Tensor, normalize: Normalize) -> Tensor:
    """``1 - sum(q ** 2)`` of features that are normalized to a distribution ``q``, ``(n,)`` from ``(n, d)``.

    Args:
        features: Real numbers, ``(n, d)``.
        normalize: ``softmax`` over the features, or magnitudes divided by their ``sum``; a row of zeros is uniform.

    >>> gini(torch.tensor([[3.0, -1.0], [0.0, 0.0]]), "sum").tolist()
    [0.375, 0.5]
    """
    values = features.double()
    if normalize == "softmax":
        return 1 - values.softmax(dim=1).square().sum(dim=1)
    sizes = values.abs()
    sizes = torch.where(sizes.amax(dim=1, keepdim=True) > 0, sizes, torch.ones_like(sizes))
    return 1 - (sizes / sizes.sum(dim=1, keepdim=True)).square().sum(dim=1)


@dataclass(frozen=True)
class InternalGini(Selector):
    """Gini impurity of the last feature layer instead of the output. NSS shows that it is no better than chance.

    The paper does not say how activations are normalized to a distribution. The default is softmax, which DeepGini
    applies to the last layer.

    Args:
        normalize: ``softmax`` over all units, or ``sum``: magnitudes divided by their sum.
        layers: Layers to read; the last feature layer before the classifier head by default.
        units: ``unit``: every number of the layer; ``neuron``: one number per channel.
    """

    code: ClassVar[str] = "internal-gini"
    title: ClassVar[str] = "internal Gini"
    source: ClassVar[str] = "NSS, section 3.1 and Table 1"
    tasks: ClassVar[tuple[type, ...]] = BOTH

    normalize: Normalize = "softmax"
    layers: tuple[str, ...] | None = None
    units: Units = "unit"

    def __post_init__(self) -> None:
        self._one_of("normalize", ("softmax", "sum"))
        self._one_of("units", ("unit", "neuron"))

    def score(self, evidence: Evidence) -> Scores:
        """One minus the sum of squared shares."""
        points = evidence.read_points(self.code, "encoder", self.units, own=self.layers)
        scores, at = np.empty(evidence.size), 0  # allocated once, because many small arrays would fragment the heap
        for batch in evidence.read("pool", points, self.units):
            scores[at : at + len(batch.features)] = gini(batch.features, self.normalize).cpu()
            at += len(batch.features)
        return scores
