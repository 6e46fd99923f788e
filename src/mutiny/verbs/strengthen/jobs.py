"""Jobs of `strengthen`: rank the pool, choose from it, judge choices, synthesize inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from mutiny.campaigns.jobs import Job
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.verbs.select.base import Selector
from mutiny.verbs.select.ranking import Refused, ranked
from mutiny.verbs.strengthen.context import StrengthenContext
from mutiny.verbs.strengthen.kill_table import MutantRow
from mutiny.verbs.strengthen.measuring import judged
from mutiny.verbs.strengthen.mutant_pool import KillableRange, row_of
from mutiny.verbs.strengthen.proposing import propose
from mutiny.verbs.strengthen.synthesis import synthesize


@torch.inference_mode(False)  # some methods need gradients
def do_job(
    job: Job, context: StrengthenContext, ranges: Sequence[KillableRange], methods: Mapping[str, Selector]
) -> Any:
    """The value of a job by its kind; its inputs are in ``job.given``.

    Args:
        job: Job to do.
        context: Originals, test set and pool.
        ranges: Operators with the strengths that the training set kills.
        methods: Methods that rank the pool, by name.
    """
    match job.kind:
        case "rank":
            name, seed = job.given
            return ranked(methods[name], context.evidence.reseeded(seed))
        case "choose":
            return propose(context, ranges, *job.given)
        case "judge":
            number, *more = job.given
            return judged(context, ranges[number], *more)
        case "table":
            seed, number, strengths = job.given
            return _rows(context, ranges[number], seed, strengths)
        case "synthesize":
            try:
                return synthesize(context, ranges, *job.given)
            except (NotApplicable, BadInput) as reason:
                return Refused.of(reason)
    raise ValueError(f"unknown kind of job: {job.kind}")


def _rows(
    context: StrengthenContext, range_: KillableRange, seed: int, strengths: Sequence[float | None]
) -> list[MutantRow]:
    """An operator's mutants on every input of the test set."""
    pool = context.mutant_pool(seed, pool=False)
    answers = [(strength, pool.answers(range_.operator, strength).test) for strength in strengths]
    return [row_of(context.task, range_.label, strength, given, context.targets) for strength, given in answers]
