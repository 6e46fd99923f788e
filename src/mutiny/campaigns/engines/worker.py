"""A process that does jobs for another: ``python -m mutiny.campaigns.engines.worker``, started by `Processes`.

It reads packed orders from its standard input and writes packed answers to its standard output; what the work prints
goes to standard error. It ends as soon as its input does, in the middle of a job too: whoever started it is gone.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from queue import SimpleQueue
from typing import Any, BinaryIO

READY = "ready"


def main() -> None:
    """Says that it is ready, or in one line why not, and takes orders until there are no more."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the parent gets them too, and decides
        signal.signal(number, signal.SIG_IGN)
    source, sink = _private_pipes()
    _restore_path()
    try:
        from mutiny.campaigns.engines.job_loop import Desk
        from mutiny.campaigns.engines.serialization import receive, send

        desk = Desk(int(sys.argv[1]))
    except BaseException as error:
        sink.write(f"{type(error).__name__}: {error}".replace("\n", " ").encode() + b"\n")
        sys.exit(1)
    try:
        sink.write(READY.encode() + b"\n")
        sink.flush()
    except OSError:  # whoever started it is gone already
        os._exit(0)
    orders: SimpleQueue[Any] = SimpleQueue()

    def listen() -> None:
        while True:
            try:
                orders.put(receive(source))
            except (EOFError, OSError):
                desk.abandon()
                os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        send(sink, desk.answer(orders.get()))


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output, moved to where neither the work nor its children can reach them."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # the process may be ended at any time
    if hasattr(os, "register_at_fork"):  # a fork that outlives this process would keep its pipes open
        os.register_at_fork(after_in_child=lambda: os.closerange(min(source, sink), max(source, sink) + 1))
    return os.fdopen(source, "rb"), os.fdopen(sink, "wb")


def _restore_path() -> None:
    """Makes the parent's module path this process's, and its variable ``PYTHONPATH`` that of the work's children."""
    sys.path[:] = os.environ.pop("PYTHONPATH").split(os.pathsep)
    if (before := os.environ.pop("MUTINY_PYTHONPATH", None)) is not None:
        os.environ["PYTHONPATH"] = before


if __name__ == "__main__":
    main()
