"""What a store is."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from mutiny.campaigns.jobs import Job, JobResult, WithScratch


@dataclass(frozen=True)
class Campaign:
    """One call of a verb.

    Attributes:
        id: hash of verb, subject and settings: the same call is the same campaign.
        verb: such as ``assess``.
        subject: its name.
        settings: that decide the result, in plain values.
        versions: of mutiny, torch and so on.
        command: how the command line can repeat it: parameters by name; ``None`` if it was called from Python.
        created: when, for people.
        network: what identifies the first original; nothing in files of older versions.
    """

    id: str
    verb: str
    subject: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    command: Mapping[str, Any] | None = None
    created: str = ""
    network: str = ""


def reopened(known: Campaign, campaign: Campaign) -> Campaign:
    """A campaign that is gone on with: as it was begun, but for what another opening may change."""
    network = campaign.network or known.network
    return replace(known, command=campaign.command, settings=campaign.settings, network=network)


@dataclass(frozen=True)
class Kept:
    """What a store has of a job: its value, and what later jobs of the plan need, unless that was forgotten."""

    value: Any
    scratch: Any = None
    forgotten: bool = False

    @staticmethod
    def of(value: Any) -> Kept:
        """What the work returned, as it is kept."""
        return (
            Kept(value.value, value.scratch, value.scratch is None) if isinstance(value, WithScratch) else Kept(value)
        )

    def given(self) -> Any:
        """What the work returned, less what was forgotten."""
        return WithScratch(self.value, self.scratch) if self.forgotten or self.scratch is not None else self.value


@dataclass(frozen=True)
class Failed:
    """A job that failed, by name, and why."""

    job: str
    reason: str


@dataclass(frozen=True)
class CampaignTally:
    """How far a campaign is.

    Attributes:
        done: jobs with a value, by kind.
        seconds: that these took, by kind.
        waiting: planned jobs with neither value nor failure, by kind; a plan may still grow.
        begun: names of those waiting that were begun: under way, or lost with the process.
        failed: jobs whose last attempt failed, until the next begins.
        attempts: how often jobs of this campaign were begun.
        most: how many jobs there will be at most, if that is known.
        finished: whether the campaign has its result.
    """

    done: Mapping[str, int]
    seconds: Mapping[str, float]
    waiting: Mapping[str, int]
    begun: Sequence[str]
    failed: Sequence[Failed]
    attempts: int
    most: int | None
    finished: bool


class Store(ABC):
    """Remembers campaigns, their planned jobs and results. One process writes, any number read.

    Results belong to jobs, not to campaigns: what one campaign did, another that needs the same job finds done.
    Every change is whole or not there, whenever the process dies.

    Attributes:
        command: how the command line can repeat the campaigns that are opened from now on, if it can.
    """

    command: Mapping[str, Any] | None = None

    @abstractmethod
    def open(self, campaign: Campaign, most: int | None = None) -> None:
        """Begins a campaign, or goes on with it: then ``most``, command, settings and network are new."""

    @abstractmethod
    def campaigns(self) -> list[Campaign]:
        """All campaigns, that which was opened last at the end."""

    @abstractmethod
    def begin(self, campaign: str, job: Job) -> None:
        """Notes that a job is wanted and begun; if it is done afresh, its result is dropped."""

    @abstractmethod
    def want(self, campaign: str, jobs: Iterable[Job]) -> None:
        """Notes that jobs are wanted."""

    @abstractmethod
    def save(self, campaign: str, result: JobResult) -> None:
        """Keeps a result, with its scratch if the value is a `WithScratch`, or a failure, unless there is a value."""

    @abstractmethod
    def load(self, job: Job) -> Kept | None:
        """What is known of a job; ``None`` if it has no value."""

    @abstractmethod
    def forget(self, jobs: Iterable[Job]) -> None:
        """Drops the scratch of jobs; that there was some stays known."""

    @abstractmethod
    def finish(self, campaign: str, value: Any) -> None:
        """Keeps the result of a campaign."""

    @abstractmethod
    def outcome(self, campaign: str) -> Any:
        """The result of a campaign; ``None`` if it has none."""

    @abstractmethod
    def tally(self, campaign: str) -> CampaignTally:
        """How far a campaign is."""

    @abstractmethod
    def close(self) -> None:
        """Lets other processes write."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def file_for(subject: str) -> Path:
    """The campaign file in the working folder that is named after a subject.

    >>> file_for("digits"), file_for("models/mine.py:subject"), file_for("mnist/lenet5")
    (PosixPath('digits.mutiny'), PosixPath('mine-subject.mutiny'), PosixPath('mnist-lenet5.mutiny'))
    """
    path, _, name = subject.rpartition(":")
    plain = f"{Path(path).stem}-{name}" if path else name
    return Path(re.sub(r"[^\w.]+", "-", plain).strip("-.") + ".mutiny")
