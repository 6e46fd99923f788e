"""Multimodal likelihood-based surprise adequacy (MLSA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mutiny.core.claims import own_warnings
from mutiny.verbs.select.base import BOTH, Scores
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.surprise.base import Grouped, Surprise, by_group
from mutiny.verbs.select.surprise.rows import Floats, Rows, variances

if TYPE_CHECKING:
    from sklearn.mixture import GaussianMixture

SAMPLE = 5000
"""Largest number of training inputs that a mixture is fitted to; drawn at random."""
RIDGE = 1e-6
"""Added to the variances of a mixture, relative to the mean variance, so that no component collapses."""
PER_COMPONENT = 2
"""Smallest number of points per component of a mixture."""


@dataclass(frozen=True)
class Mlsa(Surprise):
    """Negative log likelihood of an input's activations under a Gaussian mixture of its predicted class.

    Mixtures are fitted to at most 5,000 random training inputs of a class. Regression has one group.

    Args:
        components: Number of components of each mixture; fewer if a class has fewer than two inputs for each.
        max_features: Largest number of units per class, those that vary most; each component has a covariance of them.
    """

    code: ClassVar[str] = "mlsa"
    title: ClassVar[str] = "multimodal likelihood surprise"
    source: ClassVar[str] = "Kim, Yoo, Multimodal Surprise Adequacy, AST 2021"
    tasks: ClassVar[tuple[type, ...]] = BOTH

    components: int = 3
    max_features: int = 300

    def __post_init__(self) -> None:
        super().__post_init__()
        self._within("components", 1, 1000)
        self._within("max_features", 1, 10**9)

    def surprise(self, train: Grouped, pool: Grouped, evidence: Evidence) -> Scores:
        """``-log likelihood`` of each input."""
        units = train.traces.shape[1]
        if units > self.max_features:
            evidence.note(f"{self.code} keeps the {self.max_features} of {units} units that vary most in each class")

        def judge(group: int, seen: Rows, new: Rows) -> Scores | None:
            spread = variances(seen)
            varies = np.argsort(-spread, kind="stable")[: min(self.max_features, int((spread > 0).sum()))]
            if not len(varies):
                return None
            rng = evidence.rng(self.code, group)
            points = seen.only(np.sort(varies)).sample(SAMPLE, rng).held()
            mixture = fitted_mixture(points, self.components, int(rng.integers(2**31)))
            return np.concatenate([-mixture.score_samples(block) for block in new.only(np.sort(varies))])

        return by_group(train, pool, judge)


def fitted_mixture(points: Floats, components: int, seed: int) -> GaussianMixture:
    """A Gaussian mixture with full covariances, fitted to points ``(n, d)``.

    >>> points = np.array([[0.0], [0.2], [9.0], [9.2]])
    >>> fitted_mixture(points, 2, seed=0).means_.round(3).ravel().tolist() in ([0.1, 9.1], [9.1, 0.1])
    True
    """
    from sklearn.exceptions import ConvergenceWarning  # slow to import
    from sklearn.mixture import GaussianMixture

    count = max(1, min(components, len(points) // PER_COMPONENT))
    ridge = max(RIDGE * float(points.var(axis=0).mean()), float(np.finfo(np.float64).tiny))
    mixture = GaussianMixture(count, reg_covar=ridge, random_state=seed)
    with own_warnings("ignore", ConvergenceWarning):  # a fit that did not converge is still a density
        return mixture.fit(points)
