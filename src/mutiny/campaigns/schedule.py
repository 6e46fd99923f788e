"""Plans that grow: coroutines that ask for jobs and decide from the results what to ask next.

A plan is an ``async def`` that awaits `ask` for one job and `together` for several plans. Nothing here knows of clocks
or threads: `Schedule` hands out jobs when it is asked for them, and goes on with a plan when the result is given.

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
    """The value of a job. If the work refused, what it raised; if it failed, `JobFailed`."""
    return (yield job)


@types.coroutine
def is_known(job: Job) -> Generator[_Look, Any, bool]:
    """Whether a job was done before."""
    found: bool = yield _Look(job)
    return found


@types.coroutine
def together(plans: Iterable[Plan[T]]) -> Generator[list[Plan[T]], Any, list[T]]:
    """The results of several plans that go on at the same time, in the order of the plans."""
    found: list[T] = yield list(plans)
    return found


@types.coroutine
def queued(plans: Iterable[Plan[T]]) -> Generator[_Queue, Any, list[T]]:
    """The results of several plans, in their order. Each begins when those before it have no job ready.

    Fewer plans are under way than with `together`, and the scratch of a plan is forgotten as soon as that plan ends.
    An error that one of them raises is not held back until the others have ended, and cannot be caught.
    """
    results: list[T] = yield _Queue(list(plans))
    return results


@dataclass(frozen=True)
class _Queue:
    """Plans that begin one after the other, as there is room."""

    plans: Sequence[Plan[Any]]


@dataclass(frozen=True)
class _Look:
    """Asks whether a job was done before."""

    job: Job


@dataclass(eq=False)
class _Node:
    """A plan that has begun, and where its result goes."""

    plan: Plan[Any]
    place: int
    parent: _Node | None = None
    found: list[Any] = field(default_factory=list)
    raised: dict[int, Exception] = field(default_factory=dict)
    left: int = 0
    scratched: list[Job] = field(default_factory=list)
    failed: bool = False
    queued: bool = False

    @property
    def root(self) -> _Node:
        """The plan that it is a part of, and that keeps its scratch."""
        return self if self.parent is None or self.queued else self.parent.root


class Schedule:
    """Drives plans.

    Args:
        plans: begun one after the other, and only when those before have nothing to do: so what is under way stays
            small.
        known: looks up what was found before; such jobs are not handed out, unless they are to be done afresh.
        ended: told the jobs that left scratch behind, when the plan that asked for them ends; not if a job of it
            failed, which will be tried again and needs them.
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
        self._known, self._ended_with = known, ended

    def jobs(self) -> Iterator[Job | None]:
        """The next job; ``None`` while all plans wait for results."""
        while True:
            while self._new and not self._ready:
                self._go_on(self._new.popleft(), None)
            if self._ready:
                yield self._ready.popleft()
            elif self.left:
                yield None
            else:
                return

    def give(self, result: JobResult) -> None:
        """Goes on with all plans that wait for this result."""
        for node in self._waiting.pop(result.job.id):
            self._go_on(node, *_answered(node, result))

    def close(self) -> None:
        """Abandons all plans."""
        for node in self._alive:
            node.plan.close()
        self._alive.clear()

    def _go_on(self, node: _Node, value: Any, error: Exception | None = None) -> None:
        """Sends a value into a plan, and then on, as far as everything is known."""
        moves: deque[tuple[_Node, Any, Exception | None]] = deque([(node, value, error)])
        while moves:
            node, value, error = moves.popleft()
            try:
                wish = node.plan.send(value) if error is None else node.plan.throw(error)
            except StopIteration as end:
                moves.extend(self._ended(node, end.value, None))
            except Exception as raised:
                moves.extend(self._ended(node, None, raised))
            else:
                moves.extend(self._wished(node, wish))

    def _wished(
        self, node: _Node, wish: Job | _Look | _Queue | Sequence[Plan[Any]]
    ) -> Iterator[tuple[_Node, Any, Exception | None]]:
        if isinstance(wish, _Look):
            yield node, self._known(wish.job) is not None, None
            return
        if not isinstance(wish, Job):
            wait = isinstance(wish, _Queue)
            plans = wish.plans if isinstance(wish, _Queue) else wish
            node.found, node.raised, node.left = [None] * len(plans), {}, len(plans)
            parts = [_Node(plan, place, node, queued=wait) for place, plan in enumerate(plans)]
            self._alive.update(parts)
            if wait:
                self._new.extend(parts)
            else:
                yield from ((part, None, None) for part in parts)
            if not parts:
                yield node, [], None
            return
        identity = wish.id
        waiting = self._waiting.get(identity)
        if waiting is not None:
            waiting.append(node)
            return
        known = None if wish.afresh else self._known(wish)
        if known is not None:
            yield (node, *_answered(node, known))
            return
        self._waiting[identity] = [node]
        self._ready.append(wish)

    def _ended(self, node: _Node, value: Any, error: Exception | None) -> Iterator[tuple[_Node, Any, Exception | None]]:
        parent = node.parent
        self._alive.discard(node)
        if error is not None and (parent is None or node.queued):
            raise error
        if node.scratched and not node.failed:
            self._ended_with(node.scratched)
        if parent is None:
            self.results[node.place] = value
            self.left -= 1
            return
        parent.found[node.place] = value
        if error is not None:
            parent.raised[node.place] = error
        parent.left -= 1
        if not parent.left:
            yield parent, parent.found, parent.raised[min(parent.raised)] if parent.raised else None


def _answered(node: _Node, result: JobResult) -> tuple[Any, Exception | None]:
    if isinstance(result.value, WithScratch) and result.value.scratch is not None:
        node.root.scratched.append(replace(result.job, given=None, afresh=False))
    if result.error is not None:
        return None, result.error
    if result.failure is not None:
        node.root.failed = True
        return None, JobFailed(str(result.job), result.failure)
    return result.value, None
