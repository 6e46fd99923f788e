"""Options of `assess` by MUFF's procedure: weak set, savings, and the checks of all arguments before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.core.checks import check_flag, check_whole
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.json_values import to_plain
from mutiny.faults import Operator
from mutiny.faults.evaluation import CleanPass, Screening
from mutiny.faults.parsing import Fault, as_faults, describe
from mutiny.faults.training.base import Program, TrainingOperator
from mutiny.subjects import Subject
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.search import Search, within


@dataclass(frozen=True)
class WeakSet:
    """A deliberately weak test set: the easy inputs of the test set. MUFF, section II-B.

    The papers give no thresholds; these are mutiny's. For classification, the weak set has the inputs on which the
    originals are most confident (mean of the largest class probability).

    For regression, MUFF removes inputs with a *low* mean loss or a low standard deviation of the loss, and that is the
    default. It contradicts the stated purpose, that "corner-case inputs, possibly useful to kill a mutant, are
    removed", which ``regression="high-loss"`` follows. On two measured subjects, the inputs left by ``"high-loss"``
    notice *weaker* mutants than the whole test set, because a mean over small losses moves sooner; so they are not
    weak.

    Args:
        share: Share of the test inputs in the weak set.
        confidence: Smallest mean confidence of inputs to keep, instead of a share; for classification only.
        regression: Inputs to remove: ``"low-loss"`` or ``"high-loss"``.
    """

    share: float = 0.5
    confidence: float | None = None
    regression: str = "low-loss"

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise BadInput("weak share", self.share, "a share between 0 and 1")
        if self.confidence is not None and not 0 < self.confidence <= 1:
            raise BadInput("weak confidence", self.confidence, "a probability")
        if self.regression not in ("high-loss", "low-loss"):
            raise BadInput("weak regression", repr(self.regression), '"low-loss" or "high-loss"')

    def choose(self, passes: Sequence[CleanPass]) -> npt.NDArray[np.int64]:
        """Positions of the weak set in the test set, ascending, from clean passes of the originals."""
        size = passes[0].outcome.inputs
        keep = max(1, round(self.share * size))
        confidences = [p.confidence for p in passes if p.confidence is not None]
        if confidences:
            mean = np.mean(confidences, axis=0)
            if self.confidence is not None:
                kept = np.flatnonzero(mean >= self.confidence)
                if not 0 < len(kept) < size:
                    raise BadInput(
                        "weak confidence",
                        self.confidence,
                        "a threshold that keeps some of the test inputs, not all",
                        f"It keeps {len(kept)} of {size}; the median confidence is {np.median(mean):.4f}.",
                    )
                return kept
            return np.sort(np.argsort(-mean, kind="stable")[:keep])
        losses = np.array([p.shares for p in passes])
        ranks = [_ranks(losses.mean(axis=0)), *([_ranks(losses.std(axis=0))] if len(passes) > 1 else [])]
        if self.regression == "high-loss":
            return np.sort(np.argsort(np.max(ranks, axis=0), kind="stable")[:keep])
        return np.sort(np.argsort(-np.min(ranks, axis=0), kind="stable")[:keep])


def _ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")


@dataclass(frozen=True)
class Savings:
    """Ways to train less, or faster, for the same verdicts; `Savings.none` switches all of them off.

    Args:
        shared: Evaluate a trained network on every set of inputs, keep it on disk, and use it in every search and for
            every configuration that is the same program. Otherwise each search trains its own networks.
        beginnings: Take mutants with fewer epochs or less patience from intermediate states of one longer training.
        first_group: Number of instances to train first. The number is doubled until the missing instances cannot change
            the verdict; ``None`` trains all instances.
        together: Train the instances of a group at once with stacked weights, where the network allows it (no dropout,
            no normalization over batches, no early stopping). It is two to seven times as fast for a small perceptron,
            but slower for most convolutions, and rounding differs from single trainings.

    >>> list(Savings().groups(20)), list(Savings(first_group=None).groups(20))
    ([5, 10, 20], [20])
    """

    shared: bool = True
    beginnings: bool = True
    first_group: int | None = 5
    together: bool = False

    def __post_init__(self) -> None:
        for name in ("shared", "beginnings", "together"):
            check_flag(name, getattr(self, name))
        check_whole("first_group", 1 if self.first_group is None else self.first_group)

    @classmethod
    def none(cls) -> Savings:
        """Trains every network whenever it is needed."""
        return cls(shared=False, beginnings=False, first_group=None)

    def groups(self, total: int) -> Iterator[int]:
        """Number of instances after each group."""
        size = total if self.first_group is None else self.first_group
        while size < total:
            yield size
            size *= 2
        yield total


@dataclass(frozen=True)
class MuffOptions:
    """Options that decide how mutants are searched and judged.

    Attributes:
        rule: Resolved kill rule.
        search: Limits and precision of the search.
        weak: Definition of the weak test set.
        screening: Confidence required to stop before all inputs are evaluated; ``None`` evaluates every input.
        savings: Trainings that may be shared or left out.
    """

    rule: KillRule
    search: Search
    weak: WeakSet
    screening: Screening | None
    savings: Savings

    @classmethod
    def checked(cls, originals: int, exact: bool, **given: Any) -> MuffOptions:
        """Options with defaults in place of ``None``; an error if one has a wrong class.

        Args:
            originals: Number of originals, for which the rule is resolved.
            exact: Evaluate every input, and train every instance.
            given: Options by name.
        """
        kinds = {"rule": KillRule, "search": Search, "weak": WeakSet, "screening": Screening, "savings": Savings}
        for name, kind in kinds.items():
            given[name] = kind() if given[name] is None else given[name]
            if not isinstance(given[name], kind):
                raise BadInput(name, repr(given[name])[:60], f"a {kind.__name__}")
        options = cls(**{**given, "rule": given["rule"].resolve(originals)})
        if not exact:
            return options
        return replace(options, screening=None, savings=replace(options.savings, first_group=None))

    def plain(self, weak_given: bool) -> dict[str, Any]:
        """Plain values for the settings of a result; ``weak_given`` if the subject has its own weak set."""
        values: dict[str, Any] = to_plain(self)
        return {**values, "weak": "given"} if weak_given else values


def checked_operators(
    operators: str | Iterable[str | Fault] | None, search: Search, subject: Subject, originals: int
) -> dict[str, Fault]:
    """Operators by label; an error if one is given twice, or if the search does not fit."""
    wanted = as_faults(operators)
    labels = [describe(operator) for operator in wanted]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise BadInput(
            "operators", repr(", ".join(twice)), "each operator once", "Vary a parameter that is not searched."
        )
    for operator in wanted:
        if isinstance(operator, Operator) and operator.strength is not None:
            search.bounds(operator.bounds)
    if search.k_max * originals < search.min_instances:
        raise BadInput(
            "k_max",
            search.k_max,
            f"at least {-(-search.min_instances // originals)} with {originals} original(s)",
            f"With fewer than min_instances={search.min_instances} instances no mutant is ever stable.",
        )
    _check_training(wanted, search, subject)
    return dict(zip(labels, wanted, strict=True))


def _check_training(operators: Sequence[Fault], search: Search, subject: Subject) -> None:
    """Checks the bounds of the search for operators before training; the run reports operators that do not apply."""
    if subject.recipe is None:
        return
    program = Program(subject.recipe, subject.training.data, subject.task, subject.forward)
    for operator in operators:
        if isinstance(operator, TrainingOperator):
            with suppress(NotApplicable):
                operator.configurations(program)
                if operator.strength is not None:
                    within(operator.span(program), search)
