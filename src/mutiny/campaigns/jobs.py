"""Pieces of work that an engine runs and a store remembers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mutiny.core.hashing import Plain, hash_of


@dataclass(frozen=True)
class Job:
    """A piece of work whose result depends on nothing but what its `id` tells.

    Attributes:
        kind: which kind of work, such as ``probe``.
        arguments: what exactly, in plain values.
        basis: hash of everything else that decides the result: networks, data, settings, code.
        name: for people, such as ``WI at 0.25 on test``.
        given: large values that the work needs and that follow from what ``arguments`` names, such as what earlier
            jobs found; not part of the identity.
        afresh: whether it is done although its result is known, for the sake of scratch that was forgotten; not part
            of the identity.

    >>> one, same = Job("probe", ("WI", 0.25), "a1"), Job("probe", ["WI", 0.25], "a1", name="other words")
    >>> one.id == same.id, one.id == Job("probe", ("WI", 0.5), "a1").id
    (True, False)
    """

    kind: str
    arguments: Plain = ()
    basis: str = ""
    name: str = ""
    given: Any = field(default=None, compare=False, repr=False)
    afresh: bool = field(default=False, compare=False, repr=False)

    @property
    def id(self) -> str:
        """Hash of kind, arguments and basis."""
        return hash_of([self.kind, self.arguments, self.basis])

    def __str__(self) -> str:
        return self.name or f"{self.kind} {json.dumps(self.arguments)}"


@dataclass(frozen=True)
class JobResult:
    """What became of a job: a value, or the reason why there is none.

    Attributes:
        job: that was done.
        value: what the work returned; ``None`` if it failed.
        seconds: that the work took.
        failure: why it failed; ``None`` if it did not.
        error: what the work raised, if that was meant for the user; the plan that waits for it gets it.
    """

    job: Job
    value: Any = None
    seconds: float = 0.0
    failure: str | None = None
    error: Exception | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class WithScratch:
    """A result with what only later jobs of the same plan need of it.

    A store forgets that when the plan is done; the scratch is ``None`` then.
    """

    value: Any
    scratch: Any


Work = Callable[[Job], Any]
"""Does jobs: the same on every engine. It is sent to workers once, so it may be large."""
