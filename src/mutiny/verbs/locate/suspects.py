"""From counts to ranked neurons, each with what noise alone could have done."""

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
    """A neuron and what is held against it.

    Attributes:
        layer: its layer's name.
        neuron: its number there: a unit, or a channel.
        score: the measure's.
        interval: in which the score lies with a confidence of 95%, given how few inputs failed or passed.
        ef: failing inputs on which it was active; ``ep`` passing ones; ``nf`` and ``np`` those on which it was silent.
        p_value: how likely the same neuron looks so suspicious if failures have nothing to do with its activity (exact,
            over all ways to hand out the failures).
        q_value: the p-value for the search over all neurons: so large a share of the neurons with at most this value is
            expected to be innocent (Benjamini and Hochberg).
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
        """The way back from `to_json`."""
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
    """A number that JSON gives as null because it is infinite."""
    return math.inf if value is None else value


def suspects(
    spectrum: Spectrum,
    measure: Measure,
    k: int,
    group: int | None = None,
    silent: bool = False,
    guilty: bool = False,
) -> tuple[Suspect, ...]:
    """The ``k`` most suspicious neurons. Among equals those of deeper layers come first, then those with lower numbers.

    Args:
        spectrum: counts of all neurons.
        measure: of suspicion.
        k: how many.
        group: one class; all together if not given.
        silent: whether silence counts as hit.
        guilty: whether those are left out against whom nothing is held, see `innocent`.

    Returns:
        Nothing where no input failed.
    """
    if not spectrum.failing(group):
        return ()
    counts = spectrum.counts(group, silent)
    scores, low, high = measure(counts), *bounds(measure, counts)
    p_values = significance(counts, measure.both_ways)
    q_values = benjamini_hochberg(p_values)
    order = np.lexsort((spectrum.index, -spectrum.depth, -scores))
    order = (order[~innocent(measure, counts)[order]] if guilty else order)[:k]
    real = spectrum.counts(group)
    return tuple(
        Suspect(
            layer=spectrum.layers[spectrum.depth[at]],
            neuron=int(spectrum.index[at]),
            score=float(scores[at]),
            interval=Interval(float(low[at]), float(high[at]), LEVEL, "Clopper-Pearson"),
            **{name: int(count[at]) for name, count in zip(real._fields, real, strict=True)},
            p_value=float(p_values[at]),
            q_value=float(q_values[at]),
        )
        for at in order
    )


def innocent(measure: Measure, counts: Counts) -> npt.NDArray[np.bool_]:
    """Neurons no more suspicious than if they had never been active on a failure, ``(neurons,)``.

    >>> from mutiny.verbs.locate.measures import Ochiai
    >>> one = np.array([0.0, 2.0])
    >>> innocent(Ochiai(), Counts(one, one, 2 - one, 2 - one)).tolist()
    [True, False]
    """
    if measure.both_ways:
        return np.equal(measure(counts), 0.0)
    none = np.zeros_like(counts.ef)
    return measure(counts) <= measure(Counts(none, counts.ep, counts.failing, counts.np))


def significance(counts: Counts, both_ways: bool = False) -> Floats:
    """Exact p-values, ``(neurons,)``: as many failures among active inputs, or more, by chance.

    With the number of failures and of active inputs given, ``ef`` alone decides every measure, so that its law over all
    permutations of the failures, the hypergeometric one, is the measure's own.

    Args:
        counts: of all neurons.
        both_ways: whether as few are as suspicious.
    """
    failing, passing = counts.failing, counts.passing
    least, most = hypergeometric_tails(counts.ef, counts.ef + counts.ep, failing, failing + passing)
    return np.minimum(1.0, 2 * np.minimum(least, most)) if both_ways else most


def bounds(measure: Measure, counts: Counts, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Where scores lie if inputs were drawn anew, ``(neurons,)`` each.

    The rates of activity on failing and on passing inputs lie in Clopper and Pearson's intervals, each with half of the
    risk; a measure rises with the one and falls with the other, so its extremes are at corners.
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
    if measure.both_ways:  # it falls to 0 where the rates are equal
        low = np.where((least_f <= most_p) & (most_f >= least_p), 0.0, low)
    return low, high
