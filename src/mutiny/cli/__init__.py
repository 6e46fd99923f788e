"""The command line: one command, one file."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from mutiny.cli.app import app
from mutiny.cli.completion import join_split_words
from mutiny.cli.errors import given_code, given_code_sentence
from mutiny.cli.streams import SafeStreams, say
from mutiny.core.errors import MutinyError, MutinyWarning
from mutiny.core.memory_errors import ADVICE, is_out_of_memory
from mutiny.core.printable import printable

REFUSED, STOPPED, CRASHED = 2, 3, 70
"""Exit codes of an expected error, of an interrupt or a lack of room, and of a bug.

1, the default of Python, means a score below the bar.
"""
INTERRUPTED = 130
"""Exit code of typer after a KeyboardInterrupt."""


def main() -> None:
    """Run the command.

    An expected error prints one sentence, and an error in the user's code its traceback too; the exit code is 2. It is
    3 after an interrupt, and 70 for a bug. A reader of the output that stops reading, such as ``head``, changes
    nothing; an output that cannot be written, such as on a full disk, is an expected error.
    """
    join_split_words(os.environ)
    with SafeStreams() as streams:
        code = _exit_code(streams)
        if sentence := streams.unwritten():
            if not code:
                say(sentence)
            code = code or REFUSED
    sys.exit(code)


def _exit_code(streams: SafeStreams) -> str | int | None:
    try:
        with warnings.catch_warnings():
            warnings.showwarning = partial(_show_warning, warnings.showwarning)
            app(prog_name="mutiny")
    except MutinyError as error:
        say(str(error))
        return REFUSED
    except SystemExit as end:
        if frames := given_code(end):  # whatever its code is, there is no result
            say(given_code_sentence(end, frames))
            return REFUSED
        if end.code != INTERRUPTED:
            return end.code
        return _interrupted()
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as error:
        if error is streams.out.error:
            return 0  # the caller says so
        if is_out_of_memory(error):
            say(f"out of memory; no result was written. {ADVICE} Then give the same command again.")
            return STOPPED
        if frames := given_code(error):
            sys.stderr.write(printable("".join(traceback.format_list(frames))))
            say(given_code_sentence(error, frames))
            return REFUSED
        sys.stderr.write(printable(traceback.format_exc()))
        say("this is a bug in mutiny; please report it with the lines above.")
        return CRASHED
    return 0


def _interrupted() -> int:
    say(
        "interrupted; no result was written. Trained originals are kept, and results in a campaign file: "
        "give the same command again."
    )
    return STOPPED


def _show_warning(show: Callable[..., None], message: Warning | str, category: type[Warning], *place: Any) -> None:
    """Shows a warning of mutiny as a sentence, and other warnings as usual."""
    if issubclass(category, MutinyWarning):
        say(str(message))
    else:
        show(message, category, *place)
