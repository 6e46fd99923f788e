"""Similarity of two models by the features of their last hidden layers (linear CKA)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Representation:
    """Centered features of some inputs, with the norm that every comparison needs.

    Attributes:
        features: Features ``(n, d)``; each column has mean 0.
        size: Frobenius norm of the ``d x d`` products of columns, which equals that of the ``n x n`` products of rows.
    """

    features: Tensor
    size: float

    @classmethod
    def of(cls, features: Tensor) -> Representation:
        """Centers features ``(n, d)``."""
        values = features.double()
        centered = values - values.mean(dim=0)
        n, d = centered.shape
        products = centered.T @ centered if d <= n else centered @ centered.T  # both have the same norm
        return cls(centered, float(torch.linalg.matrix_norm(products)))

    def cka(self, other: Representation) -> float:
        """Linear centered kernel alignment, 0 to 1 (Kornblith et al., 2019): ``|Y'X|^2 / (|X'X| |Y'Y|)``.

        Features that are the same for all inputs have similarity 0, even to themselves.

        >>> x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
        >>> a, b = Representation.of(x), Representation.of(7 * x[:, [2, 0, 1]] + 1)
        >>> round(a.cka(b), 6)
        1.0
        """
        if not (self.size and other.size):
            return 0.0
        if other is self:
            return 1.0
        mine, theirs = self.features, other.features
        if len(mine) < mine.shape[1]:  # |Y'X|^2 is also the sum of (X X') * (Y Y'), elementwise, which is smaller here
            shared = float(((mine @ mine.T) * (theirs @ theirs.T)).sum())
        else:
            shared = float((theirs.T @ mine).square().sum())
        return min(1.0, shared / (self.size * other.size))
