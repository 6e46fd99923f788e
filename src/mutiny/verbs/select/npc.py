"""NPC: neuron path coverage, by the neurons that decided for a class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.core.errors import NotApplicable
from mutiny.models.layout import laid_out
from mutiny.models.placement import placement
from mutiny.models.read_points import ReadPoint
from mutiny.models.relevance import explaining
from mutiny.subjects.tasks import Classification
from mutiny.verbs.select.base import Order, Scores, Selector, as_scores
from mutiny.verbs.select.evidence import Evidence, Split

Bools = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.int64]
AT_ONCE = 64
"""Inputs per backward pass, which keeps every layer's activations."""


@dataclass(frozen=True)
class Npc(Selector):
    """Covers how alike decisions are to those on training data; a decision is the path of the neurons it rests on.

    The path of an input holds, in each layer, the neurons most relevant for the predicted class that together have a
    share ``alpha`` of all positive relevance. Paths of correctly classified training inputs are clustered class by
    class; the abstract path of a cluster holds the neurons in at least a share ``beta`` of its paths. An input covers,
    for each cluster of its predicted class, one of several equal ranges of Jaccard similarity to the abstract path.
    First come inputs that cover something new, by how much; with one cluster that is one input for each range, and
    the rest, by far the most, follows at random.

    Relevance is the gradient times the activation, which is LRP-0, see `mutiny.models.relevance`, for it works with
    any architecture. The authors use another rule of LRP (the b-rule, which treats positive and negative parts apart)
    that knows no skip connections: paths differ. Their code also keeps one neuron too many in abstract paths. The
    output layer is not part of a path here, since it only says which class it was.

    Args:
        alpha: share of the positive relevance that a path holds.
        beta: share of a cluster's paths that hold a neuron of its abstract path.
        clusters: for each class.
        buckets: ranges of similarity.
        sample: training inputs of each class that are looked at, at most.
        by: ``coverage``, or ``similarity``: the input least like the abstract paths of its class comes first.
        layers: where to read; every hidden layer if not given.
    """

    code: ClassVar[str] = "npc"
    title: ClassVar[str] = "neuron path coverage"
    source: ClassVar[str] = "Xie et al., NPC, TOSEM 2022"

    alpha: float = 0.7
    beta: float = 0.6
    clusters: int = 1
    buckets: int = 100
    sample: int = 200
    by: Literal["coverage", "similarity"] = "coverage"
    layers: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        self._within("alpha", 0, 1)
        self._within("beta", 0, 1)
        self._within("clusters", 1, 100)
        self._within("buckets", 1, 10_000)
        self._within("sample", 1, 1_000_000)
        self._one_of("by", ("coverage", "similarity"))

    def score(self, evidence: Evidence) -> Scores:
        """The order of coverage, or one minus the similarity to the nearest abstract path."""
        points = self._points(evidence)
        known = self._abstract_paths(evidence, points)
        predicted = evidence.predicted()
        shared, joined = (np.full((evidence.size, self.clusters), value) for value in (-1, 1))
        for at, paths, _ in self._paths(evidence, "pool", np.arange(evidence.size), points):
            for label in np.unique(predicted[at]):
                these = predicted[at] == label
                both, either = overlap(paths[these], known[label])
                shared[at[these], : len(known[label])], joined[at[these], : len(known[label])] = both, either
        if self.by == "similarity":
            return np.asarray(1 - np.maximum(shared / joined, 0).max(axis=1))
        return as_scores(covering(self._elements(shared, joined, predicted), evidence.rng(self.code)), evidence.size)

    def _elements(self, shared: Whole, joined: Whole, predicted: Whole) -> Whole:
        """What each input covers: a number for each class, cluster and bucket, or -1, ``(n, clusters)``."""
        buckets = -(-shared * self.buckets // joined)  # rounded up, and exactly
        path = predicted[:, None] * self.clusters + np.arange(self.clusters)
        return np.where(shared < 0, -1, path * (self.buckets + 1) + buckets)

    def _points(self, evidence: Evidence) -> tuple[ReadPoint, ...]:
        wanted = self.layers or evidence.layers
        hidden = [name for name in evidence.all_read_points.signals if not evidence.view.layer(name).output]
        if not wanted and not hidden:
            raise NotApplicable("a path needs a hidden layer, and the model has none that can be seen")
        return evidence.read_points(self.code, "all", "neuron", own=wanted or hidden)

    def _abstract_paths(self, evidence: Evidence, points: Sequence[ReadPoint]) -> list[Bools]:
        """For each class its abstract paths, ``(clusters, neurons)``; fewer where there are not so many paths."""
        labels, rng = evidence.labels(), evidence.rng(self.code, "train")
        each = [rng.permutation(np.flatnonzero(labels == label))[: self.sample] for label in range(evidence.classes)]
        packed: list[list[npt.NDArray[np.uint8]]] = [[] for _ in each]
        for at, paths, said in self._paths(evidence, "train", np.concatenate(each), points):
            for label in np.unique(labels[at]):
                packed[label].append(np.packbits(paths[(labels[at] == label) & (said == label)], axis=1))
        neurons, found = sum(point.count("neuron") for point in points), []
        for rows in packed:
            paths = np.unpackbits(np.concatenate(rows or [np.empty((0, 0), np.uint8)]), axis=1, count=neurons) == 1
            found.append(abstract(paths, self.clusters, self.beta, int(rng.integers(2**31))))
        missing = [str(label) for label, paths in enumerate(found) if not len(paths)]
        if len(missing) == len(found):
            raise NotApplicable("the model classified no training input correctly of those looked at")
        if missing:
            evidence.note(f"npc knows no path of the classes {', '.join(missing)}: no training input is correct")
        return found

    def _paths(
        self, evidence: Evidence, split: Split, indices: Whole, points: Sequence[ReadPoint]
    ) -> Iterator[tuple[Whole, Bools, Whole]]:
        """Batch by batch: positions, paths ``(n, neurons)`` and predicted classes."""
        task = evidence.task
        assert isinstance(task, Classification)  # `rank` has looked
        data, put = evidence.data(split), placement(evidence.model).put
        step = min(evidence.pace.batch_size, AT_ONCE)
        with (
            explaining(evidence.view, points, lambda said: decisive(said, task), evidence.forward) as explain,
            laid_out(evidence.model, evidence.pace.layout),
        ):
            for start in range(0, len(indices), step):
                at = indices[start : start + step]
                found = explain(put(data.read(at)))
                paths = [critical(relevance, self.alpha).cpu().numpy() for relevance in found.points]
                said = task.probabilities(found.outputs).argmax(dim=1).cpu().numpy()
                yield at, np.concatenate(paths, axis=1), said


def decisive(outputs: Tensor, task: Classification) -> Tensor:
    """The number that decided for the predicted class: its logit, ``(n,)``.

    Probabilities say what logits are but for a common shift, so there it is the logit less the mean of all.

    >>> decisive(torch.tensor([[1.0, 3.0, 2.0], [0.0, -1.0, -2.0]]), Classification(3, "logits")).tolist()
    [3.0, 0.0]
    """
    if task.outputs == "probabilities":
        logs = task.probabilities(outputs).clamp_min(torch.finfo(torch.float32).tiny).log()
        scores = logs - logs.mean(dim=1, keepdim=True)
    elif outputs.ndim == 1 or outputs.shape[1] == 1:
        scores = outputs.reshape(-1, 1) * outputs.new_tensor([-1.0, 1.0])
    else:
        scores = outputs
    return scores.max(dim=1).values


def critical(relevance: Tensor, alpha: float) -> Tensor:
    """Marks the most relevant neurons that together reach a share of all positive relevance, ``(n, neurons)``.

    >>> critical(torch.tensor([[5.0, -9.0, 2.0, 3.0], [0.0, -1.0, -2.0, 0.0]]), 0.7).tolist()
    [[True, False, False, True], [False, False, False, False]]
    """
    ranked, order = relevance.double().clamp_min(0).sort(dim=1, descending=True, stable=True)
    before = ranked.cumsum(dim=1) - ranked
    enough = alpha * ranked.sum(dim=1, keepdim=True)
    taken = (before < enough * (1 - 1e-12)) & (ranked > 0)  # 0.7 of 10 is a little more than 7
    return torch.zeros_like(taken).scatter(1, order, taken)


def abstract(paths: Bools, clusters: int, beta: float, seed: int) -> Bools:
    """Clusters paths ``(n, neurons)`` and keeps, of each cluster, the neurons in at least ``beta`` of its paths.

    >>> abstract(np.array([[True, True, False], [True, False, False]]), 1, 0.6, 0).tolist()
    [[True, False, False]]
    """
    k = min(clusters, len(np.unique(paths, axis=0)))
    if k < 2:
        cluster = np.zeros(len(paths), np.int64)
    else:
        from sklearn.cluster import KMeans  # takes long to import

        cluster = KMeans(k, n_init=10, random_state=seed).fit_predict(paths.astype(np.float32))
    kept = [paths[cluster == one].mean(axis=0) >= beta - 1e-12 for one in range(k)]
    return np.array(kept).reshape(k, paths.shape[1])


def overlap(paths: Bools, others: Bools) -> tuple[Whole, Whole]:
    """Neurons that two paths share, and that either holds, ``(n, others)`` each; two empty paths are alike, 1 of 1.

    >>> overlap(np.array([[True, True, False]]), np.array([[True, False, True], [True, True, False]]))
    (array([[1, 2]]), array([[3, 2]]))
    """
    shared = np.rint(paths.astype(np.float32) @ others.T.astype(np.float32)).astype(np.int64)
    joined = paths.sum(axis=1)[:, None] + others.sum(axis=1)[None, :] - shared
    empty = joined == 0
    return np.where(empty, 1, shared), np.where(empty, 1, joined)


def covering(elements: Whole, rng: np.random.Generator) -> Order:
    """Inputs that cover something new, those that cover most first, until nothing is left to cover.

    Args:
        elements: what each input covers, -1 for nothing, ``(n, k)``.
        rng: says which of equals comes first.

    >>> covering(np.array([[1, -1], [2, -1], [0, 1]]), np.random.default_rng(0)).tolist()
    [2, 1]
    """
    covered, chosen = {-1}, []
    left = rng.permutation(len(elements)).tolist()
    rows = elements.tolist()
    for gain in range(elements.shape[1], 0, -1):  # gains only fall: after a round none is as large
        later = []
        for position in left:
            new = set(rows[position]) - covered
            if len(new) == gain:
                covered |= new
                chosen.append(position)
            elif new:
                later.append(position)
        left = later
    return np.array(chosen, np.int64)
