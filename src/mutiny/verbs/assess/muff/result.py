"""The result of `assess` by MUFF's procedure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mutiny.core.json_values import JsonObject, expect, expect_least, expect_share, from_plain, to_plain
from mutiny.core.records import Basis, KillBits, MutantRecord, OperatorRecord, Status
from mutiny.core.results import AssessedSubject, Result, Rows, SplitRecord, finite
from mutiny.core.stats import Interval
from mutiny.faults.evaluation import Runner
from mutiny.subjects import Subject
from mutiny.subjects.tasks import Classification, task_record
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.score import FEWEST_ORIGINALS


@dataclass(frozen=True)
class Score:
    """Mean score over operators, with a 95% interval.

    Attributes:
        value: Mean score; ``None`` if no operator has a score.
        interval: Interval of the mean score.
        operators: Number of operators with a score.
        tried: Number of all operators.
    """

    value: float | None
    interval: Interval | None
    operators: int
    tried: int

    def __post_init__(self) -> None:
        expect_share(self.value, "score.value")
        if self.interval is not None:
            expect_share(self.interval.low, "score.interval.low")
            expect_share(self.interval.high, "score.interval.high")
        expect(0 <= self.operators <= self.tried, "score.operators", self.operators, "at most as many as were tried")


@dataclass(frozen=True)
class RuleSettings:
    """The kill rule in the settings of a result: see `KillRule`."""

    test: str
    alpha: float
    effect: str
    beta: float


@dataclass(frozen=True)
class SearchSettings:
    """Limits of searches in the settings of a result: see `mutiny.verbs.assess.muff.search.Search`."""

    k_max: int
    rse: float
    precision: float


@dataclass(frozen=True)
class ScreeningSettings:
    """Confidence required to stop before all inputs are evaluated."""

    confidence: float


@dataclass(frozen=True)
class MuffSettings:
    """Settings of an assessment that reports show."""

    seed: Any
    rule: RuleSettings
    search: SearchSettings
    screening: ScreeningSettings | None
    operators: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        expect_least(self.search.k_max, "settings.search.k_max")

    @classmethod
    def of(cls, result: MuffAssessment) -> MuffSettings:
        """The settings of an assessment."""
        return from_plain(cls, to_plain(result.settings), "settings")


@dataclass(frozen=True)
class Evaluation:
    """Work that an assessment took.

    Attributes:
        evaluated: Number of (instance, input) pairs that were evaluated.
        pairs: Number of all pairs.
        verdicts: Number of verdicts by their basis.
    """

    evaluated: int
    pairs: int
    verdicts: Mapping[str, int]

    def __post_init__(self) -> None:
        for number in (self.evaluated, self.pairs, *self.verdicts.values()):
            expect_least(number, "evaluation", 0)

    @classmethod
    def of(cls, result: MuffAssessment) -> Evaluation:
        """The work of an assessment."""
        return from_plain(cls, to_plain(result.evaluation), "evaluation")


@dataclass(frozen=True, repr=False, eq=False)
class MuffAssessment(Result):
    """Result of `assess`. `to_json` has everything except ``kills`` and ``labels``.

    Attributes:
        evaluation: Work that the assessment took, see `Evaluation`.
        score: Share of the killable faults that the test set notices, averaged over operators.
        operators: One record per operator.
        notes: Caveats, one sentence each.
        trainings: Number of networks with faults before training that this call trained.
        kills: Inputs that kill mutant instances, by (operator label, strength, set).
        labels: Classes of the test inputs, ``(n,)``; ``None`` for regression.
    """

    verb: ClassVar[str] = "assess"

    subject: AssessedSubject
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    evaluation: Mapping[str, Any]
    score: Score
    operators: tuple[OperatorRecord, ...]
    notes: tuple[str, ...]
    seconds: float
    created: str
    trainings: int = 0
    kills: Mapping[tuple[str, float | None, str], KillBits] = field(repr=False, default_factory=dict)
    labels: npt.NDArray[Any] | None = field(compare=False, default=None)

    def __repr__(self) -> str:
        value, interval = self.score.value, self.score.interval
        score = "none" if value is None else f"{value:.3f}"
        score += f" ({interval.low:.3f} to {interval.high:.3f})" if interval is not None else ""
        scored = f"{self.score.operators} of {self.score.tried} operators scored"
        return f"MuffAssessment({self.subject.name!r}, score {score}, {scored}, {len(self.notes)} notes)"

    def details(self) -> dict[str, Any]:
        """The verb's own part of `to_json`."""
        return {
            "evaluation": to_plain(self.evaluation),
            "score": to_plain(self.score),
            "operators": to_plain(self.operators),
        }

    @classmethod
    def read_details(cls, given: JsonObject) -> dict[str, Any]:
        """The inverse of `details`; ``kills`` and ``labels`` are not in JSON."""
        from_plain(MuffSettings, given.values["settings"], "settings")
        from_plain(Evaluation, given.get("evaluation", Mapping[str, Any]), "evaluation")
        operators = given.get("operators", tuple[OperatorRecord, ...])
        for at, record in enumerate(operators):
            expect_share(record.score, f"operators[{at}].score")
            judged = record.score is None or {"train", "test"} <= record.sets.keys()
            expect(judged, f"operators[{at}].sets", [*record.sets], "train and test")
        return {
            "evaluation": given.values["evaluation"],
            "score": given.get("score", Score),
            "operators": operators,
            "trainings": given.object("timing").get("trainings", int, 0),
        }

    def timing(self) -> dict[str, Any]:
        """Times, and the number of networks that this call trained."""
        return {**super().timing(), "trainings": self.trainings}

    def tables(self) -> dict[str, Rows]:
        """Table ``operators``, and table ``mutants`` with a row per mutant and set."""
        return {
            "operators": [*map(_operator_row, self.operators)],
            "mutants": [_mutant_row(record, mutant) for record in self.operators for mutant in record.mutants],
        }

    @property
    def complete(self) -> bool:
        """Whether no job of any operator failed."""
        return not any(record.status is Status.FAILED for record in self.operators)

    def weakest_first(self) -> list[OperatorRecord]:
        """Operators with faults that the test set misses, lowest score first."""
        missed = (record for record in self.operators if record.score is not None and record.score < 1)
        return sorted(missed, key=lambda record: record.score or 0.0)

    def metrics(self) -> dict[str, float]:
        """The overall score, and the score of each operator."""
        return finite(
            {"score": self.score.value, **{f"score.{record.label}": record.score for record in self.operators}}
        )


