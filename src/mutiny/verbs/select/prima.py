"""PRIMA: reactions to mutants of the model and of the input, ranked by a classifier trained on labeled inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mutiny.core.errors import NotApplicable
from mutiny.faults.parsing import as_operators
from mutiny.models import Forward
from mutiny.subjects.data.benign_mutations import Benign
from mutiny.subjects.inference.passes import rows
from mutiny.subjects.tasks import Classification
from mutiny.verbs.select.base import Scores, Selector
from mutiny.verbs.select.evidence import Evidence, Split
from mutiny.verbs.select.kill_rate import PRIMA, at_ratio, mutants_of

Call = Callable[[Any], Tensor]
PIXELS = ("noise", "reverse", "black", "white", "shuffle")
NOISE = 0.1
"""Standard deviation of the noise, if black is 0 and white is 1."""
BINS = 10
"""Bins of the histogram of cosine distances."""
ROUNDING = 1e-6
"""Largest change of a probability that counts as no change."""


@dataclass(frozen=True)
class Prima(Selector):
    """Likelihood that an input is misclassified, learned from how mutants of the model answer labeled inputs.

    For each operator, 15 numbers describe the effect of its mutants on an input, see `MutantFeatures`. A gradient
    boosting classifier (scikit-learn's; PRIMA uses XGBoost) learns from them which training inputs the model
    misclassifies. Up to half of the sample are misclassified inputs, so the method does not apply to a model without
    errors on its training data. Changes of probabilities below 1e-6 count as none, because rounding would decide how
    such inputs rank.

    Args:
        mutants: Number of mutants of the model, spread evenly over GF, NEB, NAI and WS.
        ratio: Share of the weights or neurons that each mutant changes.
        sample: Number of labeled training inputs to learn from.
        inputs: Also mutate inputs, for images: add noise to each cell of a grid, or invert, blacken, whiten or shuffle
            its pixels. This takes five passes over the pool for each cell.
        grid: Cells along each side; 16 in PRIMA, which are 2 x 2 pixels in images of 32 x 32.
    """

    code: ClassVar[str] = "prima"
    title: ClassVar[str] = "PRIMA"
    source: ClassVar[str] = "Wang et al., PRIMA, ICSE 2021"

    mutants: int = 100
    ratio: float = 0.1
    sample: int = 2000
    inputs: bool = False
    grid: int = 16

    def __post_init__(self) -> None:
        self._within("mutants", 1, 30_000)
        self._within("ratio", 0, 1)
        self._within("sample", 10, 10_000_000)
        self._within("grid", 1, 1000)

    def score(self, evidence: Evidence) -> Scores:
        """The classifier's log-odds that the model is wrong."""
        from sklearn.ensemble import HistGradientBoostingClassifier  # slow to import

        wrong = evidence.predicted("train") != evidence.labels()
        chosen = both_kinds(wrong, self.sample, evidence.rng("prima", "sample"))
        if len(np.unique(wrong[chosen])) < 2:
            raise NotApplicable(
                "it learns from errors on the training data, and the model makes none; use prima-kill"
                if not wrong.any()
                else "it learns from correct answers on the training data, and the model gives none"
            )
        evidence.note(f"{self.code} learns from {wrong[chosen].sum()} wrong of {len(chosen)} training inputs")
        ranker = HistGradientBoostingClassifier(early_stopping=False, random_state=0)
        ranker.fit(self.features(evidence, "train", chosen), wrong[chosen])
        scores: Scores = ranker.decision_function(self.features(evidence, "pool", np.arange(evidence.size)))
        return scores

    def features(self, evidence: Evidence, split: Split, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Effects of mutants on some inputs of a split, ``(n, 15 * operators)``."""
        task = evidence.task
        if not isinstance(task, Classification):
            raise NotApplicable("it needs class probabilities")
        clean = evidence.probabilities(split)[torch.from_numpy(indices)].double()
        by_operator: dict[int, MutantFeatures] = {}
        for operator, mutant in self._mutants(evidence):
            if operator not in by_operator:
                by_operator[operator] = MutantFeatures(clean)
            features, start = by_operator[operator], 0
            with mutant as call:
                for outputs in rows(call, evidence.model, evidence.data(split), evidence.pace, indices):
                    features.add(start, task.probabilities(outputs.cpu()).double())
                    start += len(outputs)
        return np.concatenate([by_operator[operator].as_array() for operator in sorted(by_operator)], axis=1)

    def _mutants(self, evidence: Evidence) -> Iterator[tuple[int, AbstractContextManager[Call]]]:
        """The number of the operator, and a context in which the mutant can be called."""
        operators = at_ratio(as_operators(PRIMA), self.ratio)
        model, forward = evidence.model, evidence.forward
        for operator, patch in mutants_of(evidence, operators, self.mutants, self.code):
            yield operator, patch.applied(model, forward)
        if self.inputs:
            for mutation in cell_mutations(evidence, self.grid):
                call = partial(_after, mutation, forward, model)
                yield len(operators) + PIXELS.index(mutation.kind), nullcontext(call)


class MutantFeatures:
    """PRIMA's features of each input for one operator, accumulated mutant by mutant.

    Args:
        clean: Probabilities of the unchanged model, ``(n, classes)``.
    """

    def __init__(self, clean: Tensor) -> None:
        self.clean, self.predicted = clean, clean.argmax(dim=1)
        self._sums = np.zeros((len(clean), 3))
        self._bins = np.zeros((len(clean), BINS), np.int16)
        self._votes = np.zeros(tuple(clean.shape), np.int16)

    def add(self, start: int, probabilities: Tensor) -> None:
        """Adds the probabilities that a mutant gives for the inputs from ``start`` on, ``(k, classes)``."""
        here = np.arange(start, start + len(probabilities))
        clean, broken = self.clean[here], probabilities.isnan().any(dim=1)
        cosine = F.cosine_similarity(clean, probabilities, dim=1)
        distance = (1 - cosine).clamp(0, 1).masked_fill(broken, 1)
        moved = (clean.amax(dim=1) - probabilities.amax(dim=1)).abs().masked_fill(broken, 1)
        # Inputs that no mutant affects are tied. Rounding would break these ties at random, and because trees see only
        # the order of a feature's values, the classifier would learn splits between 0 and 3e-16.
        unaffected = (clean - probabilities).abs().amax(dim=1) <= ROUNDING
        distances, moves = (change.masked_fill(unaffected, 0).numpy() for change in (distance, moved))
        named = probabilities.argmax(dim=1)
        killed = (named != self.predicted[here]) | broken
        self._sums[here] += np.stack([killed.double().numpy(), distances, moves], axis=1)
        self._bins[here, np.minimum(distances * BINS, BINS - 1).astype(np.int64)] += 1
        whole = ~broken.numpy()
        self._votes[here[whole], named.numpy()[whole]] += 1

    def as_array(self) -> npt.NDArray[np.float32]:
        """The features, ``(n, 15)``.

        Number of kills, sum of cosine distances, sum of changes of the largest probability, votes for the most frequent
        other class, number of other classes, and a histogram of the cosine distances with ten bins.
        """
        votes = self._votes.copy()
        votes[np.arange(len(votes)), self.predicted.numpy()] = 0
        others = np.stack([votes.max(axis=1), (votes > 0).sum(axis=1)], axis=1)
        return np.concatenate([self._sums, others, self._bins], axis=1).astype(np.float32)


def both_kinds(wrong: npt.NDArray[np.bool_], size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Sorted positions of ``size`` random inputs, up to half of them wrong; more if there are too few correct ones.

    >>> both_kinds(np.array([True, False, False, True, True]), 2, np.random.default_rng(0)).size
    2
    """
    bad, good = (rng.permutation(np.flatnonzero(kind)) for kind in (wrong, ~wrong))
    bad = bad[: max(size // 2, size - len(good))]
    return np.sort(np.concatenate([bad, good[: size - len(bad)]]))


@dataclass(frozen=True, eq=False)
class CellMutation:
    """A mutation of one cell of a grid over images, the same for all images.

    Attributes:
        kind: One of `PIXELS`.
        where: The cell in ``(n, channels, height, width)``.
        black: Smallest value of each channel, or of all channels, ``(channels, 1, 1)`` or ``(1, 1, 1)``.
        white: Largest value, of the same shape.
        noise: Noise for each pixel, ``(channels, rows, columns)``.
        order: Order of the shuffled pixels, ``(rows * columns,)``.
    """

    kind: str
    where: tuple[slice, ...]
    black: Tensor
    white: Tensor
    noise: Tensor
    order: Tensor

    def __call__(self, images: Tensor) -> Tensor:
        """The images with the cell changed."""
        changed = images.clone()
        cell, black, white, noise = images[self.where], *(t.to(images) for t in (self.black, self.white, self.noise))
        if self.kind == "noise":
            changed[self.where] = torch.clamp(cell + noise * (white - black), black, white)
        elif self.kind == "reverse":
            changed[self.where] = black + white - cell
        elif self.kind == "shuffle":
            changed[self.where] = cell.flatten(2)[:, :, self.order.to(images.device)].reshape(cell.shape)
        else:
            changed[self.where] = black if self.kind == "black" else white
        return changed


def cell_mutations(evidence: Evidence, grid: int) -> Iterator[CellMutation]:
    """All mutations of all cells of the pool's images."""
    shape = tuple(getattr(evidence.pool.first(1), "shape", ()))
    if len(shape) != 4:
        raise NotApplicable("it mutates images of shape (n, channels, height, width); use prima without inputs=true")
    levels = Benign().fitted(evidence.pool).value_range or (0.0, 1.0)
    black, white = (torch.tensor(level).reshape(-1, 1, 1) for level in levels)
    down, across = (np.linspace(0, side, min(grid, side) + 1).astype(int).tolist() for side in shape[2:])
    for kind in PIXELS:
        for (top, bottom), (left, right) in product(pairwise(down), pairwise(across)):
            rng = evidence.rng("prima", kind, top, left)
            noise = torch.from_numpy(rng.standard_normal((shape[1], bottom - top, right - left)) * NOISE)
            order = torch.from_numpy(rng.permutation((bottom - top) * (right - left)))
            where = (slice(None), slice(None), slice(top, bottom), slice(left, right))
            yield CellMutation(kind, where, black, white, noise, order)


def _after(mutation: CellMutation, forward: Forward, model: nn.Module, images: Tensor) -> Tensor:
    return forward(model, mutation(images))
