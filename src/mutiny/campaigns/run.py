"""The one way to run a verb."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

import torch

from mutiny.campaigns.engines.base import Engine as Engine
from mutiny.campaigns.jobs import Job
from mutiny.campaigns.ownership import with_command, withdraw
from mutiny.campaigns.runtime import Runtime as Runtime
from mutiny.campaigns.session import Session
from mutiny.campaigns.stores.base import Store as Store
from mutiny.campaigns.verb import R, State, Verb
from mutiny.core.claims import Claim
from mutiny.core.errors import BadInput
from mutiny.core.progress import Progress as Progress
from mutiny.models.in_use import in_use
from mutiny.subjects.given import Given


@torch.inference_mode(False)  # verbs may need gradients, even if the caller is in inference mode
def run(verb: Verb[State, R], given: Given, runtime: Runtime) -> R:
    """Runs a verb and returns its result.

    While another thread uses one of the models, the call waits.

    Everything that all verbs need happens here: the engine and the store are opened; a stored result of the same call
    is returned; originals are trained; finished jobs are not run again; the models are checked to be untouched; the
    result is stored. A call that is refused with `BadInput` leaves nothing to resume.

    Args:
        verb: Verb with its arguments.
        given: Model, data and task.
        runtime: Arguments that all verbs share.
    """
    with in_use(given.models, given.forward, verb) as claim, runtime.opened() as open_runtime:
        session = Session(verb, given, open_runtime)
        try:
            return _result(verb, session, claim)
        except BadInput as error:
            session.refuse(error)
            raise


def _result(verb: Verb[State, R], session: Session, claim: Claim) -> R:
    known = _stored(session)
    if known is not None and verb.is_final(known):
        return verb.recalled(session, known)
    state = verb.prepare(session)
    plan = verb.plan(session, state)
    single = isinstance(plan, Coroutine)
    results = session.run(_Work(verb, state, claim), [plan] if isinstance(plan, Coroutine) else plan)
    session.check_untouched()
    result = verb.result(session, state, results[0] if single else results)
    if session.complete:
        session.running.finish(verb.stored(result))
    return result


def _stored(session: Session) -> Any:
    """The stored result of this call, if there is one; its campaign is now the last in the store."""
    store, campaign = session.store, session.campaign
    result = None if store is None else store.outcome(campaign.id)
    if store is not None and result is not None:
        store.open(with_command(campaign, store.command), store.tally(campaign.id).most)
        withdraw(store)
    return result


@dataclass(frozen=True)
class _Work:
    """Work that runs the jobs of a verb on a worker: one at a time in this process, in whatever thread."""

    verb: Verb[Any, Any]
    state: Any
    claim: Claim

    @torch.inference_mode(False)  # an engine may call it from anywhere
    def __call__(self, job: Job) -> Any:
        with self.claim.part():
            return self.verb.work(self.state, job)
