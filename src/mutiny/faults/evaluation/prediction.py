"""Predicts outputs of a mutant instance for inputs that it was not run on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.models.layers import Indices

RIDGE = 1e-4
MOST_NUMBERS = 25_000_000
"""Most numbers that a memory keeps: 100 MB."""
MIN_MOVES = 100
"""Fewest moves from which a typical size is estimated."""
KnownAnswers = tuple[Indices, Tensor]
"""Indices of inputs, and the condensed outputs for them."""


def linear_map(clean: Tensor, seen: list[KnownAnswers]) -> Tensor:
    """Predicted outputs for all inputs, ``(n, q)``: a linear map of the original's outputs and of their positive part.

    A small change of weights affects the outputs of all inputs in a similar way: on MNIST the residuals are a quarter
    to a half of those that the original's own outputs leave.
    """
    indices, answers = finite_rows(seen)
    answers = answers.double()
    if len(indices) <= 2 * (2 * clean.shape[1] + 1):
        return clean.clone()
    known, square = _normal_equations(clean[indices])
    plain, positive, constant = torch.linalg.solve(square, known.T @ answers).float().tensor_split((clean.shape[1], -1))
    # The three parts are applied separately, which avoids a copy of the features of all inputs. Columns are ten times
    # faster than rows here, see `mutiny.subjects.inference.condensed_outputs.by_columns`.
    columns = clean.T
    return torch.addmm(constant.T, plain.T, columns).addmm_(positive.T, columns.clamp(min=0)).T


def leverages(clean: Tensor, answers: Tensor) -> npt.NDArray[np.float64]:
    """How much the known output of each input decides its own prediction by `linear_map`, ``(k,)`` from 0 to 1.

    Args:
        clean: Outputs of the original for these inputs, ``(k, q)``.
        answers: Known outputs, ``(k, q)``; an input with non-finite ones is not used by the map.
    """
    finite = answers.isfinite().all(dim=1)
    found = np.zeros(len(clean))
    if finite.any():
        known, square = _normal_equations(clean[finite])
        found[finite.numpy()] = (known * torch.linalg.solve(square, known.T).T).sum(dim=1).numpy()
    return found


def _normal_equations(clean: Tensor) -> tuple[Tensor, Tensor]:
    """Features of inputs, ``(k, p)``, and their regularized matrix of products, ``(p, p)``."""
    known = _features(clean).double()
    square = known.T @ known
    square += RIDGE * square.diagonal().mean() * torch.eye(len(square), dtype=torch.float64)
    return known, square


def finite_rows(seen: list[KnownAnswers]) -> tuple[Tensor, Tensor]:
    """All known inputs and outputs, without non-finite outputs: ``(k,)`` and ``(k, q)``."""
    indices, answers = torch.from_numpy(np.concatenate([i for i, _ in seen])), torch.cat([rows for _, rows in seen])
    finite = answers.isfinite().all(dim=1)
    return indices[finite], answers[finite]


def _features(rows: Tensor) -> Tensor:
    return torch.cat((rows, rows.clamp(min=0), rows.new_ones((len(rows), 1))), dim=1)


@dataclass(frozen=True)
class Interpolation:
    """Inputs with known outputs at a larger and a smaller strength; the original counts as strength 0.

    Attributes:
        indices: Indices of the inputs, ``(k,)``.
        low: Outputs at the nearest smaller strength, ``(k, q)``.
        high: Outputs at the nearest larger strength, ``(k, q)``.
        way: Position of the requested strength between the two, ``(k,)`` in (0, 1).
    """

    indices: Indices
    low: Tensor
    high: Tensor
    way: npt.NDArray[np.float64]

    @property
    def interpolated(self) -> Tensor:
        """Outputs at the requested strength by linear interpolation, ``(k, q)``."""
        return self.low + (self.high - self.low) * torch.from_numpy(self.way).float()[:, None]

    @property
    def curve(self) -> npt.NDArray[np.float64]:
        """Relative error that curvature can cause, ``(k,)``: 0 at both ends."""
        return self.way * (1 - self.way)


@dataclass(frozen=True)
class MemoryEntry:
    """Answers that one mutant adds to a memory.

    Attributes:
        strength: Strength of the mutant.
        trusted: Whether tails may still be extrapolated afterwards.
        looseness: Looseness of the `AnswerMemory` afterwards.
        checks: Number of answers that were checked at random without a surprise.
        seen: Inputs and their condensed outputs, by original and repetition.
    """

    strength: float
    trusted: bool
    looseness: float
    checks: int
    seen: Mapping[tuple[int, int], KnownAnswers]

    @property
    def numbers(self) -> int:
        """Number of output values that it holds."""
        return sum(rows.numel() for _, rows in self.seen.values())


def nearest_entries(pieces: Sequence[MemoryEntry], strength: float | None) -> tuple[MemoryEntry, ...]:
    """The entries, with the answers farthest from ``strength`` dropped so that at most `MOST_NUMBERS` remain."""
    left, kept = MOST_NUMBERS, list(pieces)
    for place in sorted(range(len(pieces)), key=lambda each: abs(pieces[each].strength - (strength or 0.0))):
        left -= pieces[place].numbers
        if left < 0:
            kept[place] = replace(pieces[place], seen={})
    return tuple(kept)


@dataclass
class AnswerMemory:
    """Outputs of the instances of one operator at the strengths tried so far, on one set of inputs.

    With a fixed seed an instance changes almost continuously with the strength. Outputs at a smaller and a larger
    strength therefore predict those in between, and a search needs fewer inputs with each strength that it tries.

    Attributes:
        trusted: Whether no sample has contradicted the extrapolation of tails.
        looseness: Error of interpolated margins so far, relative to the expected error.
        start: Initial strata of the instances of each original.
    """

    trusted: bool = True
    looseness: float = 1.0
    start: dict[int, npt.NDArray[np.int8]] = field(default_factory=dict)
    _checks: dict[float, int] = field(default_factory=dict)
    _seen: dict[tuple[int, int], list[tuple[float, Indices, Tensor]]] = field(default_factory=dict)

    @classmethod
    def of(cls, pieces: Sequence[MemoryEntry], start: dict[int, npt.NDArray[np.int8]] | None = None) -> AnswerMemory:
        """A memory from the entries of earlier mutants, in the order in which they were judged."""
        memory = cls(start={} if start is None else start)
        for piece in pieces:
            memory.trusted, memory.looseness = piece.trusted, piece.looseness
            memory.check(piece.strength, piece.checks)
            for (original, repetition), seen in piece.seen.items():
                memory.add(original, repetition, piece.strength, [seen])
        return memory

    def piece(self, strength: float) -> MemoryEntry:
        """The entry of the mutant at ``strength``."""
        seen = {key: (where, rows) for key, all_ in self._seen.items() for at, where, rows in all_ if at == strength}
        return MemoryEntry(strength, self.trusted, self.looseness, self._checks.get(strength, 0), seen)

    def add(self, original: int, repetition: int, strength: float, seen: list[KnownAnswers]) -> None:
        """Adds the outputs of one instance."""
        if not seen:
            return
        indices = np.concatenate([part for part, _ in seen])
        self._seen.setdefault((original, repetition), []).append(
            (strength, indices, torch.cat([rows for _, rows in seen]))
        )

    def check(self, strength: float | None, count: int) -> None:
        """Adds ``count`` answers that were checked at random without a surprise in strata that are extrapolated."""
        if strength is not None:
            self._checks[strength] = self._checks.get(strength, 0) + count

    def checked(self, strength: float | None) -> int:
        """Number of checked answers at this strength or a larger one, since a larger strength means larger changes."""
        return 0 if strength is None else sum(count for at, count in self._checks.items() if at >= strength)

    def learn(self, moves: npt.NDArray[np.float64]) -> None:
        """Adapts `looseness` to the errors of interpolated margins."""
        if len(moves) >= MIN_MOVES:
            large = float(np.quantile(np.clip(moves, 0, 100), 0.99))
            self.looseness = float(np.clip(self.looseness * large / 3, 0.02, 10.0))

    def between(self, original: int, repetition: int, strength: float, clean: Tensor) -> Interpolation | None:
        """Known outputs of one instance around ``strength``; ``None`` if there are none at a larger strength.

        The original (strength 0) is used below if no smaller strength is known.
        """
        known = sorted(self._seen.get((original, repetition), []), key=lambda entry: entry[0])
        above = [entry for entry in reversed(known) if entry[0] > strength]
        if not above:
            return None
        place = np.full(len(clean), -1, np.int64)
        for _, where, _ in above:
            place[where] = 0
        indices = np.flatnonzero(place == 0)
        place[indices] = np.arange(len(indices))
        low, high = clean[indices].clone(), clean[indices].clone()
        low_at, high_at = np.zeros(len(indices)), np.ones(len(indices))
        for value, where, rows in above:  # the nearest strength comes last and overwrites the others
            at = place[where]
            high[torch.from_numpy(at)], high_at[at] = rows, value
        for value, where, rows in (entry for entry in known if entry[0] < strength):
            at = place[where]
            low[torch.from_numpy(at[at >= 0])], low_at[at[at >= 0]] = rows[torch.from_numpy(at >= 0)], value
        return Interpolation(indices, low, high, (strength - low_at) / (high_at - low_at))


def residual_scale(lead: npt.NDArray[np.float32], residual: npt.NDArray[np.float32]) -> tuple[float, float]:
    """Typical size of the residuals of predicted margins, ``a + b * |lead|`` with positive ``a`` and ``b``.

    >>> a, b = residual_scale(np.array([1, 2, 3], np.float32), np.array([0.2, -0.3, 0.4], np.float32))
    >>> round(a, 3), round(b, 3)
    (0.125, 0.125)
    """
    size, miss = np.abs(lead).astype(float), np.abs(residual).astype(float)
    if len(size) < 3 or np.ptp(size) == 0:
        return max(1e-6, 1.25 * float(miss.mean()) if len(miss) else 1.0), 1e-3
    slope = max(0.0, float(np.cov(size, miss)[0, 1] / size.var(ddof=1)))
    start = max(0.0, float(miss.mean() - slope * size.mean()))
    return max(1e-6, 1.25 * start, 0.05 * float(miss.mean())), max(1e-3, 1.25 * slope)
