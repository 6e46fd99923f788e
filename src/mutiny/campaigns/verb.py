"""What a verb is: four methods that `mutiny.campaigns.run.run` calls; and the names that an author of a verb needs."""

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
    """A question about a model. A subclass is a frozen dataclass whose fields are the user's arguments, checked.

    The session stays in this process; the state travels to workers, so it holds what `work` needs and nothing else.

    Attributes:
        name: Name of the verb, such as ``select``.
        originals: Number of originals that take part; ``None`` for all models of the subject, or one from its recipe.
    """

    name: ClassVar[str]
    originals: int | None = 1

    @abstractmethod
    def prepare(self, session: Session) -> State:
        """Checks the model and the data before any job runs, and returns what jobs need."""

    @abstractmethod
    def plan(self, session: Session, state: State) -> Plan[Any] | Sequence[Plan[Any]]:
        """A coroutine that asks for jobs and returns what they found.

        Several coroutines in a list are begun one after the other, each when those before have no job to hand out; what
        they return is then a list too. So what is under way stays small, and scratch is dropped as soon as one ends.
        """

    @abstractmethod
    def work(self, state: State, job: Job) -> Any:
        """Does one job, on any worker. Only the state and the job decide its value."""

    @abstractmethod
    def result(self, session: Session, state: State, found: Any) -> R:
        """The result, from what the plan returned."""

    def settings(self) -> dict[str, Any]:
        """Arguments that decide every job, as plain values; stored with the campaign."""
        return {}

    def decisive(self) -> Mapping[str, Any]:
        """Arguments that decide every job and are no plain values, such as functions and models."""
        return {}

    def identity(self) -> Mapping[str, Any]:
        """Everything that decides the result, besides subject and `settings`; all fields by default."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def is_final(self, result: R) -> bool:
        """Whether a stored result is returned when the same call is made again."""
        return True

    def stored(self, result: R) -> R:
        """The result as it is stored, without what belongs to the user, such as the model."""
        return result

    def recalled(self, session: Session, result: R) -> R:
        """A stored result, completed with what `stored` left out."""
        return result
