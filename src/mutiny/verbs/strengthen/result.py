"""The result of `strengthen`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mutiny.core.json_values import JsonObject, expect, expect_share, to_plain
from mutiny.core.results import Result, Rows, StrengthenedSubject, finite
from mutiny.verbs.assess.result import Score
from mutiny.verbs.select.metrics import Repeated
from mutiny.verbs.strengthen.answers import Ints
from mutiny.verbs.strengthen.held_out_scores import LabelGain
from mutiny.verbs.strengthen.kill_table import Key
from mutiny.verbs.strengthen.subset import Subset
from mutiny.verbs.strengthen.synthesis import Candidates


@dataclass(frozen=True)
class SubsetScores:
    """Scores of a part of the test set on held-out mutants, over repeats.

    Attributes:
        all: Score of the whole test set.
        subset: Score of the subset.
        random: Score of random inputs of the test set, as many as in the subset.
        loss: Score of the whole test set minus score of the subset, in the same repeats.
    """

    all: Repeated
    subset: Repeated
    random: Repeated
    loss: Repeated


@dataclass(frozen=True, repr=False)
class Strengthening(Result):
    """Result of `strengthen`. ``chosen`` are the inputs to label.

    Attributes:
        score: Score of the assessment to start from.
        survivors: Mutants that the training set kills and the test set does not.
        tried: Survivors for which inputs were chosen; only some if there are many.
        budgets: Numbers of labels, ascending.
        order: Inputs of the pool, best first; as many as the largest budget.
        useful: Number of them that are predicted to bring some mutant nearer to being killed; the method for ties
            chose the rest.
        predicted: Number of tried survivors that are predicted to be killed, by budget.
        beyond: Survivors that the pool is predicted not to kill.
        candidates: Synthesized inputs for these survivors. They have no labels and count in no score.
        before: Score of the test set on held-out mutants; ``None`` if it was not measured.
        measured: Scores on held-out mutants after labeling, by method and budget.
        subset: Smallest part of the test set that was found, if asked for.
        smaller: Scores of the subset on held-out mutants.
        notes: Caveats, one sentence each.
        names: Names of the inputs of the pool; ``None`` if they have none.
    """

    verb: ClassVar[str] = "strengthen"

    subject: StrengthenedSubject
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    score: Score
    survivors: tuple[Key, ...]
    tried: tuple[Key, ...]
    budgets: tuple[int, ...]
    order: Ints
    useful: int
    predicted: Mapping[int, int]
    beyond: tuple[Key, ...]
    candidates: Candidates | None
    before: Repeated | None
    measured: tuple[LabelGain, ...]
    subset: Subset | None
    smaller: SubsetScores | None
    notes: tuple[str, ...]
    seconds: float
    created: str
    names: tuple[str, ...] | None = None

    @property
    def chosen(self) -> Ints:
        """Indices of the inputs to label with the largest budget, best first."""
        return self.order

    def gain(self, method: str, budget: int) -> LabelGain | None:
        """Measured gain of a method with a budget; ``None`` if it was not measured."""
        return next((gain for gain in self.measured if (gain.method, gain.budget) == (method, budget)), None)

    def __repr__(self) -> str:
        score = "none" if self.score.value is None else f"{self.score.value:.3f}"
        held = "" if self.before is None else f", held-out {self.before.mean:.3f}"
        best = self.gain("strengthen", self.budgets[-1]) if self.budgets else None
        after = "" if best is None else f" to {best.score.mean:.3f} with {best.budget} labels"
        small = (
            ""
            if self.subset is None or not len(self.subset)
            else f", {len(self.subset)} of {self.subset.of} tests are enough"
        )
        return f"Strengthening({self.subject.name!r}, score {score}{held}{after}{small})"

    def details(self) -> dict[str, Any]:
        """The verb's own part of `to_json`."""
        return {
            "score": to_plain(self.score),
            "survivors": _mutants(self.survivors),
            "tried": _mutants(self.tried),
            "chosen": {str(budget): self.order[:budget].tolist() for budget in self.budgets},
            "useful": self.useful,
            "predicted": {str(budget): killed for budget, killed in self.predicted.items()},
            "names": None if self.names is None or self.subject.pool is None else list(self.names),
            "beyond": _mutants(self.beyond),
            "candidates": None if self.candidates is None else self.candidates.to_json(),
            "before": to_plain(self.before),
            "measured": to_plain(self.measured),
            "subset": self._subset(),
        }

    @classmethod
    def read_details(cls, given: JsonObject) -> dict[str, Any]:
        """The inverse of `details`; synthesized inputs are not in JSON."""
        chosen, survivors = given.object("chosen"), _keys(given, "survivors")
        predicted = given.get("predicted", Mapping[str, int])
        budgets = (*chosen.values, *predicted)
        expect(all(budget.isdecimal() for budget in budgets), "chosen", [*budgets], "numbers of labels")
        orders = [chosen.integers(budget) for budget in chosen.values]
        before, measured = given.get("before", Repeated | None, None), given.get("measured", tuple[LabelGain, ...])
        for value in ([] if before is None else [before]) + [gain.score for gain in measured]:
            expect_share(value.mean, "a score in before or measured")
        expect(not measured or before is not None, "before", None, "a score, because there are scores in measured")
        if measured:
            given.object("settings").get("mutants", int)
        subset, smaller = _read_subset(given)
        return {
            "score": given.get("score", Score),
            "survivors": survivors,
            "tried": _keys(given, "tried") if "tried" in given.values else survivors,
            "budgets": tuple(map(int, chosen.values)),
            "order": max(orders, key=len, default=np.zeros(0, np.int64)),
            "useful": given.get("useful", int, 0),
            "predicted": {int(budget): killed for budget, killed in predicted.items()},
            "beyond": _keys(given, "beyond"),
            "candidates": _read_candidates(given),
            "before": before,
            "measured": measured,
            "subset": subset,
            "smaller": smaller,
            "names": given.get("names", tuple[str, ...] | None, None),
        }

    def tables(self) -> dict[str, Rows]:
        """Table ``measured`` with the gain of labels, and table ``chosen`` with the inputs to label, best first."""
        names = self.names
        chosen = [
            {"rank": rank, "index": at, **({} if names is None else {"name": names[at]})}
            for rank, at in enumerate(self.order.tolist(), 1)
        ]
        tables: dict[str, Rows] = {"measured": [*map(_row, self.measured)], "chosen": chosen}
        return tables if self.measured else {"chosen": chosen, "measured": []}

    def metrics(self) -> dict[str, float]:
        """Scores on held-out mutants: ``before`` labeling, and after it for each method and budget."""
        after = {f"score.{gain.method}.{gain.budget}": gain.score.mean for gain in self.measured}
        size = None if self.subset is None else float(len(self.subset))
        return finite({"before": None if self.before is None else self.before.mean, **after, "subset": size})

    def _subset(self) -> dict[str, Any] | None:
        if self.subset is None:
            return None
        small = self.subset
        return {
            "indices": small.indices.tolist(),
            "size": len(small),
            "of": small.of,
            "score": small.score,
            "score_of_all": small.score_of_all,
            "kills": _mutants(small.kept),
            "kills_more": _mutants(small.more),
            "kills_fresh": small.fresh,
            "held_out": to_plain(self.smaller),
        }


