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
from mutiny.core.errors import MutinyError, MutinyWarning

CRASHED = 70
"""Exit code of a bug; 1, the default of Python, means a score below the bar."""
INTERRUPTED = 130
"""Exit code of typer after a KeyboardInterrupt."""


def main() -> None:
    """Run the command.

    An expected error prints one sentence, and an error in the user's code its traceback too; the exit code is 2. It is
    3 after an interrupt, and 70 for a bug.
    """
    join_split_words(os.environ)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = partial(_show_warning, warnings.showwarning)
            app(prog_name="mutiny")
    except MutinyError as error:
        _say(" ".join(f"mutiny: {error}".split()))
        sys.exit(2)
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        _say("mutiny: interrupted; no result was written. Originals trained so far are kept.")
        sys.exit(3)
    except Exception as error:
        if frames := given_code(error):
            sys.stderr.writelines(traceback.format_list(frames))
            _say(f"mutiny: {given_code_sentence(error, frames)}")
            sys.exit(2)
        traceback.print_exc()
        _say("mutiny: this is a bug in mutiny; please report it with the lines above.")
        sys.exit(CRASHED)


def _show_warning(show: Callable[..., None], message: Warning | str, category: type[Warning], *place: Any) -> None:
    """Shows a warning of mutiny as a sentence, and other warnings as usual."""
    if issubclass(category, MutinyWarning):
        _say(f"mutiny: {message}")
    else:
        show(message, category, *place)


def _say(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")
