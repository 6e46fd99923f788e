"""A time limit for code of others: an exception is raised in it, whatever it does in Python."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TimeLimitReached(BaseException):
    """The code took longer than it may. No ``Exception``, so that tests do not catch it by accident."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Context in which `TimeLimitReached` is raised after some seconds, and again after as many more.

    In the main thread of a system with signals it also ends sleeping and waiting. Elsewhere it is raised when the
    running call returns to Python. What hangs inside of compiled code cannot be stopped.

    >>> import time
    >>> with time_limit(0.01):
    ...     time.sleep(60)
    Traceback (most recent call last):
    mutiny.testing.time_limit.TimeLimitReached: took longer than 0.01 s
    """
    in_main = threading.current_thread() is threading.main_thread()
    with _by_signal(seconds) if in_main and hasattr(signal, "setitimer") else _by_thread(seconds):
        yield


@contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TimeLimitReached(f"took longer than {seconds:.3g} s")

    handler = signal.signal(signal.SIGALRM, stop)
    before = signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if before[0]:  # another limit, such as that of pytest-timeout, which begins again
            signal.setitimer(signal.ITIMER_REAL, *before)


@contextmanager
def _by_thread(seconds: float) -> Iterator[None]:
    thread, over = ctypes.c_ulong(threading.get_ident()), threading.Event()

    def watch() -> None:
        while not over.wait(seconds):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TimeLimitReached))

    watcher = threading.Thread(target=watch, daemon=True, name="mutiny time limit")
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
