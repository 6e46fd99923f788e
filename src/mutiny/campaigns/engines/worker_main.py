"""Main function of a worker process, ``python -m mutiny.campaigns.engines.worker_main``, started by `Processes`.

It reads messages from its standard input and writes replies to its standard output; what the work prints goes to
standard error. It ends when its input does, even in the middle of a job, because then the process that started it is
gone. Imports of mutiny are inside `main`, so that a failure of them can be reported.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from queue import SimpleQueue
from typing import Any, BinaryIO

READY = "ready"


def main() -> None:
    """Writes that it is ready, or one line with the reason why not, and then handles messages until its input ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the parent gets them too, and decides what to do
        signal.signal(number, signal.SIG_IGN)
    source, sink = _private_pipes()
    _restore_path()
    try:
        from mutiny.campaigns.engines.serialization import receive, send
        from mutiny.campaigns.engines.worker_messages import MessageHandler

        handler = MessageHandler(int(sys.argv[1]))
    except BaseException as error:
        sink.write(f"{type(error).__name__}: {error}".replace("\n", " ").encode() + b"\n")
        sys.exit(1)
    try:
        sink.write(READY.encode() + b"\n")
        sink.flush()
    except OSError:  # the process that started it is gone
        os._exit(0)
    messages: SimpleQueue[Any] = SimpleQueue()

    def listen() -> None:
        while True:
            try:
                messages.put(receive(source))
            except (EOFError, OSError):
                handler.abandon()
                os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        send(sink, handler.answer(messages.get()))


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Moves standard input and output to file descriptors that neither the work nor its children know."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # the process may be killed at any time
    if hasattr(os, "register_at_fork"):  # a fork that outlives this process would keep its pipes open
        os.register_at_fork(after_in_child=lambda: os.closerange(min(source, sink), max(source, sink) + 1))
    return os.fdopen(source, "rb"), os.fdopen(sink, "wb")


def _restore_path() -> None:
    """Sets the parent's module search path here, and its original ``PYTHONPATH`` for child processes of the work."""
    sys.path[:] = os.environ.pop("PYTHONPATH").split(os.pathsep)
    if (before := os.environ.pop("MUTINY_PYTHONPATH", None)) is not None:
        os.environ["PYTHONPATH"] = before


if __name__ == "__main__":
    main()
