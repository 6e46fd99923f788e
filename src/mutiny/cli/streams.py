"""Standard output and error of a command: closed pipes and full disks are no bugs, and no text drives a terminal."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from mutiny.core.printable import UNPRINTABLE, printable

CLOSED = (errno.EPIPE, errno.EINVAL) if sys.platform == "win32" else (errno.EPIPE,)
"""Errors that mean that nobody reads any more."""
ACTING = "\x1b\r"
"""What colors and progress bars need; everything else that acts comes from somewhere else, such as a typed argument."""


def say(sentence: str) -> None:
    """Write one line to standard error; values in it cannot begin another line."""
    sys.stderr.write(f"mutiny: {printable(' '.join(sentence.split()))}\n")


class SafeStream:
    """A text stream that is given up silently when its reader is gone.

    Args:
        stream: The stream.
        required: Whether other errors, such as a full disk, are raised.

    Attributes:
        error: The error with which writing ended, unless the reader was gone.
    """

    def __init__(self, stream: Any, required: bool) -> None:
        self._stream, self._required, self._ended = stream, required, False
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        """Writes text; characters that the stream's encoding lacks are written as escapes."""
        if self._ended:
            return len(text)
        shown = UNPRINTABLE.sub(lambda match: match[0] if match[0] in ACTING else printable(match[0]), text)
        try:
            try:
                self._stream.write(shown)
            except UnicodeEncodeError:
                encoding = self._stream.encoding
                self._stream.write(shown.encode(encoding, "backslashreplace").decode(encoding))
        except OSError as error:
            self._end(error)
        return len(text)

    def flush(self) -> None:
        """Writes what is buffered."""
        if not self._ended:
            try:
                self._stream.flush()
            except OSError as error:
                self._end(error)

    def _end(self, error: OSError) -> None:
        """Sends the rest nowhere, also what is flushed when the process ends."""
        self._ended = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        if error.errno not in CLOSED:
            self.error = error
            if self._required:
                raise error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class SafeStreams:
    """Context in which standard output and error are `SafeStream`; closed ones are replaced by the null device."""

    def __enter__(self) -> Self:
        self._before = sys.stdout, sys.stderr
        for number, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
            if getattr(sys, name) is None:  # a file that is opened next would take its place
                nothing = os.open(os.devnull, os.O_RDWR)
                if nothing != number:
                    os.dup2(nothing, number)
                    os.close(nothing)
                setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))
        self.out, self.err = SafeStream(sys.stdout, required=True), SafeStream(sys.stderr, required=False)
        sys.stdout, sys.stderr = self.out, self.err
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.err.flush()
        sys.stdout, sys.stderr = self._before

    def unwritten(self) -> str:
        """Why the output could not be written, in a sentence; empty if it was, or if nobody wanted to read it."""
        with suppress(OSError):
            self.out.flush()
        error = self.out.error
        why = "" if error is None else error.strerror or str(error)
        return f"output=<the text>: expected a place to print it ({why})." if why else ""
