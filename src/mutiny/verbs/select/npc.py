"""NPC: neuron path coverage, over the neurons that are relevant for a decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.core.errors import NotApplicable
from mutiny.models.device import placement
from mutiny.models.layout import laid_out
from mutiny.models.read_points import ReadPoint
from mutiny.models.relevance import explaining
from mutiny.subjects.tasks import Classification
from mutiny.verbs.select.base import Order, Scores, Selector, as_scores
from mutiny.verbs.select.evidence import Evidence, Split

Bools = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.int64]
AT_ONCE = 64
"""Inputs per backward pass; few, because it keeps the activations of every layer."""


@dataclass(frozen=True)
class Npc(Selector):
    """Covers levels of similarity between the decision paths of inputs and those of training data.

    The path of an input consists, in each layer, of the neurons most relevant for the predicted class that together
    have a share ``alpha`` of all positive relevance. Paths of correctly classified training inputs are clustered per
    class; the abstract path of a cluster consists of the neurons in at least a share ``beta`` of its paths. An input
    covers, for each cluster of its predicted class, one of several equal ranges of Jaccard similarity to the abstract
    path. Inputs that cover something new come first, those that cover most at the start. With one cluster, this is one
    input per range. All other inputs, by far the most, follow in random order.

    Relevance is the gradient times the activation (LRP-0, see `mutiny.models.relevance`), which works with any
    architecture. The authors use another LRP rule (the b-rule, which treats positive and negative parts separately)
    that does not support skip connections, so paths differ. Their code also keeps one neuron too many in abstract
    paths. The output layer is not part of a path here, because it only shows the predicted class.

    Args:
        alpha: Share of the positive relevance that the neurons of a path have.
        beta: Share of a cluster's paths in which a neuron of the abstract path occurs.
        clusters: Number of clusters per class.
        buckets: Number of ranges of similarity.
        sample: Largest number of training inputs per class.
        by: ``coverage``, or ``similarity``: inputs least similar to the abstract paths of their class first.
        layers: Layers to read; every hidden layer by default.
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
        """Elements that each input covers, ``(n, clusters)``: a number per class, cluster and bucket, or -1."""
        buckets = -(-shared * self.buckets // joined)  # rounded up, in exact integer arithmetic
        path = predicted[:, None] * self.clusters + np.arange(self.clusters)
        return np.where(shared < 0, -1, path * (self.buckets + 1) + buckets)

    def _points(self, evidence: Evidence) -> tuple[ReadPoint, ...]:
        wanted = self.layers or evidence.layers
        hidden = [name for name in evidence.all_read_points.signals if not evidence.view.layer(name).output]
        if not wanted and not hidden:
            raise NotApplicable("a path needs a hidden layer, and none was found in the model")
        return evidence.read_points(self.code, "all", "neuron", own=wanted or hidden)

    def _abstract_paths(self, evidence: Evidence, points: Sequence[ReadPoint]) -> list[Bools]:
        """Abstract paths of each class, ``(clusters, neurons)``; fewer rows if a class has fewer distinct paths."""
        labels, rng = evidence.labels(), evidence.rng(self.code, "train")
        each = [rng.permutation(np.flatnonzero(labels == label))[: self.sample] for label in range(evidence.classes)]
        packed: list[list[npt.NDArray[np.uint8]]] = [[] for _ in each]
        for at, paths, predicted in self._paths(evidence, "train", np.concatenate(each), points):
            for label in np.unique(labels[at]):
                packed[label].append(np.packbits(paths[(labels[at] == label) & (predicted == label)], axis=1))
        neurons, abstract_paths = sum(point.count("neuron") for point in points), []
        for rows in packed:
            paths = np.unpackbits(np.concatenate(rows or [np.empty((0, 0), np.uint8)]), axis=1, count=neurons) == 1
            abstract_paths.append(abstract(paths, self.clusters, self.beta, int(rng.integers(2**31))))
        missing = [str(label) for label, paths in enumerate(abstract_paths) if not len(paths)]
        if len(missing) == len(abstract_paths):
            raise NotApplicable("the model classified no training input of the sample correctly")
        if missing:
            evidence.note(f"npc has no paths of the classes {', '.join(missing)}: no training input is correct")
        return abstract_paths

    def _paths(
        self, evidence: Evidence, split: Split, indices: Whole, points: Sequence[ReadPoint]
    ) -> Iterator[tuple[Whole, Bools, Whole]]:
        """Yields, batch by batch, positions, paths ``(n, neurons)`` and predicted classes."""
        task = evidence.task
        assert isinstance(task, Classification)  # `rank` has checked this
        data, put = evidence.data(split), placement(evidence.model).put
        step = min(evidence.pace.batch_size, AT_ONCE)
        with (
            explaining(evidence.view, points, lambda outputs: decisive(outputs, task), evidence.forward) as explain,
            laid_out(evidence.model, evidence.pace.layout),
        ):
            for start in range(0, len(indices), step):
                at = indices[start : start + step]
                explained = explain(put(data.read(at)))
                paths = [critical(relevance, self.alpha).cpu().numpy() for relevance in explained.points]
                predicted = task.probabilities(explained.outputs).argmax(dim=1).cpu().numpy()
                yield at, np.concatenate(paths, axis=1), predicted


def decisive(outputs: Tensor, task: Classification) -> Tensor:
    """Logit of the predicted class, ``(n,)``.

    Probabilities determine logits up to a common shift, so for them it is the logit minus the mean of all logits.

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
    taken = (before < enough * (1 - 1e-12)) & (ranked > 0)  # tolerance for rounding: 0.7 * 10 exceeds 7
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
        from sklearn.cluster import KMeans  # slow to import

        cluster = KMeans(k, n_init=10, random_state=seed).fit_predict(paths.astype(np.float32))
    kept = [paths[cluster == number].mean(axis=0) >= beta - 1e-12 for number in range(k)]
    return np.array(kept).reshape(k, paths.shape[1])


def overlap(paths: Bools, others: Bools) -> tuple[Whole, Whole]:
    """Sizes of intersection and union of paths, ``(n, others)`` each; two empty paths have similarity 1 of 1.

    >>> overlap(np.array([[True, True, False]]), np.array([[True, False, True], [True, True, False]]))
    (array([[1, 2]]), array([[3, 2]]))
    """
    shared = np.rint(paths.astype(np.float32) @ others.T.astype(np.float32)).astype(np.int64)
    joined = paths.sum(axis=1)[:, None] + others.sum(axis=1)[None, :] - shared
    empty = joined == 0
    return np.where(empty, 1, shared), np.where(empty, 1, joined)


def covering(elements: Whole, rng: np.random.Generator) -> Order:
    """Inputs in greedy order, the one that covers most new elements first, until none covers a new one.

    Args:
        elements: Elements that each input covers, -1 for none, ``(n, k)``.
        rng: Random generator for the order of ties.

    >>> covering(np.array([[1, -1], [2, -1], [0, 1]]), np.random.default_rng(0)).tolist()
    [2, 1]
    """
    covered, chosen = {-1}, []
    left = rng.permutation(len(elements)).tolist()
    rows = elements.tolist()
    for gain in range(elements.shape[1], 0, -1):  # gains never increase, so after a round all are smaller
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
