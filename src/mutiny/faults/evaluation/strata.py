"""Strata: inputs that are about equally likely to change their answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.models.layers import Indices

SHARES = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""Boundaries between the strata of right answers: shares of them, the least sure first."""
CHANCES = (1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95)
"""Boundaries between strata of inputs by the probability that their answer changes."""
LEAST_CHANCE, MOST_CHANCE = 1e-6, 0.999
"""Limits of expected rates of changed answers."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Strata:
    """Disjoint groups of inputs, each in random order.

    Attributes:
        members: Positions of the inputs of each stratum.
        right: Whether the original answers the inputs of a stratum right.
        rate: Expected rate of changed answers in each stratum, ``(strata,)``; 0 if nothing is known of the fault.
    """

    members: tuple[Indices, ...]
    right: npt.NDArray[np.bool_]
    rate: Floats

    @classmethod
    def by_sureness(cls, sure: npt.NDArray[np.float32], right: npt.NDArray[np.bool_], priority: Floats) -> Strata:
        """All inputs by how sure an original is of its answer: right answers in groups, and all wrong ones together.

        Args:
            sure: Distance of each input from the nearest other answer, ``(n,)``.
            right: Whether each answer is right, ``(n,)``.
            priority: Random number of each input, ``(n,)``; inputs with small ones are drawn first.
        """
        inside = np.flatnonzero(right)
        inside = inside[np.argsort(sure[inside], kind="stable")]
        groups = np.split(inside, np.unique([round(share * len(inside)) for share in SHARES]))
        groups.append(np.flatnonzero(~right))
        return cls._of(groups, right, np.zeros(len(right)), priority)

    @classmethod
    def by_chance(cls, inputs: Indices, chance: Floats, right: npt.NDArray[np.bool_], priority: Floats) -> Strata:
        """Some inputs by how probable it is that a fault changes their answer, right and wrong answers apart.

        Args:
            inputs: Positions of the inputs.
            chance: Probability of each input that its answer changes, ``(n,)``.
            right: Whether each answer is right, ``(n,)``.
            priority: As in `by_sureness`.
        """
        place = np.searchsorted(CHANCES, chance[inputs]) + (len(CHANCES) + 1) * ~right[inputs]
        groups = [inputs[place == each] for each in range(2 * (len(CHANCES) + 1))]
        return cls._of(groups, right, np.clip(chance, LEAST_CHANCE, MOST_CHANCE), priority)

    @classmethod
    def _of(cls, groups: Sequence[Indices], right: npt.NDArray[np.bool_], chance: Floats, priority: Floats) -> Strata:
        groups = [group[np.argsort(priority[group], kind="stable")] for group in groups if len(group)]
        return cls(
            tuple(groups),
            np.array([right[group[0]] for group in groups], bool),
            np.array([chance[group].mean() for group in groups], float),
        )

    @property
    def sizes(self) -> Ints:
        """Number of inputs of each stratum."""
        return np.array([len(group) for group in self.members], np.int64)

    def between(self, start: Ints, stop: Ints) -> tuple[Indices, Ints]:
        """Positions of the members from ``start`` to ``stop`` of each stratum, ascending, and their strata."""
        parts = [group[a:b] for group, a, b in zip(self.members, start, stop, strict=True)]
        positions = np.concatenate([np.zeros(0, np.int64), *parts])
        order = np.argsort(positions, kind="stable")
        return positions[order], np.repeat(np.arange(len(parts)), [len(part) for part in parts])[order]
