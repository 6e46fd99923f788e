"""The result of `compare`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from mutiny.core.json_values import expect, expect_least, expect_share, to_plain
from mutiny.core.results import ModelAndInputs, Result, Rows, finite
from mutiny.core.stats import Interval
from mutiny.core.stats.comparison import ComparisonVerdict
from mutiny.verbs.compare.changes import ChangedInput, ConfusionChange
from mutiny.verbs.compare.groups import GroupChange
from mutiny.verbs.compare.sentences import comparison_sentence

Sameness = Literal["network", "outputs", "answers", ""]
"""What is the same in A and B: the whole network, every output bit for bit, every answer, or nothing of these."""


@dataclass(frozen=True)
class ComparedSubject(ModelAndInputs):
    """The subject of `compare`: A, the inputs, and the name and model of B."""

    other_name: str = ""
    other_model: str = ""

    def __post_init__(self) -> None:
        expect_least(self.inputs, "subject.inputs")


@dataclass(frozen=True)
class Difference:
    """B minus A, with its interval."""

    value: float
    interval: Interval


@dataclass(frozen=True)
class Flips:
    """How many answers changed.

    Attributes:
        broken: Inputs that A gets right and B gets wrong, or whose score gets worse.
        repaired: Inputs that A gets wrong and B gets right, or whose score gets better.
        other: Inputs that both get wrong in different ways; ``None`` if answers are unknown.
    """

    broken: int
    repaired: int
    other: int | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            expect_least(value, f"flips.{name}", 0)


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Result):
    """Whether B is worse than A.

    Attributes:
        verdict: ``worse``, ``not worse``, ``equivalent``, ``better`` or ``cannot tell``.
        difference: B minus A with its interval of level ``1 - 2 alpha``, in ``unit``.
        p_value: P-value of the one-sided test of whether B is worse.
        p_better: P-value of the one-sided test of whether B is better.
        flips: Number of broken and repaired answers.
        inputs_needed: Number of inputs like these that would tell; ``None`` if the verdict is there, or if it would
            take more than 100 million.
        assumption: What that number assumes, in words; empty if there is none.
        margin: Largest tolerated loss, in ``unit``.
        alpha: Level of the one-sided tests.
        unit: ``accuracy points``, or the name of the score.
        higher_is_better: Whether a higher score is better.
        means: Accuracy, from 0 to 1, or mean score of ``a`` and ``b``.
        same: What is the same in both: the ``network``, all ``outputs`` bit for bit, all ``answers``; or empty.
        groups: Changes of classes and slices, those that changed most surely first.
        changed: Inputs that changed most.
        confusions: Confusions that became more or less frequent.
    """

    verb: ClassVar[str] = "compare"

    subject: ComparedSubject
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    verdict: ComparisonVerdict
    difference: Difference
    p_value: float
    p_better: float
    flips: Flips
    inputs_needed: int | None
    assumption: str
    margin: float
    alpha: float
    unit: str
    higher_is_better: bool
    means: Mapping[str, float]
    same: Sameness
    groups: tuple[GroupChange, ...]
    changed: tuple[ChangedInput, ...]
    confusions: tuple[ConfusionChange, ...]
    notes: tuple[str, ...]
    seconds: float
    created: str

    def __post_init__(self) -> None:
        expect({"a", "b"} <= self.means.keys(), "means", [*self.means], "a and b")
        for name in ("p_value", "p_better", "alpha"):
            expect_share(getattr(self, name), name)
        ends = self.difference.interval
        expect(ends.low <= self.difference.value <= ends.high, "difference", self.difference.value, "a value in it")

    @property
    def sentence(self) -> str:
        """The decision in one sentence, in the user's unit."""
        return comparison_sentence(self)

    @property
    def worse(self) -> bool:
        """Whether B is worse than A."""
        return self.verdict is ComparisonVerdict.WORSE

    def fails(self, strict: bool = False) -> bool:
        """Whether a gate fails: if B is worse or, if ``strict``, if that cannot be told."""
        return self.worse or (strict and self.verdict is ComparisonVerdict.CANNOT_TELL)

    @property
    def loss(self) -> Difference:
        """What B loses, with its interval; negative if it gains."""
        value, ends = self.difference.value, self.difference.interval
        if not self.higher_is_better:
            return self.difference
        return Difference(-value, Interval(-ends.high, -ends.low, ends.level, ends.method))

    def __repr__(self) -> str:
        return f"Comparison({self.sentence!r})"

    def _headline(self) -> str:
        return self.sentence

    def details(self) -> dict[str, Any]:
        """The verb's own part of `to_json`."""
        names = ("difference", "p_value", "p_better", "flips", "inputs_needed", "assumption")
        more = ("margin", "alpha", "unit", "higher_is_better", "means", "same", "groups", "changed", "confusions")
        return {
            "verdict": self.verdict.value,
            "sentence": self.sentence,
            **{name: to_plain(getattr(self, name)) for name in (*names, *more)},
        }

    def tables(self) -> dict[str, Rows]:
        """``groups`` (classes and slices), ``changed`` inputs, and ``confusions``."""
        confusions = [{**vars(each), "difference": each.difference} for each in self.confusions]
        summary = {
            "verdict": self.verdict.value,
            "difference": self.difference.value,
            "low": self.difference.interval.low,
            "high": self.difference.interval.high,
            "p_value": self.p_value,
            "broken": self.flips.broken,
            "repaired": self.flips.repaired,
        }
        return {
            "comparison": [summary],
            "groups": [vars(group) for group in self.groups],
            "changed": [vars(change) for change in self.changed],
            "confusions": confusions,
        }

    def metrics(self) -> dict[str, float]:
        """Difference, its interval, the p-value, and the means of both."""
        ends = self.difference.interval
        values = {"difference": self.difference.value, "low": ends.low, "high": ends.high, "p_value": self.p_value}
        return finite({**values, **self.means})
