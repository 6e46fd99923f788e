"""Settings of torch that hold for the whole process, changed by calls that may overlap in several threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch

from mutiny.models.undo import Undo


class SharedContext:
    """A context of the whole process that overlapping calls share: the first one enters it, the last one leaves it.

    If each call entered a context of its own, calls that do not end in the reverse order would restore the change of
    another one.

    Args:
        make: Function that makes the context.
    """

    def __init__(self, make: Callable[[], AbstractContextManager[Any]]) -> None:
        self._make = make
        self._lock = threading.RLock()
        self._calls: list[_Call] = []
        self._context: AbstractContextManager[Any] | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Context in which the shared one is entered."""
        call = _Call()
        with Undo() as undo:
            undo.add(self._leave, call)
            with self._lock:
                self._calls.append(call)
                if self._context is None:
                    self._context = self._make()
                    self._context.__enter__()
            yield

    def _leave(self, call: _Call) -> None:
        with self._lock:
            if call in self._calls:
                self._calls.remove(call)
            self._restore()

    def _restore(self) -> None:
        if self._context is not None and not self._calls:
            context, self._context = self._context, None
            context.__exit__(None, None, None)

    def _after_fork(self) -> None:
        """Only the thread that forked exists in the child."""
        self._lock = threading.RLock()
        self._calls = [call for call in self._calls if call.thread == threading.get_ident()]
        self._restore()


class TorchThreads:
    """The number of threads of torch, which each thread has, and new threads take over from the last one that set it.

    >>> before = torch.get_num_threads()
    >>> with TorchThreads().set_to(before + 1):
    ...     torch.get_num_threads() - before
    1
    >>> torch.get_num_threads() == before
    True
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._calls: list[_Call] = []
        self._before = 0
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    @contextmanager
    def set_to(self, threads: int) -> Iterator[None]:
        """Context with this number; on leaving, this thread and new ones have the number from before."""
        call = _Call(threads)
        with Undo() as undo:
            undo.add(self._leave, call)
            with self._lock:
                call.before = torch.get_num_threads()
                others = [other for other in self._calls if other.thread != call.thread]
                if not self._calls:
                    self._before = call.before
                elif len(others) == len(self._calls) and any(call.before == other.threads for other in others):
                    call.before = self._before  # a new thread, which has taken over the number of another call
                self._calls.append(call)
                torch.set_num_threads(threads)
            yield

    def _leave(self, call: _Call) -> None:
        with self._lock:
            if call in self._calls:
                torch.set_num_threads(call.before)
                self._calls.remove(call)

    def _after_fork(self) -> None:
        self._lock = threading.RLock()
        self._calls = [call for call in self._calls if call.thread == threading.get_ident()]


class _Call:
    """A call that is under way, and its thread."""

    def __init__(self, threads: int = 0) -> None:
        self.thread = threading.get_ident()
        self.threads = self.before = threads


torch_threads = TorchThreads()
"""The number of threads of torch in this process."""
