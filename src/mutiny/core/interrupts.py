"""Handling of Ctrl-C. The first one stops before the next job, the second one stops at once; finished work is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_stop = threading.Event()


def stop_requested() -> bool:
    """Whether the user asked to stop."""
    return _stop.is_set()


@contextmanager
def interruptible(on_request: Callable[[], None]) -> Iterator[None]:
    """Context in which the first SIGINT or SIGTERM requests a stop and the second one raises `KeyboardInterrupt`.

    After a stop was requested, further signals are ignored when the context ends, because the process is about to exit
    and its exit code must tell that it can be resumed.

    Args:
        on_request: Function that is called at the first signal, to inform the user.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(_: int, __: FrameType | None) -> None:
        if _stop.is_set():
            raise KeyboardInterrupt
        _stop.set()
        on_request()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        stopped = _stop.is_set()
        _stop.clear()
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if stopped else handler)
