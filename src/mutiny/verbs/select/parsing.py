"""From text to methods: ``deepgini,dsa(by=coverage),deepgini+dsa``, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mutiny.core.errors import BadInput
from mutiny.core.parsing import Names, described
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.select import METHODS
from mutiny.verbs.select.base import Selector
from mutiny.verbs.select.combined import Combined

NAMES = Names("methods", Selector, METHODS, "deepgini,dsa(by=coverage)", "mutiny methods")
JOINED = re.compile(r",(?![^()]*\))")
"""A comma outside brackets."""
PLUS = re.compile(r"\+(?![^()]*\))")


def as_methods(wanted: str | Selector | Iterable[str | Selector]) -> tuple[Selector, ...]:
    """Methods from names, from text with parameters, from instances; ``all`` stands for every one.

    >>> [describe(method) for method in as_methods("deepgini, nss(share=0.2), deepgini+dsa")]
    ['deepgini', 'nss(share=0.2)', 'deepgini+dsa']
    """
    items = list(wanted) if isinstance(wanted, Iterable) and not isinstance(wanted, str) else [wanted]
    found: list[Selector] = []
    for item in items:
        if isinstance(item, str):
            found += [one for part in JOINED.split(item) for one in _parsed(part)]
        else:
            found += NAMES.parse([item])
    names = [describe(one) for one in found]
    if not found:
        raise BadInput("methods", repr(wanted), f"at least one of {', '.join(METHODS)}")
    return tuple(one for at, one in enumerate(found) if names.index(names[at]) == at)


def usual_method(task: Task, originals: int) -> str:
    """The method that is taken if none is named.

    >>> from mutiny import Regression
    >>> usual_method(Classification(10), 5), usual_method(Regression(0.1), 5), usual_method(Regression(0.1), 1)
    ('deepgini', 'disagreement', 'kill-rate')
    """
    if isinstance(task, Classification):
        return "deepgini"
    return "disagreement" if originals > 1 else "kill-rate"


def _parsed(text: str) -> list[Selector]:
    if text.strip().lower() == "all":
        return [kind() for kind in METHODS.values()]
    parts = PLUS.split(text)
    methods = [NAMES.parse(part)[0] for part in parts]
    return [methods[0]] if len(methods) == 1 else [Combined(tuple(methods))]


def describe(method: Selector) -> str:
    """The shortest text from which `as_methods` makes this method."""
    if isinstance(method, Combined):
        return "+".join(map(describe, method.methods))
    return described(method, method.code)