def _operator_row(operator: OperatorRecord) -> dict[str, Any]:
    return {
        "operator": operator.label,
        "title": operator.title,
        "status": operator.status.value,
        "score": operator.score,
        "sensitivity": operator.sensitivity,
        **{f"weakest_{name}": summary.weakest_killed for name, summary in operator.sets.items()},
        "mutants": len(operator.mutants),
        "reason": operator.reason,
    }


def _mutant_row(operator: OperatorRecord, mutant: MutantRecord) -> dict[str, Any]:
    return {
        "operator": operator.label,
        "configuration": mutant.operator,
        "strength": mutant.strength,
        "set": mutant.guiding_set,
        "verdict": mutant.verdict.value,
        "instances": mutant.instances,
        "metric_mean": mutant.metric_mean,
        "p_value": mutant.p_value,
        "effect_size": mutant.effect_size,
        "rse": mutant.rse,
        "basis": mutant.basis.value,
        "reason": mutant.reason,
    }


def describe_subject(subject: Subject, runner: Runner) -> AssessedSubject:
    """Record of the subject in the result."""
    means = {}
    for split in runner.splits:
        metrics = [runner.clean(original, split).outcome.metric for original in range(len(runner.models))]
        means[split] = SplitRecord(
            inputs=len(runner.splits[split]),
            metric_mean=float(np.mean(metrics)),
            metric_sd=float(np.std(metrics, ddof=1)) if len(metrics) > 1 else None,
            metrics=tuple(metrics),
        )
    return AssessedSubject(
        name=subject.name,
        model=type(runner.models[0]).__name__,
        originals=len(runner.models),
        task=task_record(runner.task),
        splits=means,
        layers=tuple(layer.name for layer in runner.views[0].layers),
        pool=None if subject.pool is None else len(subject.pool),
        more_originals=subject.recipe is not None and not subject.models,
    )


def classes_of(runner: Runner) -> npt.NDArray[Any] | None:
    """Classes of the test inputs in the smallest integer type; ``None`` for regression."""
    labels = runner.labels("test")
    if labels is None or not isinstance(runner.task, Classification):
        return None
    classes: npt.NDArray[Any] = labels.numpy().astype(np.min_scalar_type(runner.task.classes))
    return classes


def spent(runner: Runner, records: Sequence[OperatorRecord]) -> dict[str, Any]:
    """Plain values for `Evaluation`; mutants with the same patches count once."""
    mutants = [m for record in records for m in record.mutants if m.same_as is None and m.instances]
    return {
        "evaluated": sum(m.evaluated for m in mutants),
        "pairs": sum(m.instances * len(runner.splits[m.guiding_set]) for m in mutants),
        "verdicts": {basis.value: sum(m.basis is basis for m in mutants) for basis in Basis},
    }


def notes(runner: Runner, rule: KillRule, records: Sequence[OperatorRecord]) -> Iterable[str]:
    """Caveats of the result, one sentence each."""
    count = len(runner.models)
    if count == 1:
        paired = "a paired exact test over inputs (McNemar's, pooled over repetitions)"
        tested = paired if rule.test == "mcnemar" else "Fisher's exact test on pooled answers"
        yield (
            f"One original: verdicts come from {tested} and speak of this network only. More originals, trained with "
            "other seeds, would tell faults from the luck of training."
        )
    if count < FEWEST_ORIGINALS and rule.test != "mcnemar":
        few = "one original is" if count == 1 else f"{count} originals are"
        yield f"No interval: {few} too few to resample; {FEWEST_ORIGINALS} or more would give one."
    if isinstance(runner.task, Classification):
        for split in ("train", "test"):
            labels = runner.labels(split)
            missing = sorted(set(range(runner.task.classes)) - set(labels.tolist())) if labels is not None else []
            if missing:
                more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
                yield f"The {split} set has no input of class {', '.join(map(str, missing[:5]))}{more}."
    for record in records:
        for note in record.notes:
            yield f"{record.label}: {note}."
    cut = [r.label for r in records if any(s.stopped in ("probes", "time") for s in r.sets.values())]
    if cut:
        yield f"A budget ended the search of {', '.join(cut)} before its precision did."
    hidden = [f"{record.label} {record.hidden}" for record in records if record.hidden]
    if hidden:
        yield (
            "Survivors on train that are consistently worse than their originals, which a comparison of means does not "
            f"see (the test wilcoxon does): {', '.join(hidden)}."
        )
    unseen = runner.views[0].unseen
    if unseen:
        more = f" and {len(unseen) - 3} more" if len(unseen) > 3 else ""
        yield f"No operator changes {', '.join(unseen[:3])}{more}: the forward pass does not use them in a known way."
