"""`assess` by the method of MUFF."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mutiny.campaigns.run import Runtime, run
from mutiny.core.errors import BadInput
from mutiny.faults.parsing import Fault
from mutiny.subjects import Subject
from mutiny.subjects.given import as_given
from mutiny.verbs.assess.muff.options import MuffOptions, checked_operators
from mutiny.verbs.assess.muff.result import MuffAssessment
from mutiny.verbs.assess.muff.verb import AssessMuff


def assess_muff(
    subject: Subject,
    operators: str | Iterable[str | Fault] | None,
    originals: int,
    exact: bool,
    runtime: Runtime,
    bare: bool,
    **options: Any,
) -> MuffAssessment:
    """The paper's procedure.

    Args:
        subject: Subject to test.
        operators: Operators, as in `assess`.
        originals: Number of originals.
        exact: Evaluate every input and train every instance.
        runtime: Arguments that all verbs share.
        bare: Whether the user gave a model with its data instead of a subject.
        options: ``rule``, ``search``, ``weak``, ``screening`` and ``savings``; ``None`` for the default.
    """
    checked = MuffOptions.checked(originals, exact, **options)
    if subject.train is None:
        given = "train=(inputs, targets)"
        fix = f"Give {given if bare else f'mutiny.Subject({given})'}; the method notice needs no training set."
        raise BadInput("train", None, "a training set, for method muff", fix)
    wanted = checked_operators(operators, checked.search, subject, originals)
    subject.check()
    verb = AssessMuff(wanted, checked, originals, weak=subject.weak, recipe=subject.recipe)
    return run(verb, as_given(subject, None, None, None, None, "data", pool=False), runtime)
