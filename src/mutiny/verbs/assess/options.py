"""Arguments of `assess`, checked before anything is trained or run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.records import to_plain
from mutiny.faults import Operator
from mutiny.faults.evaluation import CleanPass, Screening
from mutiny.faults.naming import describe
from mutiny.faults.parsing import Fault, as_faults
from mutiny.faults.training.base import Program, TrainingOperator
from mutiny.subjects import Subject
from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.assess.search import Search, within


@dataclass(frozen=True)
class WeakSet:
    """Which test inputs the weak set keeps. The papers give no thresholds; these are mutiny's.

    Classification keeps the inputs on which the originals are most confident (mean of the largest class probability).

    For regression MUFF removes inputs with a *low* mean loss or a low standard deviation of the loss, and that is the
    default. The purpose beside it, that "corner-case inputs, possibly useful to kill a mutant, are removed", is rather
    the contrary: ``regression="high-loss"`` does that. Measured on two subjects, what is left then notices *weaker*
    mutants than the whole test set, for a mean over small losses moves sooner; so it is not weak.

    Args:
        share: Share of the test inputs in the weak set.
        confidence: if given, keep inputs with at least this mean confidence instead (classification only).
        regression: ``"low-loss"`` or ``"high-loss"``: which inputs are removed.
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
        """Positions in the test set, ascending, from the originals' clean passes over it."""
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
    """Ways to train less, or faster, for the same verdicts. Each can be switched off; `Savings.none` is the plain way.

    Args:
        shared: one training is evaluated on every set of inputs, serves every search that asks for it and every
            configuration that is the very same program, and stays on disk. Otherwise each search trains its own.
        beginnings: mutants with fewer epochs or less patience are taken from the way of one longer training.
        first_group: so many instances are trained first, then twice as many in all, and so on, until those that are
            missing cannot change the verdict; ``None`` trains all at once.
        together: instances of a group are trained in one go, their weights stacked, where the network allows it (no
            dropout, no normalization over batches, no early stopping). Twice to seven times as fast for a small
            perceptron, slower for most convolutions, and different from one by one by rounding: not the default.

    >>> list(Savings().groups(20)), list(Savings(first_group=None).groups(20))
    ([5, 10, 20], [20])
    """

    shared: bool = True
    beginnings: bool = True
    first_group: int | None = 5
    together: bool = False

    def __post_init__(self) -> None:
        check_whole("first_group", 1 if self.first_group is None else self.first_group)

    @classmethod
    def none(cls) -> Savings:
        """Everything is trained whenever it is asked for."""
        return cls(shared=False, beginnings=False, first_group=None)

    def groups(self, total: int) -> Iterator[int]:
        """How many instances there are after each group."""
        size = total if self.first_group is None else self.first_group
        while size < total:
            yield size
            size *= 2
        yield total


@dataclass(frozen=True)
class AssessOptions:
    """How mutants are searched and judged.

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
    def checked(cls, originals: int, exact: bool, **given: Any) -> AssessOptions:
        """Options with defaults for what is ``None``; an error if one is of a wrong class.

        Args:
            originals: Number of originals, which decides what ``"auto"`` means in a rule.
            exact: Evaluate every input, and train every instance.
            given: The options by name.
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

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> AssessOptions:
        """Options from the settings of a result or a campaign, which `plain` made."""
        weak, screening = settings["weak"], settings["screening"]
        return cls(
            KillRule(**settings["rule"]),
            Search(**settings["search"]),
            WeakSet() if weak == "given" else WeakSet(**weak),
            None if screening is None else Screening(**screening),
            Savings(**settings["savings"]),
        )

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
        raise BadInput("operators", ", ".join(twice), "each operator once", "Vary a parameter that is not searched.")
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
    """Checks the search against operators before training; those that do not apply are reported later."""
    if subject.recipe is None:
        return
    program = Program(subject.recipe, subject.train, subject.task, subject.forward)
    for operator in operators:
        if isinstance(operator, TrainingOperator):
            with suppress(NotApplicable):
                operator.configurations(program)
                if operator.strength is not None:
                    within(operator.span(program), search)
