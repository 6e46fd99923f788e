"""Base class of verbs, four methods that `mutiny.campaigns.run.run` calls, and names that authors of verbs need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Generic, TypeVar

from mutiny.campaigns.jobs import Job as Job
from mutiny.campaigns.memo import code_of as code_of
from mutiny.campaigns.schedule import Plan as Plan
from mutiny.campaigns.schedule import ask as ask
from mutiny.campaigns.schedule import together as together
from mutiny.campaigns.session import Session as Session

State = TypeVar("State")
R = TypeVar("R")


class Verb(ABC, Generic[State, R]):
    """A question about a model. A subclass is a frozen dataclass whose fields are the checked arguments of the user.

    The session stays in this process. The state is sent to workers, so it holds only what `work` needs.

    Attributes:
        name: Name of the verb, such as ``select``.
        originals: Number of originals to use; ``None`` for all models of the subject, or one from its recipe.
    """

    name: ClassVar[str]
    originals: int | None = 1

    @abstractmethod
    def prepare(self, session: Session) -> State:
        """Checks the model and the data before any job runs, and returns what jobs need."""

    @abstractmethod
    def plan(self, session: Session, state: State) -> Plan[Any] | Sequence[Plan[Any]]:
        """A coroutine that asks for jobs and returns what `result` needs of their values.

        A list of coroutines is started one after the other, each when the earlier ones have no job ready; `result` then
        gets the list of their results. This keeps the number of open plans small, and the scratch of a plan is dropped
        as soon as it ends.
        """

    @abstractmethod
    def work(self, state: State, job: Job) -> Any:
        """Runs one job on a worker. Its value depends only on the state and the job."""

    @abstractmethod
    def result(self, session: Session, state: State, found: Any) -> R:
        """The result of the verb, from the result of the plan, or the list of results of several plans."""

    def settings(self) -> dict[str, Any]:
        """Arguments that decide every job, as plain values; stored with the campaign."""
        return {}

    def decisive(self) -> Mapping[str, Any]:
        """Arguments that decide every job and are not plain values, such as functions and models."""
        return {}

    def identity(self) -> Mapping[str, Any]:
        """Everything that decides the result, besides subject and `settings`; all fields by default."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def is_final(self, result: R) -> bool:
        """Whether a stored result is returned when the same call is made again."""
        return True

    def stored(self, result: R) -> R:
        """The result as it is stored, without objects of the user such as the model."""
        return result

    def recalled(self, session: Session, result: R) -> R:
        """A stored result, completed with what `stored` left out."""
        return result
