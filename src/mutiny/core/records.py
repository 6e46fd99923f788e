"""Frozen records: all that crosses a boundary between parts of mutiny."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint8]


class Verdict(StrEnum):
    """What became of a mutant on one set of inputs."""

    KILLED = "killed"
    SURVIVED = "survived"
    UNSTABLE = "unstable"
    INVALID = "invalid"


class Status(StrEnum):
    """What became of an operator."""

    SCORED = "scored"
    NOT_KILLABLE = "not killable"
    INVALID = "invalid"
    FAILED = "failed"


class Basis(StrEnum):
    """What a verdict rests on."""

    EXACT = "exact"
    """Every input was evaluated, or nothing that was not can matter."""
    SAMPLED = "sampled"
    """Random samples of inputs, with bounds that hold whatever the rest does."""
    EXTRAPOLATED = "extrapolated"
    """The same, but inputs that are far from changing are bounded by how little those in the sample moved."""
    FOREGONE = "foregone"
    """Every input on some of the instances; whatever the others would do, the verdict stands."""


@dataclass(frozen=True)
class KillEvidence:
    """What a kill rule found: the numbers, and the conclusion from them.

    Attributes:
        killed: both thresholds passed, in the direction of "worse".
        p_value: two-sided.
        effect_size: positive where the mutant is worse; infinite where both groups have no spread and differ.
        note: why the answer was defined rather than computed, where that is so.
    """

    killed: bool
    p_value: float
    effect_size: float
    note: str = ""


@dataclass(frozen=True)
class MutantRecord:
    """One mutant (an operator at one strength) judged on one set of inputs.

    Attributes:
        strength: value of the operator's strength; ``None`` if it has none.
        guiding_set: the inputs it was judged on: ``train``, ``test`` or ``weak``.
        verdict: never a boolean.
        reason: why it is unstable or invalid, or what the reader should know.
        instances: mutant instances evaluated (originals x repetitions).
        rse: relative standard error of the metric over instances, MUFF eq. 5.
        p_value: of the kill rule's test.
        p_adjusted: Holm-adjusted over all mutants judged on this set.
        effect_size: of the kill rule; positive where the mutant is worse.
        metric_mean: mean of the task's metric over instances.
        killed_classes: share of (instance, class) pairs in which some input of the class went from right to wrong,
            MUFF eq. 1; ``None`` for regression.
        triviality: share of (instance, input) pairs that went from right to wrong; from 0.9 on a mutant is trivial.
        searched: whether the search on this set probed it, or only another set's search did.
        same_as: the strength whose patches are the very same (a ratio that rounds to as many neurons), if there is one.
        metrics: metric of each instance, one row per repetition, one column per original.
        basis: what the verdict rests on; unless it is exact, the numbers above are estimates.
        evaluated: (instance, input) pairs that were evaluated, of ``instances`` times the inputs of the set.
        metric_error: how far off the mean metric can be, at the stated confidence.
        power: of faults before training, the chance that as many trainings show an effect of this size; DeepCrime
            calls a mutant unstable below 0.8.
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
    """What one set of inputs could do against an operator.

    ``weakest_killed`` is the smallest killed strength found: the smaller, the sharper the set; ``archive`` holds all
    that its search killed, from easy to hard. Of faults before training, as DeepCrime defines them: ``killability`` is
    the share of all configurations that the set kills, or of the way from the mildest to the severest value;
    ``instability`` the share of those tried with a power below 0.8.
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
        score: eq. 3 on the test set, in the form that ``score_form`` names.
        set_score: eq. 3 as printed, over the mutants that train's search killed.
        telling_score: the same without the trivial and the redundant ones.
        sensitivity: eq. 4; ``sensitivity_reason`` says why there is none.
        killed_classes: eq. 1, mean over the mutants that train's search killed.
        redundant: strengths of those that a harder mutant makes superfluous on the test set.
        redundant_configurations: the same where there is no strength.
        hidden: survivors on train that a paired rank test over originals would kill: consistently worse, but the
            spread hides it from a comparison of means.
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
        """Which strengths are severer than one: ``more``, or ``less``, as for epochs."""
        return "less" if self.bounds is not None and self.bounds[0] > self.bounds[1] else "more"

    def survivors(self) -> list[MutantRecord]:
        """Mutants that the training set kills and that survive on the test set; the very same ones once.

        One that is unstable there has no verdict: it does not survive, and is not killed.
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
        """How many mutants that the training set kills the test set misses, and how many it kills."""
        killed = {
            split: {(m.operator, m.strength) for m in self.mutants if m.guiding_set == split and m.verdict == "killed"}
            for split in ("train", "test")
        }
        return len(killed["train"] - killed["test"]), len(killed["train"])


@dataclass(frozen=True)
class KillBits:
    """Which inputs kill which instances of a mutant, one bit each.

    Attributes:
        originals: packed correctness of the originals, ``(originals, bytes)``.
        mutants: packed correctness of the instances, ``(repetitions, originals, bytes)``.
        inputs: number of inputs.
    """

    originals: Bits
    mutants: Bits
    inputs: int

    @property
    def packed(self) -> Bits:
        """``(repetitions, originals, bytes)``: the original was right and the instance is wrong."""
        return self.originals[None] & ~self.mutants

    def kills(self) -> npt.NDArray[np.bool_]:
        """The same unpacked, ``(repetitions, originals, inputs)``."""
        return np.unpackbits(self.packed, axis=-1, count=self.inputs).astype(bool)

    def per_input(self) -> npt.NDArray[np.int64]:
        """``(inputs,)``: how many instances each input kills."""
        counts = np.zeros(self.inputs, np.int64)
        for repetition in self.packed:
            counts += np.unpackbits(repetition, axis=-1, count=self.inputs).sum(axis=0, dtype=np.int64)
        return counts
