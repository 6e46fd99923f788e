"""Verdicts, and the records of mutants and operators that results, stores and reports share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.core.json_values import omitted_if_none

Bits = npt.NDArray[np.uint8]


class Verdict(StrEnum):
    """Verdict on a mutant on one set of inputs."""

    KILLED = "killed"
    SURVIVED = "survived"
    UNSTABLE = "unstable"
    INVALID = "invalid"


class JudgeOutcome(StrEnum):
    """What a judge says about a fault."""

    NOTICED = "noticed"
    MISSED = "missed"
    UNDECIDED = "undecided"
    """The judge cannot tell, as if a metric is not defined; counts neither as noticed nor as missed."""
    BROKEN = "broken"
    """The judge itself failed; counts neither as noticed nor as missed."""

    @property
    def decided(self) -> bool:
        """Whether the fault is noticed or missed."""
        return self in (JudgeOutcome.NOTICED, JudgeOutcome.MISSED)


class Status(StrEnum):
    """Outcome of an operator."""

    SCORED = "scored"
    NOT_KILLABLE = "not killable"
    UNSTABLE = "unstable"
    """The training set kills mutants, but the test set's verdicts on them are unstable."""
    INVALID = "invalid"
    FAILED = "failed"


class Basis(StrEnum):
    """Evidence that a verdict is based on."""

    EXACT = "exact"
    """Every input that can affect the verdict was evaluated."""
    SAMPLED = "sampled"
    """Random samples of inputs were evaluated; the bounds hold for any outputs on the other inputs."""
    EXTRAPOLATED = "extrapolated"
    """As SAMPLED, but inputs far from the decision boundary are bounded by how little the sampled outputs moved."""
    PREDICTED = "predicted"
    """Random samples of inputs were evaluated; answers to the others were predicted, nearly all with one result."""
    FOREGONE = "foregone"
    """Some instances were evaluated on every input; the other instances cannot change the verdict."""


@dataclass(frozen=True)
class KillEvidence:
    """Numbers of a kill rule, and the conclusion from them.

    Attributes:
        killed: Whether the mutant is worse by both thresholds.
        p_value: Two-sided p-value.
        effect_size: Effect size, positive if the mutant is worse; infinite if both groups have no spread but differ.
        note: Reason why the numbers were set by definition rather than computed; empty otherwise.
    """

    killed: bool
    p_value: float
    effect_size: float
    note: str = ""


@dataclass(frozen=True)
class MutantRecord:
    """One mutant (an operator at one strength) judged on one set of inputs.

    Attributes:
        strength: Value of the operator's strength; ``None`` if it has none.
        guiding_set: Set of inputs for this verdict: ``train``, ``test`` or ``weak``.
        verdict: Verdict on this set.
        reason: Reason why it is unstable or invalid, or another remark.
        instances: Mutant instances evaluated (originals x repetitions).
        rse: Relative standard error of the metric over instances, MUFF eq. 5.
        p_value: P-value of the kill rule.
        p_adjusted: P-value after Holm's correction over all mutants judged on this set.
        effect_size: Effect size of the kill rule; positive if the mutant is worse.
        metric_mean: Mean of the task's metric over instances.
        killed_classes: Share of (instance, class) pairs in which some input of the class went from right to wrong,
            MUFF eq. 1; ``None`` for regression.
        triviality: Share of (instance, input) pairs that went from right to wrong; from 0.9 on a mutant is trivial.
        searched: Whether the search on this set probed it, not only the search on another set.
        same_as: Another strength with identical patches, e.g. a ratio that rounds to the same number of neurons.
        metrics: Metric of each instance, one row per repetition, one column per original.
        basis: Evidence that the verdict is based on; unless exact, the numbers above are estimates.
        evaluated: (instance, input) pairs that were evaluated, of ``instances`` times the inputs of the set.
        metric_error: Largest error of the mean metric, at the stated confidence.
        power: For faults before training, probability that this number of trainings shows an effect of this size;
            below 0.8, DeepCrime calls a mutant unstable.
    """

    operator: str
    strength: float | None
    guiding_set: str
    verdict: Verdict
    reason: str = ""
    instances: int = 0
    rse: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    effect_size: float | None = None
    metric_mean: float | None = None
    killed_classes: float | None = None
    triviality: float | None = None
    searched: bool = True
    same_as: float | None = None
    metrics: tuple[tuple[float, ...], ...] = ()
    basis: Basis = Basis.EXACT
    evaluated: int = 0
    metric_error: float = 0.0
    power: float | None = None


@dataclass(frozen=True)
class SetSummary:
    """Results of one set of inputs for an operator.

    ``weakest_killed`` is the smallest killed strength found; a more sensitive set has a smaller one. ``archive`` holds
    all strengths that its search killed, from easy to hard. For faults before training, as DeepCrime defines them:
    ``killability`` is the share of all configurations that the set kills, or the killed share of the range from the
    mildest to the severest value; ``instability`` is the share of the tried configurations with a power below 0.8.
    """

    weakest_killed: float | None
    archive: tuple[float | None, ...]
    killed: int
    survived: int
    unstable: int
    mean_instances: float | None
    stopped: str
    score: float | None = None
    set_score: float | None = None
    killability: float | None = None
    instability: float | None = None


