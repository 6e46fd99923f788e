"""Ranks neurons by suspiciousness, with p-value, q-value and interval of each score."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.core.json_values import JsonObject, expect, to_plain
from mutiny.core.stats import Interval, benjamini_hochberg, hypergeometric_tails, rate_bound
from mutiny.verbs.locate.measures import Counts, Floats, Measure
from mutiny.verbs.locate.spectrum import Spectrum

LEVEL = 0.95


@dataclass(frozen=True)
class Suspect:
    """A suspicious neuron, with the evidence.

    Attributes:
        layer: Name of its layer.
        neuron: Index in its layer: a unit, or a channel.
        score: Suspiciousness by the measure.
        interval: 95% interval of the score, from the numbers of failing and passing inputs.
        ef: Number of failing inputs on which it was active.
        ep: Number of passing inputs on which it was active.
        nf: Number of failing inputs on which it was silent.
        np: Number of passing inputs on which it was silent.
        p_value: Probability of at least this score if failures are independent of the neuron's activity; exact, over
            all permutations of the failures.
        q_value: The p-value corrected for the number of neurons (Benjamini and Hochberg): expected share of false
            suspects among the neurons with at most this value.
    """

    layer: str
    neuron: int
    score: float
    interval: Interval
    ef: int
    ep: int
    nf: int
    np: int
    p_value: float
    q_value: float

    @property
    def on_failures(self) -> float:
        """Share of the failing inputs on which it was active."""
        return self.ef / (self.ef + self.nf)

    @property
    def on_passes(self) -> float | None:
        """Share of the passing inputs on which it was active; ``None`` if nothing passed."""
        return self.ep / (self.ep + self.np) if self.ep + self.np else None

    def to_json(self) -> dict[str, object]:
        """Plain values; an infinite score is null."""
        counts = {"ef": self.ef, "ep": self.ep, "nf": self.nf, "np": self.np}
        return {
            "layer": self.layer,
            "neuron": self.neuron,
            "score": to_plain(self.score),
            "interval": to_plain(self.interval),
            "counts": counts,
            "on_failures": self.on_failures,
            "on_passes": self.on_passes,
            "p_value": to_plain(self.p_value),
            "q_value": to_plain(self.q_value),
        }

    @classmethod
    def from_plain(cls, value: object, where: str) -> Suspect:
        """Reads what `to_json` returned."""
        given = JsonObject(value, where)
        counts, ends = given.object("counts"), given.object("interval")
        low, high = (_infinite(ends.get(end, float | None)) for end in ("low", "high"))
        numbers = {name: counts.get(name, int) for name in ("ef", "ep", "nf", "np")}
        expect(numbers["ef"] + numbers["nf"] > 0 <= min(numbers.values()), f"{where}.counts", numbers, "failing inputs")
        return cls(
            layer=given.get("layer", str),
            neuron=given.get("neuron", int),
            score=_infinite(given.get("score", float | None)),
            interval=Interval(low, high, ends.get("level", float), ends.get("method", str)),
            p_value=given.get("p_value", float),
            q_value=given.get("q_value", float),
            **numbers,
        )


def _infinite(value: float | None) -> float:
    """A number that is null in JSON because it is infinite."""
    return math.inf if value is None else value


def suspects(
    spectrum: Spectrum,
    measure: Measure,
    k: int,
    group: int | None = None,
    silent: bool = False,
    suspicious_only: bool = False,
) -> tuple[Suspect, ...]:
    """The ``k`` most suspicious neurons; ties go to deeper layers, then to lower indices.

    Args:
        spectrum: Counts of all neurons.
        measure: Suspiciousness measure.
        k: Number of neurons.
        group: Class of the inputs; all classes by default.
        silent: Rank silence instead of activity.
        suspicious_only: Leave out neurons that are not suspicious, see `unsuspicious`.

    Returns:
        The neurons; empty if no input failed.
    """
    if not spectrum.failing(group):
        return ()
    counts = spectrum.counts(group, silent)
    scores, low, high = measure(counts), *bounds(measure, counts)
    p_values = significance(counts, measure.both_ways)
    q_values = benjamini_hochberg(p_values)
    order = np.lexsort((spectrum.index, -spectrum.depth, -scores))
    if suspicious_only:
        order = order[~unsuspicious(measure, counts)[order]]
    reported = spectrum.counts(group)  # of activity, also where silence was ranked
    return tuple(
        Suspect(
            layer=spectrum.layers[spectrum.depth[at]],
            neuron=int(spectrum.index[at]),
            score=float(scores[at]),
            interval=Interval(float(low[at]), float(high[at]), LEVEL, "Clopper-Pearson"),
            **{name: int(count[at]) for name, count in zip(reported._fields, reported, strict=True)},
            p_value=float(p_values[at]),
            q_value=float(q_values[at]),
        )
        for at in order[:k]
    )


def unsuspicious(measure: Measure, counts: Counts) -> npt.NDArray[np.bool_]:
    """Neurons that score no higher than if they had never been active on a failure, ``(neurons,)``.

    >>> from mutiny.verbs.locate.measures import Ochiai
    >>> active = np.array([0.0, 2.0])
    >>> unsuspicious(Ochiai(), Counts(active, active, 2 - active, 2 - active)).tolist()
    [True, False]
    """
    if measure.both_ways:
        return np.equal(measure(counts), 0.0)
    none = np.zeros_like(counts.ef)
    return measure(counts) <= measure(Counts(none, counts.ep, counts.failing, counts.np))


def significance(counts: Counts, both_ways: bool = False) -> Floats:
    """Exact p-values, ``(neurons,)``: probability of at least ``ef`` failures among the active inputs by chance.

    For fixed numbers of failures and of active inputs, every measure is a monotone function of ``ef``. The distribution
    of ``ef`` over all permutations of the failures is hypergeometric, so its tail is the p-value of the measure.

    Args:
        counts: Counts of all neurons.
        both_ways: Use both tails.
    """
    failing, passing = counts.failing, counts.passing
    least, most = hypergeometric_tails(counts.ef, counts.ef + counts.ep, failing, failing + passing)
    return np.minimum(1.0, 2 * np.minimum(least, most)) if both_ways else most


def bounds(measure: Measure, counts: Counts, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Lower and upper end of the interval of each score, ``(neurons,)`` each.

    The rates of activity on failing and on passing inputs lie in Clopper and Pearson's intervals, each with half of the
    error probability. A measure rises with the first rate and falls with the second, so its extremes are at corners.
    """
    failing, passing, risk = counts.failing, counts.passing, (1 - level) / 4
    rates = [
        (1 - rate_bound(total - seen, total, risk), rate_bound(seen, total, risk))
        for seen, total in ((counts.ef, failing), (counts.ep, passing))
    ]
    (least_f, most_f), (least_p, most_p) = rates
    ends = [
        measure(Counts(f * failing, p * passing, (1 - f) * failing, (1 - p) * passing))
        for f, p in ((least_f, most_p), (most_f, least_p))
    ]
    low, high = np.minimum(*ends), np.maximum(*ends)
    if measure.both_ways:  # such a measure is 0 where both rates are equal
        low = np.where((least_f <= most_p) & (most_f >= least_p), 0.0, low)
    return low, high
