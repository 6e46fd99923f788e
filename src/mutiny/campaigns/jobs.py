"""Jobs: units of work that an engine runs and whose results a store keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mutiny.core.json_values import Plain, hash_of


@dataclass(frozen=True)
class Job:
    """A unit of work. Its `id` identifies everything that its result depends on.

    Attributes:
        kind: Kind of work, such as ``probe``.
        arguments: Plain values that say exactly what to do.
        basis: Hash of everything else that decides the result: networks, data, settings, code.
        name: Name for people, such as ``WI at 0.25 on test``.
        given: Large values that follow from ``arguments``, such as results of earlier jobs; not part of the identity.
        afresh: Whether to run the job even if its result is known, because its scratch was dropped; not part of the
            identity.

    >>> job, same = Job("probe", ("WI", 0.25), "a1"), Job("probe", ["WI", 0.25], "a1", name="other words")
    >>> job.id == same.id, job.id == Job("probe", ("WI", 0.5), "a1").id
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
    """The result of a job: a value, or the reason why there is none.

    Attributes:
        job: The job.
        value: Value that the work returned; ``None`` if it failed.
        seconds: Duration of the work.
        failure: Reason of the failure; ``None`` if there was none.
        error: Error for the user that the work raised, if any; it is raised again in the plan that asked for the job.
    """

    job: Job
    value: Any = None
    seconds: float = 0.0
    failure: str | None = None
    error: Exception | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class WithScratch:
    """A value with scratch: data that only later jobs of the same plan need.

    A store drops the scratch when the plan ends; it is ``None`` then.
    """

    value: Any
    scratch: Any


Work = Callable[[Job], Any]
"""Function that runs jobs, the same on every engine. It is sent to each worker once, so it may be large."""
