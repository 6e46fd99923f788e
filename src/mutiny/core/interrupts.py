"""Ctrl-C once: no further task is begun. Twice: everything stops now. What is done is kept either way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_asked = threading.Event()


def stop_requested() -> bool:
    """Whether the user asked to stop."""
    return _asked.is_set()


@contextmanager
def interruptible(told: Callable[[], None]) -> Iterator[None]:
    """Within, SIGINT and SIGTERM ask to stop; the second one raises `KeyboardInterrupt`.

    Afterwards, if there was one, further ones are ignored: the process is about to end, and with a good exit code.

    Args:
        told: called at the first one, to tell the user.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(_: int, __: FrameType | None) -> None:
        if _asked.is_set():
            raise KeyboardInterrupt
        _asked.set()
        told()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        stopped = _asked.is_set()
        _asked.clear()
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if stopped else handler)
