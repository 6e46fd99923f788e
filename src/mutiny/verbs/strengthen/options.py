"""Options of `strengthen`, checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from mutiny.core.checks import check_flag, check_whole
from mutiny.core.errors import BadInput
from mutiny.subjects import Subject
from mutiny.subjects.data.joined import contents
from mutiny.subjects.given import Given
from mutiny.subjects.tasks import Task
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.verb import MOST_CHOICES
from mutiny.verbs.select.base import Selector
from mutiny.verbs.select.budget import as_count, check_budget
from mutiny.verbs.select.parsing import as_methods, describe, usual_method
from mutiny.verbs.strengthen.answers import Ints


class NewInputs(NamedTuple):
    """Inputs of a pool that are not in the test set, each content once.

    Attributes:
        indices: Their numbers in the pool.
        tests: Number of inputs of the pool that are in the test set.
        copies: Number of inputs of the pool that equal an earlier one.
    """

    indices: Ints
    tests: int = 0
    copies: int = 0


@dataclass(frozen=True)
class StrengthenOptions:
    """Options of `strengthen`, checked.

    Attributes:
        budgets: Numbers of labels, rising; none without a pool.
        new: Inputs of the pool that may be chosen.
        methods: Methods to compare with, by name; none until `with_methods` if the usual ones are wanted.
        tie_break: Name and method that decides among equals; ``None`` until `with_methods` if the usual one is wanted.
        seeds: Random choices per operator and original that make held-out faults; ``None`` for as many as the
            assessment has.
        minimize: Search for a smaller test set.
        tolerance: Largest loss of the notice rate that a smaller test set may have.
        synthesize: Largest number of inputs to synthesize.
        seed: Seed of everything random.
    """

    budgets: tuple[int, ...]
    new: NewInputs
    methods: Mapping[str, Selector]
    tie_break: tuple[str, Selector] | None
    seeds: int | None
    minimize: bool
    tolerance: float
    synthesize: int
    seed: int

    @classmethod
    def checked(
        cls,
        subject: Subject,
        given: Given,
        *,
        budget: Any,
        methods: Any,
        tie_break: Any,
        seeds: Any,
        minimize: bool,
        tolerance: Any,
        synthesize: Any,
        seed: int,
    ) -> StrengthenOptions:
        """Options from the arguments of `strengthen`; ``given`` has the pool."""
        check_whole("seeds", 1 if seeds is None else seeds, most=MOST_CHOICES)
        check_flag("minimize", minimize)
        check_whole("synthesize", synthesize, 0)
        if isinstance(tolerance, bool) or not isinstance(tolerance, Real) or not 0 <= float(tolerance) < 1:
            raise BadInput(
                "tolerance", repr(tolerance), "a share of at least 0 and below 1, such as 0.02 for two points"
            )
        has_pool = given.source != "the test set"
        if not has_pool and not minimize:
            raise BadInput(
                "pool",
                None,
                "a pool, because the subject has none",
                "Give pool=inputs, labeled or not, or minimize=True to look for redundant tests.",
            )
        budgets = budgets_of(budget, len(given.data)) if has_pool else ()
        new = _new_inputs(subject, given) if has_pool else NewInputs(np.zeros(0, np.int64))
        if budgets and budgets[-1] > len(new.indices):
            expected = f"at most {len(new.indices)}, the distinct inputs of the pool that are not in the test set"
            raise BadInput("budget", budgets[-1], expected)
        return cls(
            budgets=budgets,
            new=new,
            methods={} if methods is None else named(as_methods(methods, "methods")),
            tie_break=None if tie_break is None else tie_break_of(tie_break),
            seeds=None if seeds is None else int(seeds),
            minimize=bool(minimize),
            tolerance=float(tolerance),
            synthesize=int(synthesize),
            seed=seed,
        )

    def with_methods(self, task: Task, originals: int) -> StrengthenOptions:
        """The same with the usual methods where none are given; they depend on the number of originals."""
        usual = usual_method(task, originals)
        methods = self.methods or named(as_methods(f"random,{usual}"))
        return replace(self, methods=methods, tie_break=self.tie_break or tie_break_of(usual))

    @property
    def tie_break_name(self) -> str:
        """Name of the method that decides among equals."""
        assert self.tie_break is not None
        return self.tie_break[0]

    @property
    def selectors(self) -> dict[str, Selector]:
        """All methods that rank the pool, by name."""
        assert self.tie_break is not None
        return dict([self.tie_break, *self.methods.items()])


def named(methods: Iterable[Selector]) -> dict[str, Selector]:
    """Methods by name."""
    return {describe(method): method for method in methods}


def check_assessment(assessment: Any) -> None:
    """Raises an error if an argument is no assessment with a notice rate."""
    if assessment is not None and not isinstance(assessment, Assessment):
        raise BadInput("assessment", type(assessment).__name__, "what mutiny.assess returned, with method notice")


def _new_inputs(subject: Subject, given: Given) -> NewInputs:
    """Inputs of the pool that are not in the test set, each content once."""
    pool, tests = contents(given.data)[:, 0], contents(subject.test)[:, 0]
    in_tests, first = np.isin(pool, tests), np.zeros(len(pool), bool)
    first[np.unique(pool, return_index=True)[1]] = True
    return NewInputs(np.flatnonzero(first & ~in_tests), int(in_tests.sum()), int((~first & ~in_tests).sum()))


def budgets_of(wanted: Any, size: int) -> tuple[int, ...]:
    """Numbers of labels, rising.

    >>> budgets_of("1%,5%", 1000), budgets_of((20, 0.01), 1000)
    ((10, 50), (10, 20))
    """
    return tuple(sorted({as_count(budget, size) for budget in check_budgets(wanted)}))


def check_budgets(wanted: Any) -> list[Any]:
    """Each budget; an error for a value that is no budget for any pool."""
    several = wanted.split(",") if isinstance(wanted, str) else wanted
    budgets = list(several) if isinstance(several, Iterable) and not isinstance(several, str) else [several]
    if not budgets:
        raise BadInput("budget", repr(wanted), "at least one number of inputs, share or percentage")
    for budget in budgets:
        check_budget(budget)
    return budgets


def tie_break_of(wanted: Any) -> tuple[str, Selector]:
    """Name and method that decides among equals."""
    (method, *more) = as_methods(wanted, "tie_break")
    if more:
        raise BadInput("tie_break", repr(wanted), "one method", "Join several with +, to combine them.")
    return describe(method), method
