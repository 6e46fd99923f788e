"""How long things take, and saying so."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Wall and processor seconds since the last lap."""

    def __init__(self) -> None:
        self.lap()

    def lap(self) -> dict[str, float]:
        """Seconds since the last lap, as columns."""
        before = getattr(self, "now", (0.0, 0.0))
        self.now = time.monotonic(), time.process_time()
        return {"seconds": self.now[0] - before[0], "cpu_seconds": self.now[1] - before[1]}


@contextmanager
def told(what: str) -> Iterator[None]:
    """Says what begins and how long it took."""
    start = time.monotonic()
    print(f"{time.strftime('%H:%M:%S')} {what} ...", end=" ", flush=True)
    try:
        yield
        print(f"{time.monotonic() - start:.1f} s", flush=True)
    except BaseException:
        print("not done", flush=True)
        raise