@dataclass(frozen=True)
class OperatorRecord:
    """One operator's results on every set.

    Attributes:
        score: Eq. 3 on the test set, in the form that ``score_form`` names.
        set_score: Eq. 3 as printed, over the mutants that train's search killed.
        telling_score: The same without trivial and redundant mutants.
        sensitivity: Eq. 4; ``sensitivity_reason`` says why there is none.
        killed_classes: Eq. 1, mean over the mutants that train's search killed.
        redundant: Strengths of the mutants that a harder mutant makes redundant on the test set.
        redundant_configurations: Redundant mutants of an operator without a strength.
        hidden: Number of survivors on train that a paired rank test over originals would kill: consistently worse,
            but by less than the spread of the metric.
    """

    code: str
    title: str
    label: str
    parameters: Mapping[str, Any]
    strength: str | None
    bounds: tuple[float, float] | None
    status: Status
    reason: str = ""
    score: float | None = None
    score_form: str | None = None
    set_score: float | None = None
    telling_score: float | None = None
    sensitivity: float | None = None
    sensitivity_reason: str = ""
    killed_classes: float | None = None
    sets: Mapping[str, SetSummary] = field(default_factory=dict)
    mutants: tuple[MutantRecord, ...] = ()
    redundant: tuple[float | None, ...] = ()
    redundant_configurations: tuple[str, ...] = ()
    hidden: int = 0
    notes: tuple[str, ...] = ()

    @property
    def severer(self) -> str:
        """Direction of severer strengths: ``more``, or ``less``, as for epochs."""
        return "less" if self.bounds is not None and self.bounds[0] > self.bounds[1] else "more"

    def survivors(self) -> list[MutantRecord]:
        """Mutants that the training set kills and that survive on the test set; identical ones are listed once.

        A mutant that is unstable on the test set is not a survivor.
        """
        by_train = {
            (m.operator, m.strength) for m in self.mutants if m.guiding_set == "train" and m.verdict is Verdict.KILLED
        }
        return [
            m
            for m in self.mutants
            if m.guiding_set == "test"
            and m.verdict is Verdict.SURVIVED
            and m.same_as is None
            and (m.operator, m.strength) in by_train
        ]

    def missed(self) -> tuple[int, int]:
        """Number of mutants that train kills and test does not, and number that train kills."""
        killed = {
            split: {(m.operator, m.strength) for m in self.mutants if m.guiding_set == split and m.verdict == "killed"}
            for split in ("train", "test")
        }
        return len(killed["train"] - killed["test"]), len(killed["train"])


@dataclass(frozen=True)
class FaultJudgement:
    """What one judge says about one fault.

    Attributes:
        judge: The judge as users type it.
        outcome: Its outcome.
        reason: Why it is undecided or broken; ``None`` otherwise.
        values: Numbers that decided it, such as the metrics of a gate; ``None`` without any.
    """

    judge: str
    outcome: JudgeOutcome
    reason: str | None = omitted_if_none()
    values: tuple[float, ...] | None = omitted_if_none()


@dataclass(frozen=True)
class FaultRecord:
    """One fault: an operator at one strength on one original with one seed.

    Attributes:
        operator: Label of the operator.
        configuration: Operator with all its parameters, as `mutiny.mutants` reads it.
        parameter: Name of the parameter that ``strength`` is the value of; ``None`` if the operator has no strength.
        strength: Value of the operator's strength; ``None`` if it has none.
        original: Number of the original, from 0.
        seed: Number of the random choice of weights, neurons or layers, from 0.
        cost: What the fault loses on the reference set, in the unit of the assessment; NaN without a reference set.
        noticed: Whether the paired test notices it on the test set.
        p_value: P-value of the paired test on the test set.
        basis: Evidence for cost and p-value: every input, or samples.
        hits: Class that bears at least half of the cost; ``None`` if no class does, or without a reference set.
        patch: Digest of the exact edit; empty in results of earlier versions.
        judged: What each judge says, in their order; ``None`` if the paired test is the only one.
    """

    operator: str
    configuration: str
    parameter: str | None
    strength: float | None
    original: int
    seed: int
    cost: float
    noticed: bool
    p_value: float
    basis: Basis = Basis.EXACT
    hits: int | None = None
    patch: str = ""
    judged: tuple[FaultJudgement, ...] | None = omitted_if_none()

    def outcome(self, judge: str) -> JudgeOutcome:
        """What a judge says about the fault; of the paired test, if the judge did not say anything."""
        for judgement in self.judged or ():
            if judgement.judge == judge:
                return judgement.outcome
        return JudgeOutcome.NOTICED if self.noticed else JudgeOutcome.MISSED


@dataclass(frozen=True)
class KillBits:
    """Which inputs kill which instances of a mutant, one bit each.

    Attributes:
        originals: Packed correctness of the originals, ``(originals, bytes)``.
        mutants: Packed correctness of the instances, ``(repetitions, originals, bytes)``.
        inputs: Number of inputs.
    """

    originals: Bits
    mutants: Bits
    inputs: int

    @property
    def packed(self) -> Bits:
        """``(repetitions, originals, bytes)``: the original was right and the instance is wrong."""
        return self.originals[None] & ~self.mutants

    def kills(self) -> npt.NDArray[np.bool_]:
        """The kills as booleans, ``(repetitions, originals, inputs)``."""
        return np.unpackbits(self.packed, axis=-1, count=self.inputs).astype(bool)

    def per_input(self) -> npt.NDArray[np.int64]:
        """Number of instances that each input kills, ``(inputs,)``."""
        counts = np.zeros(self.inputs, np.int64)
        for repetition in self.packed:
            counts += np.unpackbits(repetition, axis=-1, count=self.inputs).sum(axis=0, dtype=np.int64)
        return counts
