"""Conversion of text to methods and back: ``deepgini,dsa(by=coverage),deepgini+dsa``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.stats import rankdata

from mutiny.core.errors import BadInput
from mutiny.core.parsing import Names, described
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.select import METHODS
from mutiny.verbs.select.base import BOTH, Scores, Selector
from mutiny.verbs.select.evidence import Evidence

NAMES = Names("methods", Selector, METHODS, "deepgini,dsa(by=coverage)", "mutiny methods")
COMMA = re.compile(r",(?![^()]*\))")
"""A comma outside parentheses."""
PLUS = re.compile(r"\+(?![^()]*\))")
"""A plus sign outside parentheses."""


@dataclass(frozen=True)
class Combined(Selector):
    """Mean rank of an input over several methods, written with a plus sign: ``deepgini+dsa``.

    Ranks need no common scale, so all methods have equal weight. Inputs that a method scores equally share their rank.
    """

    code: ClassVar[str] = "combined"
    title: ClassVar[str] = "mean of ranks"
    source: ClassVar[str] = "mutiny; Borda's count"
    tasks: ClassVar[tuple[type, ...]] = BOTH

    methods: tuple[Selector, ...] = ()

    def score(self, evidence: Evidence) -> Scores:
        """Mean rank, between 0 and 1."""
        ranks = [rankdata(method.rank(evidence)[1]) for method in self.methods]
        mean: Scores = np.mean(ranks, axis=0) / evidence.size
        return mean


def as_methods(wanted: str | Selector | Iterable[str | Selector], argument: str = "method") -> tuple[Selector, ...]:
    """Methods from names, text with parameters, or instances, without duplicates; ``all`` means every method.

    Args:
        wanted: Methods, one or several.
        argument: Name of the user's argument, for messages.

    >>> [describe(method) for method in as_methods("deepgini, nss(share=0.2), deepgini+dsa")]
    ['deepgini', 'nss(share=0.2)', 'deepgini+dsa']
    """
    items = list(wanted) if isinstance(wanted, Iterable) and not isinstance(wanted, str) else [wanted]
    methods: dict[str, Selector] = {}
    names = replace(NAMES, called=argument)
    for item in items:
        if isinstance(item, str):
            parsed = [method for part in COMMA.split(item) for method in _parsed(part, names)]
        else:
            parsed = [*names.parse([item])]
        for method in parsed:
            methods.setdefault(describe(method), method)
    if not methods:
        raise BadInput(argument, repr(wanted), f"at least one of {', '.join(METHODS)}")
    return tuple(methods.values())


def usual_method(task: Task, originals: int) -> str:
    """The default method.

    >>> from mutiny import Regression
    >>> usual_method(Classification(10), 5), usual_method(Regression(0.1), 5), usual_method(Regression(0.1), 1)
    ('deepgini', 'disagreement', 'kill-rate')
    """
    if isinstance(task, Classification):
        return "deepgini"
    return "disagreement" if originals > 1 else "kill-rate"


def _parsed(text: str, names: Names) -> list[Selector]:
    if text.strip().lower() == "all":
        METHODS.check()  # a class that cannot be used is part of all, and leaving it out would change the result
        return [kind() for kind in METHODS.values()]
    methods = [names.parse(part)[0] for part in PLUS.split(text)]
    return methods if len(methods) == 1 else [Combined(tuple(methods))]


def describe(method: Selector) -> str:
    """The shortest text from which `as_methods` makes this method."""
    if isinstance(method, Combined):
        return "+".join(map(describe, method.methods))
    return described(method, method.code)
