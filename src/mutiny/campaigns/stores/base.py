"""Base class of stores, and the records that they keep."""

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
        id: Hash of verb, subject and settings; the same call is the same campaign.
        verb: Name of the verb, such as ``assess``.
        subject: Name of the subject.
        settings: Settings that decide the result, as plain values.
        versions: Versions of mutiny, torch and other packages.
        command: Parameters with which the command line can repeat the call; ``None`` if it was made from Python.
        created: Creation time, for people.
        network: Fingerprint of the first original; empty in files of older versions.
        refused: Message of the `BadInput` with which the last run ended; empty if it ended in another way.
        proof: Proof that this user gave the command, see `mutiny.campaigns.ownership`; empty in older files.
    """

    id: str
    verb: str
    subject: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    command: Mapping[str, Any] | None = None
    created: str = ""
    network: str = ""
    refused: str = ""
    proof: str = ""


def reopened(known: Campaign, campaign: Campaign) -> Campaign:
    """A campaign after it was opened again, which may change its command and proof, settings, network and refusal."""
    return replace(
        known,
        command=campaign.command,
        settings=campaign.settings,
        network=campaign.network or known.network,
        refused=campaign.refused,
        proof=campaign.proof,
    )


@dataclass(frozen=True)
class Kept:
    """The value of a job as a store keeps it, its scratch, and whether the scratch was dropped."""

    value: Any
    scratch: Any = None
    forgotten: bool = False

    @staticmethod
    def of(value: Any) -> Kept:
        """Converts a value that the work returned."""
        return (
            Kept(value.value, value.scratch, value.scratch is None) if isinstance(value, WithScratch) else Kept(value)
        )

    def given(self) -> Any:
        """The value as the work returned it, without dropped scratch."""
        return WithScratch(self.value, self.scratch) if self.forgotten or self.scratch is not None else self.value


@dataclass(frozen=True)
class Failed:
    """Name of a job that failed, and the reason."""

    job: str
    reason: str


@dataclass(frozen=True)
class CampaignTally:
    """Progress of a campaign.

    Attributes:
        done: Number of jobs with a value, by kind.
        seconds: Total duration of these jobs, by kind.
        waiting: Number of planned jobs with neither value nor failure, by kind; a plan may still ask for more.
        begun: Names of waiting jobs that were started: they are running, or were lost with their process.
        failed: Jobs whose last attempt failed, until the next attempt starts.
        attempts: Number of times that jobs of this campaign were started.
        most: Largest number of jobs that the campaign can have, if it is known.
        finished: Whether the campaign has its result.
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
    """Keeps campaigns, their planned jobs and results. One process writes; any number of processes read.

    A result belongs to its job, not to a campaign: another campaign that asks for the same job finds it done. Every
    change is atomic, even if the process dies.

    Attributes:
        command: Command-line parameters that are stored with the campaigns that are opened next; ``None`` from Python.
    """

    command: Mapping[str, Any] | None = None

    @abstractmethod
    def open(self, campaign: Campaign, most: int | None = None) -> None:
        """Starts a campaign, or continues it with a new ``most``, command, proof, settings, network and refusal."""

    @abstractmethod
    def drop(self, campaign: str) -> None:
        """Drops a campaign and its result, and planned jobs without a value that no other campaign wants."""

    @abstractmethod
    def campaigns(self) -> list[Campaign]:
        """All campaigns, in the order in which they were last opened."""

    @abstractmethod
    def begin(self, campaign: str, job: Job) -> None:
        """Records that a job is planned and started; with ``afresh``, drops its result."""

    @abstractmethod
    def want(self, campaign: str, jobs: Iterable[Job]) -> None:
        """Records that jobs are planned."""

    @abstractmethod
    def save(self, campaign: str, result: JobResult) -> None:
        """Keeps a value, with the scratch of a `WithScratch`, or a failure unless the job has a value already."""

    @abstractmethod
    def load(self, job: Job) -> Kept | None:
        """The stored value of a job; ``None`` if there is none."""

    @abstractmethod
    def forget(self, jobs: Iterable[Job]) -> None:
        """Drops the scratch of jobs; `load` then reports it as forgotten."""

    @abstractmethod
    def finish(self, campaign: str, value: Any) -> None:
        """Keeps the result of a campaign."""

    @abstractmethod
    def outcome(self, campaign: str) -> Any:
        """The result of a campaign; ``None`` if it has none."""

    @abstractmethod
    def tally(self, campaign: str) -> CampaignTally:
        """Progress of a campaign."""

    @abstractmethod
    def close(self) -> None:
        """Closes the store, so that another process can write to it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def file_for(subject: str) -> Path:
    """Default file for the campaigns of a subject, in the current folder.

    >>> file_for("digits"), file_for("models/mine.py:subject"), file_for("mnist/lenet5"), file_for("runs/old.csv")
    (PosixPath('digits.mutiny'), PosixPath('mine-subject.mutiny'), PosixPath('mnist-lenet5.mutiny'),
     PosixPath('old.mutiny'))
    """
    path, _, name = subject.rpartition(":")
    file = Path(name).stem if Path(name).suffix else name  # a file of answers
    plain = f"{Path(path).stem}-{name}" if path else file
    return Path(re.sub(r"[^\w.]+", "-", plain).strip("-.") + ".mutiny")
