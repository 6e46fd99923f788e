"""Surprise and coverage against dnn-tip, the peer's library, on the same activations: equal results, and time.

Both sides start from activations in memory, so that what a model costs is no part of the comparison. Where definitions
differ, the variant of ours is taken that dnn-tip has. Each side may use all cores; dnn-tip's DSA has five threads.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import io
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.timing import entry, ratio
from mutiny.models.read_points import HIDDEN
from mutiny.verbs.select.coverage.greedy import additional, gainful, total
from mutiny.verbs.select.coverage.kmnc import section_of
from mutiny.verbs.select.coverage.nac import active
from mutiny.verbs.select.coverage.ranges import ranges_of
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.surprise.base import Surprise
from mutiny.verbs.select.surprise.dsa import Dsa
from mutiny.verbs.select.surprise.lsa import Lsa, columns_kept
from mutiny.verbs.select.surprise.mdsa import Mdsa
from mutiny.verbs.select.surprise.rows import Rows, variances

Results = dict[str, dict[str, object]]
Array = npt.NDArray[np.floating]
Order = npt.NDArray[np.int64]

MISSING = 'dnn-tip is not installed, so it is not compared with: pip install "mutiny-nn[bench]"'
GOALS = {"dsa": 20.0, "lsa": 4.0, "mdsa": 1.0, "kmnc": 10.0, "nac": 0.5}
"""Times faster than dnn-tip; NAC needs few rounds, a few milliseconds on both sides."""
CLOSE = 1e-4
"""Largest relative difference of scores: dnn-tip measures the distances of DSA in single precision."""
SECTIONS, THRESHOLD = 100, 0.75
WIDE = "fc1:input"
"""What the first linear layer of LeNet-5 reads: 400 units. What the output layer reads are 84."""
LAYERS = ("fc1", "fc2")
"""Those of LeNet-5 whose 204 units are covered."""


@dataclass(frozen=True)
class Activations:
    """What both sides are given: ``(n, d)`` and ``(m, d)`` numbers, and the predicted classes."""

    train: Array
    pool: Array
    train_classes: Order
    pool_classes: Order

    @classmethod
    def of(cls, evidence: Evidence, layers: str | tuple[str, ...]) -> Activations:
        places = evidence.all_read_points.choose(layers)
        train, pool = (evidence.traces(split, places, "neuron").rows(0, 2**62).numpy() for split in ("train", "pool"))
        return cls(train, pool, evidence.predicted("train"), evidence.predicted("pool"))

    def double(self) -> Activations:
        """The same in double precision."""
        return replace(self, train=self.train.astype(np.float64), pool=self.pool.astype(np.float64))

    def varying(self, least: float) -> Activations:
        """Only columns that vary in each class."""
        spreads = {int(c): variances(Rows(self.train[self.train_classes == c])) for c in np.unique(self.train_classes)}
        columns = next(iter(columns_kept(spreads, least, None).values()))
        return replace(self, train=self.train[:, columns], pool=self.pool[:, columns])


def compare(evidence: Evidence, larger: Evidence, rounds: int) -> Results:
    """All rows, or none and a word on how to get them.

    Args:
        evidence: a LeNet-5, its training data, and the pool for DSA.
        larger: the same with the pool for all else.
        rounds: of timing.
    """
    if importlib.util.find_spec("dnn_tip") is None:
        print(MISSING)
        return {}
    near, shaped = [Dsa((HIDDEN,)), Dsa((WIDE,))], [Lsa((HIDDEN,)), Mdsa((HIDDEN,))]
    results = surprise(evidence, near, rounds) | surprise(larger, shaped, rounds)
    return results | coverage(Activations.of(larger, LAYERS), rounds)


def surprise(evidence: Evidence, methods: Iterable[Surprise], rounds: int) -> Results:
    """DSA, LSA and MDSA by predicted class, each at the layers that it names."""
    results: Results = {}
    for method in methods:
        known = Activations.of(evidence, method.layers or HIDDEN)
        if isinstance(method, Lsa):  # that of dnn-tip fails where a column is constant in a class
            known = known.varying(method.variance)
        try:
            with undisturbed():
                faster, their, our = race(
                    lambda method=method, known=known: peer(method.code, known),
                    lambda method=method: method.score(evidence),
                    rounds,
                )
        except np.linalg.LinAlgError:
            print(f"{method.code}: dnn-tip fails on these activations, as a class does not vary in all directions")
            continue
        if not np.isfinite(their).all():
            print(f"{method.code}: dnn-tip gives {np.isinf(their).sum()} of {len(their)} inputs an infinite score")
        name = f"dnn-tip: {method.code}, {len(known.train):,} x {len(known.pool):,} x {known.train.shape[1]}"
        results[f"{name}: times faster"] = entry(faster, GOALS[method.code])
        results[f"{name}: largest relative difference"] = entry(difference(their, our), CLOSE, "lower", "")
    return results


def peer(code: str, given: Activations) -> Array:
    """What dnn-tip says to the pool."""
    from dnn_tip.surprise import DSA, LSA, MDSA, MultiModalSA

    scores: Array
    if code == "dsa":
        scores = DSA(given.train, given.train_classes)(given.pool, given.pool_classes)
        return scores
    if code == "mdsa":
        given = given.double()  # else it would invert covariances in single precision
    fit = {"lsa": lambda traces, _: LSA(traces, max_features=10**9), "mdsa": lambda traces, _: MDSA(traces)}[code]
    scores = MultiModalSA.build_by_class(given.train, given.train_classes, fit)(given.pool, given.pool_classes)
    return np.sqrt(scores) if code == "mdsa" else scores


def coverage(given: Activations, rounds: int) -> Results:
    """KMNC and NAC of every unit, with the order of additional coverage (CAM)."""
    from dnn_tip.neuron_coverage import KMNC, NAC
    from dnn_tip.prioritizers import cam

    train, pool = (torch.from_numpy(x).double() for x in (given.train, given.pool))
    ranges = ranges_of([train])
    low, high = ranges.minimum.numpy(), ranges.maximum.numpy()

    def kmnc() -> npt.NDArray[np.int64]:
        return section_of(pool, ranges, SECTIONS, "dnn-tip").numpy()

    def nac() -> npt.NDArray[np.int8]:
        return (active(pool, (), "unit", "unit", "none", THRESHOLD).to(torch.int8) - 1).numpy()

    results: Results = {}
    for name, sections, ours, theirs in (
        ("kmnc", SECTIONS, kmnc, lambda: KMNC([low], [high], SECTIONS)([pool.numpy()])),
        ("nac", 1, nac, lambda: NAC(THRESHOLD)([pool.numpy()])),
    ):
        with undisturbed():
            faster, their, our = race(
                lambda theirs=theirs: np.array(list(cam(*theirs()))),
                lambda ours=ours, sections=sections: additional(ours(), sections),
                rounds,
            )
        moved = disagreements(their, our, len(gainful(ours(), sections)), total(ours()))
        row = f"dnn-tip: {name} and cam, {len(pool):,} x {pool.shape[1]} units, k = {sections}"
        results[f"{row}: times faster"] = entry(faster, GOALS[name])
        results[f"{row}: places in the order that differ"] = entry(moved, 0, "lower", "")
    return results


def race(theirs: Callable[[], Array], ours: Callable[[], Array], rounds: int) -> tuple[float, Array, Array]:
    """Their time by ours, and what each of them found."""
    found: dict[str, Array] = {}
    faster = ratio(lambda: found.update(theirs=theirs()), lambda: found.update(ours=ours()), rounds)
    return faster, found["theirs"], found["ours"]


def difference(theirs: Array, ours: Array) -> float:
    """Largest relative difference of scores where both are finite.

    >>> difference(np.array([2.0, np.inf, 4.0]), np.array([2.0, 900.0, 5.0]))
    0.25
    """
    finite = np.isfinite(theirs) & np.isfinite(ours)
    apart = np.abs(ours[finite] - theirs[finite]) / np.maximum(np.abs(theirs[finite]), np.finfo(np.float32).tiny)
    return float(apart.max(initial=0.0))


def disagreements(theirs: Order, ours: Order, chosen: int, counts: Order) -> int:
    """Places at which two orders differ: by input among those chosen for what they add, then by what inputs cover.

    Which of several inputs that cover equally many comes first is left open after those that were chosen.

    >>> disagreements(np.array([0, 2, 1, 3]), np.array([0, 1, 2, 3]), chosen=1, counts=np.array([5, 2, 2, 0]))
    0
    """
    rest = counts[theirs[chosen:]] != counts[ours[chosen:]]
    return int((theirs[:chosen] != ours[:chosen]).sum() + rest.sum())


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Without dnn-tip's bars, prints and warnings, and without our objects where it collects garbage at each step."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        gc.collect()
        gc.freeze()
        try:
            yield
        finally:
            gc.unfreeze()
