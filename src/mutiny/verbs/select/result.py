"""The result of `select`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mutiny.core.json_values import JsonObject, expect, expect_share, to_plain
from mutiny.core.results import RankedSubject, Result, Rows, finite
from mutiny.verbs.select.base import Order, Scores
from mutiny.verbs.select.metrics import Repeated
from mutiny.verbs.select.quality import Quality


@dataclass(frozen=True, repr=False)
class Ranking:
    """Ranking of a pool by one method.

    Attributes:
        method: Method as a user would write it.
        title: Name of the method in words.
        order: Indices of the pool, best first, ``(n,)``.
        scores: Score of each input, in the pool's order, ``(n,)``; the inputs to label first have the highest.
        seconds: Duration, without outputs and features that another method had already computed.
        notes: Layers that were read, and caveats.
        quality: Quality of the order, if the pool's labels are known.
        repeated: Mean and interval of ``fdr``, ``apfd`` and ``rauc`` over repeats with other seeds.
    """

    method: str
    title: str
    order: Order
    scores: Scores
    seconds: float
    notes: tuple[str, ...] = ()
    quality: Quality | None = None
    repeated: Mapping[str, Repeated] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Ranking({self.method!r}, {len(self.order)} inputs, first {self.order[:3].tolist()})"


@dataclass(frozen=True, repr=False, eq=False)
class Selection(Result):
    """Rankings of a pool. `chosen` are the inputs to label.

    Attributes:
        budget: Number of inputs to label.
        rankings: One ranking per method, in the given order.
        skipped: Methods that do not apply, with the reason.
        references: Quality of the ideal order and expected quality of a random order; empty unless the pool's labels
            are known.
        notes: Caveats, one sentence each.
        names: Names of the pool's inputs, such as file names; ``None`` if they have none.
    """

    verb: ClassVar[str] = "select"

    subject: RankedSubject
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    budget: int
    rankings: tuple[Ranking, ...]
    skipped: Mapping[str, str]
    references: Mapping[str, Mapping[str, float | None]]
    notes: tuple[str, ...]
    seconds: float
    created: str
    names: tuple[str, ...] | None = None

    @property
    def order(self) -> Order:
        """All indices of the pool, best first, by the first method."""
        return self.rankings[0].order

    @property
    def scores(self) -> Scores:
        """The first method's score of each input, in the pool's order."""
        return self.rankings[0].scores

    @property
    def chosen(self) -> Order:
        """Indices of the inputs to label, best first, by the first method."""
        return self.order[: self.budget]

    def __repr__(self) -> str:
        first, more = self.rankings[0], len(self.rankings) - 1
        wrong = "" if first.quality is None else f", {first.quality.fdr:.1%} of them wrong"
        others = f", compared with {more} other{'s' * (more != 1)}" if more else ""
        return f"Selection({first.method!r}, {self.budget} of {len(self.order)} inputs{wrong}{others})"

    def details(self) -> dict[str, Any]:
        """The verb's own part of `to_json`."""
        first = self.rankings[0]
        return {
            "method": first.method,
            "budget": self.budget,
            "order": first.order.tolist(),
            "scores": to_plain(first.scores),
            "names": None if self.names is None else list(self.names),
            "metrics": None if first.quality is None else _metrics(first),
            "references": to_plain(self.references),
            "methods": [_method(ranking) for ranking in self.rankings],
            "skipped": dict(self.skipped),
        }

    @classmethod
    def read_details(cls, given: JsonObject) -> dict[str, Any]:
        """The way back from `details`."""
        seconds = given.object("timing").get("methods", Mapping[str, float], {})
        rankings = [_ranking(method, seconds) for method in given.objects("methods")]
        expect(len(rankings) > 0, "methods", [], "at least one")
        sizes = {len(rankings[0].order), *(len(ranking.order) for ranking in rankings)}
        names = given.get("names", tuple[str, ...] | None, None)
        sizes |= set() if names is None else {len(names)}
        expect(len(sizes) == 1, "methods", [*sizes], "orders of the same pool")
        references = given.get("references", Mapping[str, Mapping[str, float | None]])
        known = all({"fdr", "apfd", "rauc"} <= values.keys() for values in references.values())
        expect(known, "references", [*references], "fdr, apfd and rauc of each")
        unlabeled = all(ranking.quality is None for ranking in rankings)
        expect(unlabeled or "ideal" in references, "references", [*references], "ideal among them")
        if any(ranking.repeated for ranking in rankings):
            given.object("settings").get("repeats", int)
        return {
            "budget": given.get("budget", int),
            "rankings": tuple(rankings),
            "skipped": given.get("skipped", Mapping[str, str]),
            "references": references,
            "names": names,
        }

    def timing(self) -> dict[str, Any]:
        """Also the duration of each method."""
        return {**super().timing(), "methods": {ranking.method: round(ranking.seconds, 3) for ranking in self.rankings}}

    def tables(self) -> dict[str, Rows]:
        """``methods``, and the ``order`` of the first method. With repeats, ``fdr`` is the mean over them."""
        chosen = set(self.chosen.tolist())
        names = self.names
        order = [
            {
                "rank": rank,
                "index": at,
                "score": float(self.scores[at]),
                "chosen": at in chosen,
                **({} if names is None else {"name": names[at]}),
            }
            for rank, at in enumerate(self.order.tolist(), 1)
        ]
        return {"methods": [_row(ranking) for ranking in self.rankings], "order": order}

    def metrics(self) -> dict[str, float]:
        """Fault detection rate (mean over repeats) and APFD of each method, if labels are known."""
        rows = [_row(ranking) for ranking in self.rankings if ranking.quality is not None]
        return finite({f"{name}.{row['method']}": row[name] for row in rows for name in ("fdr", "apfd")})


