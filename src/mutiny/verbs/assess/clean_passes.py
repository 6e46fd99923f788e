"""Originals with their data sets and their clean passes, with which both methods of `assess` begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from mutiny.campaigns.jobs import Job
from mutiny.campaigns.verb import Session, ask
from mutiny.faults.evaluation import CleanPass, Runner
from mutiny.subjects.data import Data
from mutiny.subjects.inference.passes import Pace


def settled_runner(session: Session, splits: Mapping[str, Data], pace: Pace | None) -> Runner:
    """The originals of a session on their data sets, once kind of outputs, batch size and layout are settled.

    Args:
        session: Call of a verb on a subject.
        splits: Data sets by name.
        pace: Batch size and memory layout, if they are known.
    """
    subject = session.given.subject
    assert subject is not None
    size = session.runtime.batch_size
    runner = Runner(session.models, subject.task, splits, subject.forward, session.seed, size, pace)
    session.check_constant()
    session.settle_pace(runner.pace)
    return runner


def run_clean_passes(session: Session, runner: Runner, passes: Iterable[tuple[int, str]]) -> None:
    """Runs originals on data sets as jobs; the runner keeps what they find.

    Args:
        session: Call of a verb.
        runner: Originals and their data.
        passes: Number of the original and name of the data set of each pass.
    """

    async def clean(original: int, split: str) -> None:
        name = f"original {original + 1} on {split}"
        runner.keep(original, split, await ask(session.job("clean", (original, split), name)))
        session.progress.step(name)

    session.run(partial(_clean_pass, runner), [clean(*arguments) for arguments in passes])


def _clean_pass(runner: Runner, job: Job) -> CleanPass:
    """The pass of one original over one split, on a worker."""
    return runner.clean(*job.arguments)
