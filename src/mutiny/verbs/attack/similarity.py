"""How alike are two models, by what their last hidden layers say to the same inputs?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Representation:
    """Features of some inputs, centred, with the norm of their products: what every comparison needs.

    Attributes:
        features: ``(n, d)``, each column with mean 0.
        size: Frobenius norm of the ``d x d`` products of columns, which is that of the ``n x n`` products of rows.
    """

    features: Tensor
    size: float

    @classmethod
    def of(cls, features: Tensor) -> Representation:
        """Centres features ``(n, d)``."""
        values = features.double()
        centred = values - values.mean(dim=0)
        return cls(centred, float(torch.linalg.matrix_norm(_smaller(centred, centred))))

    def cka(self, other: Representation) -> float:
        """Linear centred kernel alignment, 0 to 1 (Kornblith et al., 2019): ``|Y'X|^2 / (|X'X| |Y'Y|)``.

        Features that do not differ between inputs are like nothing, not even themselves: 0.

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
        if len(mine) < mine.shape[1]:  # |Y'X|^2 is the sum of all products of what rows have in common
            shared = float(((mine @ mine.T) * (theirs @ theirs.T)).sum())
        else:
            shared = float((theirs.T @ mine).square().sum())
        return min(1.0, shared / (self.size * other.size))


def _smaller(one: Tensor, other: Tensor) -> Tensor:
    return one.T @ other if one.shape[1] <= len(one) else one @ other.T
