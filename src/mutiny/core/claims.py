"""Exclusive use of what threads share, such as a model or the random generators: one call at a time, the others wait.

A claim takes all its keys at once, so two calls that need the same models in another order cannot block each other.
Claims nest: inside a claim, the same keys can be claimed again, in this thread and wherever its context is copied to,
as `asyncio.to_thread` does. Of several claims inside one, such as two tasks started by the same call, one at a time
holds a key. Claims are granted in the order in which they are asked for. A claim that could never be granted raises an
error instead of waiting.
"""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, Self

from mutiny.core.errors import BadInput

_turn = threading.Condition()
_holders: dict[Hashable, list[Claim]] = {}
"""The claims that hold each key, from the outermost to the innermost. A key that is free is not in it."""
_waiting: list[Claim] = []
_entered: ContextVar[tuple[Claim, ...]] = ContextVar("_entered", default=())
"""Claims inside which this context runs, the outermost first."""
_left_by_fork: list[tuple[frozenset[Hashable], list[weakref.ref[Any]]]] = []
"""Keys that other threads held when this process was forked, and the objects that they belong to."""


class Claim:
    """Keeps keys for itself while it is entered. Copies and pickles of a claim hold nothing.

    Args:
        keys: What is claimed; objects are named by their identity, since two equal models are two.
        name: Name of the argument, for errors.
        value: Description of what is claimed, for errors.
        objects: Objects that the keys belong to; they are kept alive while the claim is held, so that their identities
            stay theirs.
        outer: Claim inside which this one counts, besides those of the context.

    >>> with Claim(["door"], "door", "front"):
    ...     with Claim(["door"], "door", "front"):  # the same thread may claim it again
    ...         pass
    """

    def __init__(
        self,
        keys: Iterable[Hashable] = (),
        name: str = "",
        value: str = "",
        objects: Iterable[object] = (),
        outer: Claim | None = None,
    ) -> None:
        self.keys = frozenset(keys)
        self.name, self.value, self.objects = name, value, tuple(objects)
        self._outer = outer
        self._inside: tuple[Claim, ...] = ()
        self._thread = 0
        self.held = self.waited = False

    def part(self) -> Claim:
        """A claim inside this one, in whatever thread it is entered; of several, one at a time is held."""
        return Claim({*self.keys, self}, self.name, self.value, self.objects, self) if self.held else Claim()

    def __enter__(self) -> Self:
        given = (*_entered.get(), *(() if self._outer is None else (*self._outer._inside, self._outer)))
        self._inside = tuple(claim for claim in dict.fromkeys(given) if claim.held)
        self._thread, self.waited = threading.get_ident(), False
        try:
            self._take()
            _entered.set((*self._inside, self))
        except BaseException:
            self._give_back()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        interrupt: KeyboardInterrupt | None = None
        while True:
            try:
                self._give_back()
                break
            except KeyboardInterrupt as raised:  # what is left to give back is given back first
                interrupt = raised
        if interrupt is not None:
            raise interrupt

    def __reduce__(self) -> tuple[type[Claim], tuple[()]]:
        return Claim, ()

    def _take(self) -> None:
        with _turn:
            _waiting.append(self)
            try:
                while others := self._others():
                    self._check_wait(others)
                    self.waited = True
                    _turn.wait(1)  # on some systems Ctrl-C is noticed only between two waits
                self._check_left()
                self.held = True
                for key in self.keys:
                    _holders.setdefault(key, []).append(self)
            finally:
                _waiting.remove(self)
                _turn.notify_all()

    def _give_back(self) -> None:
        with _turn:
            for key in self.keys:
                stack = _holders.get(key, [])
                if self in stack:
                    stack.remove(self)
                if not stack:
                    _holders.pop(key, None)
            self.held, self.objects = False, ()
            _turn.notify_all()
        entered = _entered.get()
        if self in entered:
            _entered.set(tuple(claim for claim in entered if claim is not self))

    def _others(self) -> set[Claim]:
        """Claims for which this one has to wait: they hold a key, or have asked for it before."""
        innermost = {stack[-1] for key in self.keys if (stack := _holders.get(key))}
        others = innermost.difference(self._inside)
        if not self._inside:  # who holds nothing waits its turn; others may be what those before them wait for
            others.update(claim for claim in _waiting[: _waiting.index(self)] if claim.keys & self.keys)
        return others

    def _check_wait(self, others: set[Claim]) -> None:
        """Raises an error if waiting would never end."""
        if any(claim.held and claim._thread == self._thread for claim in others):
            raise BadInput(
                self.name,
                self.value,
                f"a {self.name} that no other task of this thread uses",
                "That task cannot go on while this call waits: await it first, or give each call a thread, as "
                "asyncio.to_thread does.",
            )
        seen, ahead = set[Claim](), [*others]
        while ahead:
            other = ahead.pop()
            if other in seen:
                continue
            seen.add(other)
            for waiting in _waiting:
                if waiting is not self and (waiting is other or other in waiting._inside):
                    ahead += (next_ := waiting._others())
                    if next_.intersection(self._inside):
                        raise BadInput(
                            self.name,
                            self.value,
                            f"a {self.name} that is not held by a thread which waits for this one",
                            "Take what both threads need in the same order, or all of it in one call.",
                        )

    def _check_left(self) -> None:
        """Raises an error if another thread held a key when this process was forked: what it did is half done."""
        for keys, objects in _left_by_fork:
            if keys & self.keys and any(reference() is not None for reference in objects):
                raise BadInput(
                    self.name,
                    self.value,
                    f"a {self.name} that no other thread used when this process was forked",
                    "Its weights may be those of a fault: load it again here, or fork when no call is running.",
                )


def exclusive(what: str) -> Claim:
    """A claim on a state of the process that is not a model.

    >>> with exclusive("random generators"):
    ...     pass
    """
    return Claim([what], what, "<in use>")


@contextmanager
def own_warnings(action: Literal["ignore", "error"], category: type[Warning] = Warning) -> Iterator[None]:
    """Context in which some warnings are ignored, or are errors. Filters are those of the process, so others wait."""
    with exclusive("warning filters"), warnings.catch_warnings():
        warnings.simplefilter(action, category)
        yield


def entered() -> tuple[Claim, ...]:
    """The claims inside which this context runs, the outermost first."""
    return tuple(claim for claim in _entered.get() if claim.held)


def _after_fork() -> None:
    """Frees in a child what other threads held, which do not exist there."""
    global _turn
    mine = set(_entered.get())
    _turn = threading.Condition()
    _waiting.clear()
    for claim in {claim for stack in _holders.values() for claim in stack} - mine:
        if claim.objects:
            _left_by_fork.append((claim.keys, [weakref.ref(kept) for kept in claim.objects]))
        claim.held, claim.objects = False, ()
    for key, stack in list(_holders.items()):
        stack[:] = [claim for claim in stack if claim in mine]
        if not stack:
            del _holders[key]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _turn.acquire(), after_in_parent=lambda: _turn.release(), after_in_child=_after_fork
    )
