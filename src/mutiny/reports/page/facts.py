"""What an assessment says about its subject and settings, with every type checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mutiny.core.records import MutantRecord, OperatorRecord, to_plain
from mutiny.reports.page.plain import expect, expect_least, expect_share, read_plain
from mutiny.verbs.assess.result import Assessment, Score

ONE_MUTANT = tuple[str, float | None]
"""A mutant on whatever set: operator or configuration, and strength."""


@dataclass(frozen=True)
class Timing:
    """When it was done, and how long it took."""

    created: str = ""
    seconds: float = 0.0


UNTIMED = Timing()


@dataclass(frozen=True)
class Split:
    """A set of inputs, and how well the originals do on it."""

    inputs: int
    metric_mean: float
    metric_sd: float | None = None

    def __post_init__(self) -> None:
        expect_least(self.inputs, "subject.splits: inputs")


@dataclass(frozen=True)
class TaskFacts:
    """What the networks are for; ``classes`` only of a classification."""

    kind: str
    metric: str
    classes: int | None = None


@dataclass(frozen=True)
class SubjectFacts:
    """What was tested; ``pool`` inputs to choose from, if any, and whether it can train more originals by itself."""

    name: str
    model: str
    originals: int
    task: TaskFacts
    splits: Mapping[str, Split]
    pool: int | None = None
    more_originals: bool = False

    def __post_init__(self) -> None:
        expect_least(self.originals, "subject.originals")
        expect_least(self.pool, "subject.pool")


@dataclass(frozen=True)
class Rule:
    """When a mutant is killed."""

    test: str
    alpha: float
    effect: str
    beta: float


@dataclass(frozen=True)
class Limits:
    """Of searches: see `mutiny.verbs.assess.search.Search`."""

    k_max: int
    rse: float
    precision: float


@dataclass(frozen=True)
class ScreeningFacts:
    """How sure a verdict must be before the remaining inputs are left out."""

    confidence: float


@dataclass(frozen=True)
class Settings:
    """What decides the result."""

    seed: int
    rule: Rule
    search: Limits
    operators: tuple[str, ...] = ()
    screening: ScreeningFacts | None = None

    def __post_init__(self) -> None:
        expect_least(self.seed, "settings.seed", 0)
        expect_least(self.search.k_max, "settings.search.k_max")


@dataclass(frozen=True)
class Evaluation:
    """(instance, input) pairs that were evaluated, of all there are, and how many verdicts rest on what."""

    evaluated: int
    pairs: int
    verdicts: Mapping[str, int]

    def __post_init__(self) -> None:
        for number in (self.evaluated, self.pairs, *self.verdicts.values()):
            expect_least(number, "evaluation", 0)


def subject_of(result: Assessment) -> SubjectFacts:
    """What was tested."""
    return read_plain(SubjectFacts, to_plain(result.subject), "subject")


def settings_of(result: Assessment) -> Settings:
    """What decides the result."""
    return read_plain(Settings, to_plain(result.settings), "settings")


def evaluation_of(result: Assessment) -> Evaluation:
    """What it took."""
    return read_plain(Evaluation, to_plain(result.evaluation), "evaluation")


def check_score(score: Score) -> None:
    """Raises `Wrong` for a score that cannot be."""
    expect_share(score.value, "score.value")
    if score.interval is not None:
        expect_share(score.interval.low, "score.interval.low")
        expect_share(score.interval.high, "score.interval.high")
    expect(0 <= score.operators <= score.tried, "score.operators", "at most as many as were tried")


def on(record: OperatorRecord, split: str, searched: bool = False) -> list[MutantRecord]:
    """The mutants of an operator that were judged on a set, in the order of judging; the very same ones once.

    Args:
        record: of the operator.
        split: the set of inputs.
        searched: whether only those of the set's own search, and then all of its steps.
    """
    found = [mutant for mutant in record.mutants if mutant.guiding_set == split]
    if searched:
        return [mutant for mutant in found if mutant.searched]
    return [mutant for mutant in found if mutant.same_as is None]


def key_of(mutant: MutantRecord) -> ONE_MUTANT:
    """By what a mutant is known on every set."""
    return mutant.operator, mutant.strength


def named(mutant: MutantRecord, record: OperatorRecord) -> str:
    """A mutant in words: the operator with its strength, or the configuration.

    >>> from mutiny.core.records import Status, Verdict
    >>> wi = OperatorRecord("WI", "weight inhibitor", "WI", {}, "factor", (0.0, 1.0), Status.SCORED)
    >>> named(MutantRecord("WI", 0.6584, "test", Verdict.KILLED), wi)
    'WI at factor 0.658'
    """
    if mutant.strength is None or record.strength is None:
        return mutant.operator
    return f"{mutant.operator} at {record.strength} {mutant.strength:.3g}"


def told(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as names and values; what is not set is left out.

    >>> told({"seed": 0, "rule": {"alpha": 0.05, "beta": None}, "operators": ["WI", "NI"]})
    [('seed', '0'), ('rule alpha', '0.05'), ('operators', 'WI, NI')]
    """
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        title = f"{prefix}{name.replace('_', ' ')}"
        if isinstance(value, Mapping):
            pairs += told(value, f"{title} ")
        elif isinstance(value, (list, tuple)):
            pairs.append((title, ", ".join(map(_value, value)) or "none"))
        elif value is not None:
            pairs.append((title, _value(value)))
    return pairs


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
