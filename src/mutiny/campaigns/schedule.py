"""Plans: coroutines that ask for jobs and decide from their values which jobs to ask for next.

A plan is an ``async def`` that awaits `ask` for one job and `together` for several plans. There are no clocks and no
threads here: `Schedule` hands out jobs on request, and continues a plan when it is given the result.

>>> async def halve(low, high):
...     while high - low > 1:
...         middle = (low + high) // 2
...         low, high = (middle, high) if await ask(Job("below", middle)) else (low, middle)
...     return low
>>> schedule = Schedule([halve(0, 100)])
>>> for job in schedule.jobs():
...     schedule.give(JobResult(job, value=job.arguments <= 42))
>>> schedule.results
[42]
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from mutiny.campaigns.jobs import Job, JobResult, WithScratch
from mutiny.core.errors import JobFailed

T = TypeVar("T")
Plan = Coroutine[Any, Any, T]


@types.coroutine
def ask(job: Job) -> Generator[Job, Any, Any]:
    """The value of a job. Raises the error that the work raised for the user, or `JobFailed`."""
    return (yield job)


@types.coroutine
def is_known(job: Job) -> Generator[_IsKnown, Any, bool]:
    """Whether the result of a job is known."""
    known: bool = yield _IsKnown(job)
    return known


@types.coroutine
def together(plans: Iterable[Plan[T]]) -> Generator[list[Plan[T]], Any, list[T]]:
    """The results of several plans that run at the same time, in the order of the plans."""
    results: list[T] = yield list(plans)
    return results


@types.coroutine
def queued(plans: Iterable[Plan[T]]) -> Generator[_Queue, Any, list[T]]:
    """The results of several plans, in their order. Each starts when those before it have no job ready.

    Fewer plans are open than with `together`, and the scratch of a plan is dropped as soon as that plan ends. An error
    in one of them ends the whole schedule at once and cannot be caught.
    """
    results: list[T] = yield _Queue(list(plans))
    return results


@dataclass(frozen=True)
class _Queue:
    """A request for the results of plans that start one after the other."""

    plans: Sequence[Plan[Any]]


@dataclass(frozen=True)
class _IsKnown:
    """A request to look up whether the result of a job is known."""

    job: Job


@dataclass(eq=False)
class _Node:
    """A plan, its position among those of its parent, and the results of its own parts.

    Attributes:
        results: Results of the plans that this plan waits for.
        raised: Errors of these plans, by position.
        left: Number of these plans that have not ended.
        scratched: Jobs that left scratch behind.
        failed: Whether a job failed.
        queued: Whether it was started by `queued`.
    """

    plan: Plan[Any]
    place: int
    parent: _Node | None = None
    results: list[Any] = field(default_factory=list)
    raised: dict[int, Exception] = field(default_factory=dict)
    left: int = 0
    scratched: list[Job] = field(default_factory=list)
    failed: bool = False
    queued: bool = False

    @property
    def root(self) -> _Node:
        """The outermost plan that this one is part of; the scratch is dropped when that plan ends."""
        return self if self.parent is None or self.queued else self.parent.root


_Move = tuple[_Node, Any, Exception | None]
"""A plan, and the value or the error with which it continues."""


class Schedule:
    """Runs plans and hands out the jobs that they ask for.

    Args:
        plans: Plans; each is started when the earlier ones have no job ready, which keeps the number of open plans
            small.
        known: Function that looks up the result of a job; known jobs are not handed out, except with ``afresh``.
        ended: Function that is called when a plan ends, with the jobs that left scratch behind; not called if a job of
            the plan failed, because a retry needs the scratch.
    """

    def __init__(
        self,
        plans: Iterable[Plan[Any]],
        known: Callable[[Job], JobResult | None] = lambda _: None,
        ended: Callable[[list[Job]], None] = lambda _: None,
    ) -> None:
        self._new = deque(_Node(plan, place) for place, plan in enumerate(plans))
        self.results: list[Any] = [None] * len(self._new)
        self.left = len(self._new)
        self._alive = set(self._new)
        self._ready: deque[Job] = deque()
        self._waiting: dict[str, list[_Node]] = {}
        self._known, self._drop_scratch = known, ended

    def jobs(self) -> Iterator[Job | None]:
        """Yields the next job, or ``None`` while all plans wait for results."""
        while True:
            while self._new and not self._ready:
                self._continue(self._new.popleft(), None)
            if self._ready:
                yield self._ready.popleft()
            elif self.left:
                yield None
            else:
                return

    def give(self, result: JobResult) -> None:
        """Continues all plans that wait for this result."""
        for node in self._waiting.pop(result.job.id):
            self._continue(node, *_answered(node, result))

    def close(self) -> None:
        """Closes all plans."""
        for node in self._alive:
            node.plan.close()
        self._alive.clear()

    def _continue(self, node: _Node, value: Any, error: Exception | None = None) -> None:
        """Sends a value into a plan and continues all affected plans as far as results are known."""
        moves: deque[_Move] = deque([(node, value, error)])
        while moves:
            node, value, error = moves.popleft()
            try:
                request = node.plan.send(value) if error is None else node.plan.throw(error)
            except StopIteration as end:
                moves.extend(self._ended(node, end.value, None))
            except Exception as raised:
                moves.extend(self._ended(node, None, raised))
            else:
                moves.extend(self._requested(node, request))

    def _requested(self, node: _Node, request: Job | _IsKnown | _Queue | Sequence[Plan[Any]]) -> Iterator[_Move]:
        if isinstance(request, _IsKnown):
            yield node, self._known(request.job) is not None, None
            return
        if not isinstance(request, Job):
            wait = isinstance(request, _Queue)
            plans = request.plans if isinstance(request, _Queue) else request
            node.results, node.raised, node.left = [None] * len(plans), {}, len(plans)
            parts = [_Node(plan, place, node, queued=wait) for place, plan in enumerate(plans)]
            self._alive.update(parts)
            if wait:
                self._new.extend(parts)
            else:
                yield from ((part, None, None) for part in parts)
            if not parts:
                yield node, [], None
            return
        identity = request.id
        waiting = self._waiting.get(identity)
        if waiting is not None:
            waiting.append(node)
            return
        known = None if request.afresh else self._known(request)
        if known is not None:
            yield (node, *_answered(node, known))
            return
        self._waiting[identity] = [node]
        self._ready.append(request)

    def _ended(self, node: _Node, value: Any, error: Exception | None) -> Iterator[_Move]:
        parent = node.parent
        self._alive.discard(node)
        if error is not None and (parent is None or node.queued):
            raise error
        if node.scratched and not node.failed:
            self._drop_scratch(node.scratched)
        if parent is None:
            self.results[node.place] = value
            self.left -= 1
            return
        parent.results[node.place] = value
        if error is not None:
            parent.raised[node.place] = error
        parent.left -= 1
        if not parent.left:
            yield parent, parent.results, parent.raised[min(parent.raised)] if parent.raised else None


def _answered(node: _Node, result: JobResult) -> tuple[Any, Exception | None]:
    if isinstance(result.value, WithScratch) and result.value.scratch is not None:
        node.root.scratched.append(replace(result.job, given=None, afresh=False))
    if result.error is not None:
        return None, result.error
    if result.failure is not None:
        node.root.failed = True
        return None, JobFailed(str(result.job), result.failure)
    return result.value, None
