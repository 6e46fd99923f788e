"""Finds faults of one operator on one original, measures what they cost, and asks the test set about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from mutiny.core.parsing import described
from mutiny.core.random import generator_for
from mutiny.core.records import Basis, FaultJudgement, FaultRecord
from mutiny.core.stats.notice import mcnemar_worse
from mutiny.faults import Operator
from mutiny.faults.evaluation import Runner
from mutiny.faults.evaluation.answer_sample import AllAnswers, AnswerSample, WeightedChanges
from mutiny.faults.evaluation.change_chance import KnownInputs
from mutiny.models import Patch
from mutiny.subjects.tasks import Classification
from mutiny.verbs.assess.cost_scale import CostScale, MeasuredCost, combined_cost, scale_limits, trained_weight
from mutiny.verbs.assess.cost_unit import CostUnit
from mutiny.verbs.assess.distinct_tests import DistinctTests
from mutiny.verbs.assess.judges.judging import Judging
from mutiny.verbs.assess.reference import Reference
from mutiny.verbs.assess.sampling import same_bin, same_verdict
from mutiny.verbs.assess.strength_search import place

TEST = "test"
DRAWS = 4
"""Random draws for each repetition of an operator without a strength."""
NEAR = 1.5
"""A sampled cost that is within this factor of the bins is measured precisely."""


@dataclass(frozen=True, eq=False)
class FoundFault:
    """A fault, and how it changes the answers to the test inputs.

    Attributes:
        record: The fault.
        positions: Test inputs whose answer changes, ``(k,)``.
        change: How much worse these answers are, ``(k,)``.
        weight: Number of test inputs that each of them stands for, ``(k,)``: 1 unless the test set was sampled.
        evaluated: Number of test inputs evaluated.
        trained_cost: Cost on the training inputs of the original, if costs are measured on them, too.
        held_out_cost: Cost on the reference set, if costs are measured on training inputs, too.
        tolerated: Mean change of the test answers that is too small to be noticed.
        digest: Digest of the patch; two random choices of an operator may find the same one.
        repaired: Share of the reference inputs that the fault repairs; ``None`` unless a judge asked for it.
    """

    record: FaultRecord
    positions: npt.NDArray[np.int32]
    change: npt.NDArray[np.float32]
    weight: npt.NDArray[np.float32]
    evaluated: int
    trained_cost: MeasuredCost | None = None
    held_out_cost: MeasuredCost | None = None
    tolerated: float = 0.0
    digest: str = ""
    repaired: float | None = None


@dataclass(frozen=True, eq=False)
class FoundFaults:
    """Faults of one search.

    Attributes:
        faults: The faults that are kept.
        evaluated: Number of inputs evaluated, for all strengths that were tried.
        everything: Number of inputs that evaluating all of them would have taken.
    """

    faults: tuple[FoundFault, ...]
    evaluated: int
    everything: int


@dataclass(frozen=True, eq=False)
class _Measured:
    """A patch with its answers to the inputs on which its cost is measured.

    Attributes:
        answers: Answers to the reference set, or to the training inputs if costs are measured on them, too.
        split: Name of that split.
        held_out: Answers to the reference set, if costs are measured on training inputs, too.
        held_out_cost: Cost on the reference set, if costs are measured on training inputs, too.
        scale: Scale of the search.
    """

    patch: Patch
    operator: Operator
    strength: float | None
    seed: int
    answers: AllAnswers | AnswerSample
    split: str
    metric: float
    unit: CostUnit
    held_out: AllAnswers | None
    held_out_cost: MeasuredCost | None
    scale: CostScale

    @property
    def answered_cost(self) -> MeasuredCost:
        """The cost on the inputs that were answered; an estimate if they were sampled."""
        return measured_cost(self.unit, self.answers, self.metric)

    @property
    def cost(self) -> float:
        """The cost of the fault, as far as the search knows its scale."""
        if self.held_out_cost is None:
            return self.answered_cost.value
        return combined_cost(self.scale.ratio, self.scale.limits, self.answered_cost, self.held_out_cost)

    def answered_edges(self) -> list[float]:
        """Edges of the bins, for the cost on the inputs that were answered; none if it does not matter."""
        if self.held_out_cost is None:
            return [*self.unit.edges]
        weight = trained_weight(self.scale.ratio, self.scale.limits, self.answered_cost, self.held_out_cost)
        rest = (1 - weight) * self.held_out_cost.value
        return [(edge - rest) / (weight * self.scale.ratio) for edge in self.unit.edges] if weight > 0 else []


@dataclass(frozen=True, eq=False)
class FaultSearch:
    """Finds faults; a pure function of its attributes and the arguments of `find`, so that any worker can do it.

    Attributes:
        runner: Originals and their data.
        reference: Inputs on which costs are measured.
        unit: Unit of costs.
        alpha: Significance level at which the test set notices a fault.
        sampled: Splits of which only as many inputs are evaluated as the bin or the verdict needs.
        distinct: Where the evaluated tests are in the test set of the subject; ``None`` if they are all of it.
        judging: Judges besides the paired test, which see all answers to the test set.
    """

    runner: Runner
    reference: Reference
    unit: CostUnit
    alpha: float
    sampled: frozenset[str] = frozenset()
    distinct: DistinctTests | None = None
    judging: Judging = field(default_factory=lambda: Judging((), TEST))
    _known: dict[tuple[int, str], KnownInputs] = field(default_factory=dict, repr=False)

    def find(self, operator: Operator, label: str, original: int, seed: int) -> FoundFaults:
        """Faults of an operator on one original with one random choice, at most a few in each bin of cost.

        Of the faults outside all bins, the costliest harmless one and the mildest drastic one are returned as well.

        Args:
            operator: Operator; its strength is searched.
            label: Name of the operator in records.
            original: Number of the original.
            seed: Number of the random choice.
        """
        measured = [*self._measured(operator, original, seed)]
        for fault in measured:
            self._settle(fault)
        wider = NEAR if self.reference.trained else 1.0  # the scale of all faults together is not known yet
        low, high = self.unit.edges[0] / wider, self.unit.edges[-1] * wider
        kept = [fault for fault in measured if low <= fault.cost < high]
        kept += sorted((f for f in measured if f.cost < low), key=lambda f: f.cost)[-1:]
        kept += sorted((f for f in measured if f.cost >= high), key=lambda f: f.cost)[:1]
        faults = [self._judged(fault, label, original) for fault in sorted(kept, key=lambda f: f.cost)]
        return self._counted(measured, faults)

    def _measured(self, operator: Operator, original: int, seed: int) -> Iterator[_Measured]:
        """All faults that the search tries, with their cost."""
        seen, scale = set[str](), CostScale(scale_limits(self.unit.edges), prior=self.unit.edges[-2])
        if operator.strength is None:
            choices = operator.choices(self.runner.views[original])
            draws = range(seed * DRAWS, (seed + 1) * DRAWS)
            for draw in draws if choices is None or choices > 1 else draws[: int(seed == 0)]:
                fault = self._measure(operator, None, original, draw, seen, scale)
                if fault is not None:
                    yield fault
            return
        for tuned in searched(operator):
            measured = self._placed(tuned, original, seed, seen, scale)
            yield from measured
            if max((fault.cost for fault in measured), default=0.0) >= self.unit.edges[-2]:
                return  # this parameter reaches all bins

    def _placed(
        self, operator: Operator, original: int, seed: int, seen: set[str], scale: CostScale
    ) -> list[_Measured]:
        """Faults along the strength of an operator."""
        found: list[_Measured] = []

        def cost_at(strength: float) -> float | None:
            fault = self._measure(operator.at(strength), strength, original, seed, seen, scale)
            if fault is None:
                return None
            found.append(fault)
            return fault.cost

        place(cost_at, operator.bounds, self.unit.edges)
        return found

    def _measure(
        self,
        operator: Operator,
        strength: float | None,
        original: int,
        seed: int,
        seen: set[str],
        scale: CostScale,
    ) -> _Measured | None:
        """The cost of a fault; ``None`` if the same patch was measured before, or changes nothing."""
        patch = self.runner.patch(operator, original, seed)
        if patch.digest in seen:
            return None
        seen.add(patch.digest)
        split, trained = self.reference.split(original), self.reference.trained_split(original)
        held_out = None if trained is None else AllAnswers(self.runner.change(patch, original, split))
        held_out_cost = None if held_out is None else measured_cost(self.unit, held_out, self._metric(original, split))
        split = trained or split
        answers = self._answers(patch, original, split)
        fault = _Measured(
            patch=patch,
            operator=operator,
            strength=strength,
            seed=seed,
            answers=answers,
            split=split,
            metric=self._metric(original, split),
            unit=self.unit,
            held_out=held_out,
            held_out_cost=held_out_cost,
            scale=scale,
        )
        if held_out_cost is not None:
            scale.add(fault.answered_cost.value, held_out_cost.value)
        return fault

    def _metric(self, original: int, split: str) -> float:
        return self.runner.clean(original, split).outcome.metric

    def judged(self, operator: Operator, original: int, seed: int) -> FoundFaults:
        """The fault of an operator at its given strength."""
        fault = self._measure(operator, None, original, seed, set(), CostScale(scale_limits(self.unit.edges)))
        assert fault is not None
        return self._counted([fault], [self._judged(fault, operator.code, original)])

    def _counted(self, measured: Sequence[_Measured], faults: Sequence[FoundFault]) -> FoundFaults:
        of_reference = [a for fault in measured for a in (fault.answers, fault.held_out) if a is not None]
        return FoundFaults(
            tuple(faults),
            sum(answers.evaluated for answers in of_reference) + sum(fault.evaluated for fault in faults),
            sum(answers.inputs for answers in of_reference) + len(faults) * len(self.runner.splits[TEST]),
        )

    def _judged(self, fault: _Measured, label: str, original: int) -> FoundFault:
        answers, said = self._test_answers(fault.patch, original)
        metric = self._metric(original, TEST)
        if isinstance(answers, AnswerSample):
            answers.until(partial(same_verdict, self.alpha))
            p_value = float(mcnemar_worse(*np.rint(answers.estimate()).astype(np.int64)))
        else:
            p_value = self.unit.p_value(answers.change, metric)
        record = FaultRecord(
            operator=label,
            configuration=described(fault.operator, fault.operator.code),
            parameter=fault.operator.strength,
            strength=fault.strength,
            original=original,
            seed=fault.seed,
            cost=fault.cost,
            noticed=p_value < self.alpha,
            p_value=p_value,
            basis=Basis.EXACT if fault.answers.complete and answers.complete else Basis.PREDICTED,
            hits=self._hits(fault.answers.changed(), fault.split),
            judged=said,
        )
        changed = answers.changed()
        return FoundFault(
            record,
            changed.positions.astype(np.int32),
            changed.change,
            changed.weight,
            answers.evaluated,
            None if fault.held_out_cost is None else fault.answered_cost,
            fault.held_out_cost,
            self.unit.tolerated(metric),
            fault.patch.digest,
            _repaired(fault.held_out or fault.answers) if self.judging else None,
        )

    def _test_answers(
        self, patch: Patch, original: int
    ) -> tuple[AllAnswers | AnswerSample, tuple[FaultJudgement, ...] | None]:
        """Answers of a patched original to the tests, and what judges besides the paired test say about them."""
        if not self.judging:
            return self._answers(patch, original, TEST), None
        change, said = self.judging.judged(self.runner, patch, original)
        return AllAnswers(change), said

    def _answers(self, patch: Patch, original: int, split: str) -> AllAnswers | AnswerSample:
        """Answers of a patched original to all inputs of a split, or to a first sample of them."""
        if split not in self.sampled:
            return AllAnswers(self.runner.change(patch, original, split))
        rng = generator_for(self.runner.seed, "predicted answers", patch.digest, split)
        evaluate = partial(self.runner.changed_outputs, patch, original, split)
        return AnswerSample(self._known_inputs(original, split), evaluate, rng)

    def _known_inputs(self, original: int, split: str) -> KnownInputs:
        key, runner = (original, split), self.runner
        if key not in self._known:
            labels, task = runner.labels(split), runner.task
            assert labels is not None
            assert isinstance(task, Classification)
            priority = generator_for(runner.seed, "sampled inputs", split).random(len(labels))
            self._known[key] = KnownInputs.of(runner.clean(original, split), task, labels, priority)
        return self._known[key]

    def _settle(self, fault: _Measured) -> None:
        """Evaluates as much of the reference set as the bin of a fault needs."""
        edges, answers = self.unit.edges, fault.answers
        if isinstance(answers, AnswerSample) and edges[0] / NEAR <= fault.cost < edges[-1] * NEAR:
            answers.until(partial(same_bin, fault.answered_edges(), answers.inputs))

    def _hits(self, changed: WeightedChanges, split: str) -> int | None:
        """The class that bears at least half of the cost on the reference set."""
        labels, task = self.runner.labels(split), self.runner.task
        if labels is None or not isinstance(task, Classification):
            return None
        classes = labels.numpy()[changed.positions]
        lost = np.bincount(classes, weights=changed.change * changed.weight, minlength=task.classes)
        worst = int(lost.argmax())
        return worst if lost[worst] > 0 and 2 * lost[worst] >= lost.sum() else None


def _repaired(answers: AllAnswers | AnswerSample) -> float:
    """Share of inputs whose answers are repaired."""
    changed = answers.changed()
    return float(changed.weight[changed.change < 0].sum()) / max(1, answers.inputs)


def measured_cost(unit: CostUnit, answers: AllAnswers | AnswerSample, metric: float) -> MeasuredCost:
    """The cost of a fault as its answers show it, with its standard error.

    Args:
        unit: Unit of the cost.
        answers: Answers to some inputs.
        metric: Metric of the original on these inputs.
    """
    return MeasuredCost(unit.cost(answers.mean, metric), unit.error(answers.error, answers.inputs, metric))


def distinct(faults: Iterable[FoundFault]) -> list[FoundFault]:
    """The faults, each patch of an original once: operators with few choices find the same ones again and again."""
    found = dict[tuple[int, str | int], FoundFault]()
    for number, fault in enumerate(faults):
        found.setdefault((fault.record.original, fault.digest or number), fault)
    return [*found.values()]


def scaled(
    faults: Mapping[str, Sequence[FoundFault]], unit: CostUnit
) -> tuple[dict[str, list[FoundFault]], float | None]:
    """The same faults with costs from training inputs, too, scaled by one ratio for all faults, and the ratio.

    Args:
        faults: Faults by label of their operator.
        unit: Unit of costs.

    Returns:
        The faults, and ``None`` as the ratio if no costs were measured on training inputs.
    """
    everything = [fault for group in faults.values() for fault in group]
    costs = [(f.trained_cost, f.held_out_cost) for f in everything]
    known = [(trained.value, held.value) for trained, held in costs if trained is not None and held is not None]
    if not known:
        return {label: [*group] for label, group in faults.items()}, None
    ratio = CostScale.of(known, scale_limits(unit.edges)).ratio
    return {
        label: [replace(fault, record=scaled_record(fault, ratio, unit)) for fault in group]
        for label, group in faults.items()
    }, ratio


def scaled_record(fault: FoundFault, ratio: float | None, unit: CostUnit) -> FaultRecord:
    """The record of a fault, with the cost that a known ratio gives it."""
    if ratio is None or fault.trained_cost is None or fault.held_out_cost is None:
        return fault.record
    cost = combined_cost(ratio, scale_limits(unit.edges), fault.trained_cost, fault.held_out_cost)
    return replace(fault.record, cost=cost)


def searched(operator: Operator) -> Iterator[Operator]:
    """The operator with each parameter that may be searched, as its strength.

    The strength itself comes first, then other tunable parameters that have their default value; last, the strength
    again with these at their largest value, because shrinking a few neurons may cost nothing however much they shrink.

    >>> from mutiny.faults import NeuronInhibitor
    >>> [(tuned.strength, tuned.ratio) for tuned in searched(NeuronInhibitor())]
    [('factor', 0.05), ('ratio', 0.05), ('factor', 1.0)]
    >>> [(tuned.strength, tuned.ratio) for tuned in searched(NeuronInhibitor(ratio=0.3))]
    [('factor', 0.3)]
    """
    yield operator
    defaults = {field.name: field.default for field in fields(operator)}
    others = [
        name for name in operator.tunable if name != operator.strength and getattr(operator, name) == defaults[name]
    ]
    for name in others:
        yield replace(operator, **{"search": name})
    for name in others:
        yield replace(operator, **{name: operator.tunable[name][1]})
