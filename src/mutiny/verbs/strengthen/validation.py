"""What a user may ask `strengthen` for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput
from mutiny.subjects import Subject
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.select.base import Selector
from mutiny.verbs.select.budget import as_count, check_budget
from mutiny.verbs.select.parsing import as_methods


def check_wishes(subject: Any, assessment: Any, mutants: Any, repeats: Any, synthesize: Any, seed: Any) -> None:
    """An error for what can be refused before anything runs."""
    if not isinstance(subject, Subject):
        raise BadInput("subject", type(subject).__name__, "a mutiny.Subject: mutants are judged on its train and test")
    if assessment is not None and not isinstance(assessment, Assessment):
        raise BadInput("assessment", type(assessment).__name__, "what mutiny.assess returned")
    for name, value, least in (("mutants", mutants, 1), ("repeats", repeats, 1), ("synthesize", synthesize, 0)):
        check_whole(name, value, least)
    check_whole("seed", seed, 0)


def budgets_of(wanted: Any, size: int) -> tuple[int, ...]:
    """Numbers of labels, rising.

    >>> budgets_of("1%,5%", 1000), budgets_of((20, 0.01), 1000)
    ((10, 50), (10, 20))
    """
    return tuple(sorted({as_count(one, size) for one in check_budgets(wanted)}))


def check_budgets(wanted: Any) -> list[Any]:
    """An error for what are no budgets, whatever the pool is; else each of them."""
    several = wanted.split(",") if isinstance(wanted, str) else wanted
    each = list(several) if isinstance(several, Iterable) and not isinstance(several, str) else [several]
    if not each:
        raise BadInput("budget", repr(wanted), "at least one number of inputs, share or percentage")
    for one in each:
        check_budget(one)
    return each


def check_left(budgets: Sequence[int], left: int) -> None:
    """An error if there are not as many inputs to choose from."""
    if budgets and budgets[-1] > left:
        raise BadInput(
            "budget",
            budgets[-1],
            f"at most {left}, the inputs of the pool that are not in the test set already, copies counted once",
        )


def tie_break_of(wanted: Any) -> Selector:
    """The method that decides among equals."""
    (found, *more) = as_methods(wanted)
    if more:
        raise BadInput("tie_break", repr(wanted), "one method", "Join several with +, to combine them.")
    return found
