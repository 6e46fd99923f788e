"""Arguments of `assess`, checked before anything is trained or run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.json_values import to_plain
from mutiny.faults import Operator
from mutiny.faults.evaluation import Screening
from mutiny.faults.parsing import Fault, as_faults, describe
from mutiny.faults.training.base import Program, TrainingOperator
from mutiny.subjects import Subject
from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.assess.savings import Savings
from mutiny.verbs.assess.search import Search, within
from mutiny.verbs.assess.weak_set import WeakSet


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
