"""Judges from what users give: instances, names, gates, functions, and names of functions in files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mutiny.core.errors import BadInput
from mutiny.core.parsing import Names
from mutiny.core.registry import Registry
from mutiny.subjects.loading import load_function
from mutiny.verbs.assess.judges.base import Judge
from mutiny.verbs.assess.judges.function import FunctionJudge
from mutiny.verbs.assess.judges.gate import Gate
from mutiny.verbs.assess.judges.kill_rule import SingleKillRule
from mutiny.verbs.assess.judges.paired_test import PairedTest

ALL: tuple[type[Judge], ...] = (PairedTest, SingleKillRule, Gate, FunctionJudge)
JUDGES: Registry[Judge] = Registry("mutiny.judges", Judge, ALL)
NAMES = Names("judges", Judge, JUDGES, "paired(alpha=0.01)")
NAMED = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:\([^()]*\))?\s*")
"""A name, perhaps with parameters; a gate always has a comparison, too."""
BY_VALUE = {Gate.code: "the gate itself, such as accuracy >= 0.97", FunctionJudge.code: "FILE.py:NAME"}
"""What users give instead of the names of some judges."""


def as_judges(given: object, *, files: bool = True) -> tuple[Judge, ...]:
    """Judges in the order in which they are given, with the paired test, which is always asked as well.

    Args:
        given: A judge, the name of one such as ``"paired(alpha=0.01)"``, the text of a gate, a function, the name of
            one such as ``"checks.py:acceptable"``, or several of these. ``None`` for the paired test alone.
        files: Whether the name of a function loads its file; names that were read from a file must not.

    >>> [judge.label for judge in as_judges(["accuracy >= 0.97", "kill-rule"])]
    ['accuracy >= 0.97', 'kill-rule', 'paired']
    """
    single = given is None or isinstance(given, (str, Judge)) or not isinstance(given, Iterable)
    judges = [PairedTest()] if given is None else [_judge(each, files) for each in ([given] if single else given)]  # type: ignore[attr-defined]
    if not judges:
        raise BadInput("judge", repr(given), "at least one judge")
    if not any(isinstance(judge, PairedTest) for judge in judges):
        judges.append(PairedTest())
    labels = [judge.label for judge in judges]
    for label in labels:
        if labels.count(label) > 1:
            raise BadInput("judge", repr(label), "each judge once", "Leave out one, or name the functions differently.")
    return tuple(judges)


def _judge(given: Any, files: bool) -> Judge:
    if isinstance(given, Judge):
        return given
    if isinstance(given, str):
        return _from_text(given, files)
    if callable(given) and not isinstance(given, type):
        return FunctionJudge(given)
    raise BadInput("judge", repr(given)[:60], "a judge, the text of a gate, or a function of (predict, test)")


def _from_text(text: str, files: bool) -> Judge:
    file, colon, name = text.rpartition(":")
    if colon and file.endswith(".py"):
        if not files:
            raise BadInput("judge", repr(text), "a judge that is no function in a file")
        return FunctionJudge(load_function(text.strip(), "judge"), f"{Path(file).name}:{name.strip()}")
    named = NAMED.fullmatch(text)
    if named is None:
        return Gate(text)
    if named[1].casefold() in BY_VALUE:
        raise BadInput("judge", repr(text), BY_VALUE[named[1].casefold()])
    if named[1].casefold() not in (code.casefold() for code in JUDGES):
        known = ", ".join(code for code in JUDGES if code not in BY_VALUE)
        raise BadInput("judge", repr(text), f"{known}, a gate such as accuracy >= 0.97, or FILE.py:NAME")
    (judge,) = NAMES.parse(text)
    assert isinstance(judge, Judge)
    return judge