def _row(measured: LabelGain) -> dict[str, Any]:
    score, ahead = measured.score, measured.ahead
    return {
        "labels": measured.budget,
        "method": measured.method,
        "score": score.mean,
        "low": None if score.interval is None else score.interval.low,
        "high": None if score.interval is None else score.interval.high,
        "gain": measured.gain.mean,
        "ahead": None if ahead is None else ahead.mean,
    }


def _keys(given: JsonObject, name: str) -> tuple[Key, ...]:
    """The inverse of `_mutants`."""
    return tuple(_key(mutant) for mutant in given.objects(name))


def _key(mutant: JsonObject) -> Key:
    return mutant.get("operator", str), mutant.get("strength", float | None, None)


def _read_subset(given: JsonObject) -> tuple[Subset | None, SubsetScores | None]:
    if given.values.get("subset") is None:
        return None, None
    stored = given.object("subset")
    indices, of = stored.integers("indices"), stored.get("of", int)
    score, whole = (stored.get(name, float | None, None) for name in ("score", "score_of_all"))
    expect(0 < of < 2**31, "subset.of", of, "at least 1")
    expect(bool(np.all((indices >= 0) & (indices < of))), "subset.indices", "indices", "indices of the test set")
    expect_share(score, "subset.score")
    expect_share(whole, "subset.score_of_all")
    subset = Subset(
        indices=indices,
        of=of,
        kept=_keys(stored, "kills"),
        more=_keys(stored, "kills_more") if "kills_more" in stored.values else (),
        fresh=stored.get("kills_fresh", int),
        score=score,
        score_of_all=whole,
    )
    return subset, stored.get("held_out", SubsetScores | None, None)


def _read_candidates(given: JsonObject) -> Candidates | None:
    if given.values.get("candidates") is None:
        return None
    stored = given.object("candidates")
    candidates = stored.objects("candidates")
    return Candidates(
        inputs=None,
        starts=None,
        indices=np.array([candidate.get("index", int) for candidate in candidates], np.int64),
        mutants=tuple(map(_key, candidates)),
        answers=np.array([candidate.get("answer", int) for candidate in candidates], np.int64),
        lost=np.array([candidate.get("lost", float) for candidate in candidates], np.float64),
        distances={},
        eps=stored.get("eps", float),
    )


def _mutants(keys: tuple[Key, ...]) -> list[dict[str, Any]]:
    return [{"operator": label, "strength": strength} for label, strength in keys]