def _row(ranking: Ranking) -> dict[str, Any]:
    row: dict[str, Any] = {"method": ranking.method, "title": ranking.title}
    quality = ranking.quality
    if quality is not None:
        row |= {
            "faults": quality.faults,
            "fdr": quality.fdr,
            **_over_repeats(ranking),
            "apfd": quality.apfd,
            "rauc": None if quality.rauc is None else quality.rauc.value,
        }
    return {**row, "seconds": ranking.seconds}


def _over_repeats(ranking: Ranking) -> dict[str, float | None]:
    """Fault detection rate with its interval; empty without repeats."""
    if not ranking.repeated:
        return {}
    rate = ranking.repeated["fdr"]
    low, high = (None, None) if rate.interval is None else (rate.interval.low, rate.interval.high)
    return {"fdr": rate.mean, "fdr_low": low, "fdr_high": high}


def _method(ranking: Ranking) -> dict[str, Any]:
    return {
        "method": ranking.method,
        "title": ranking.title,
        "order": ranking.order.tolist(),
        "scores": to_plain(ranking.scores),
        "notes": list(ranking.notes),
        "metrics": None if ranking.quality is None else _metrics(ranking),
    }


def _ranking(method: JsonObject, seconds: Mapping[str, float]) -> Ranking:
    """The way back from `_method`."""
    known = method.values.get("metrics") is not None
    name, metrics = method.get("method", str), method.object("metrics") if known else None
    repeated = {} if metrics is None else metrics.get("repeated", Mapping[str, Repeated], {})
    expect(not repeated or "fdr" in repeated, "metrics.repeated", [*repeated], "fdr among them")
    for key, value in repeated.items():
        expect_share(value.mean, f"metrics.repeated.{key}")
    quality = method.get("metrics", Quality | None, None)
    expect(quality is None or not math.isnan(quality.fdr), "metrics.fdr", None, "a number between 0 and 1")
    order, scores = method.integers("order"), method.floats("scores")
    pool = np.arange(len(scores))
    expect(np.array_equal(np.sort(order), pool), f"{method.where}.order", "indices", "every input of the pool once")
    expect(len(order) > 0, f"{method.where}.order", [], "at least one input")
    return Ranking(
        method=name,
        title=method.get("title", str),
        order=order,
        scores=scores,
        seconds=seconds.get(name, 0.0),
        notes=method.get("notes", tuple[str, ...], ()),
        quality=quality,
        repeated=repeated,
    )


def _metrics(ranking: Ranking) -> dict[str, Any]:
    return {**to_plain(ranking.quality), "repeated": to_plain(ranking.repeated)}
