"""The command line: one command, one file."""

from __future__ import annotations

import os
import sys
import traceback

from mutiny.cli.app import app
from mutiny.cli.completion import join_split_words
from mutiny.cli.errors import given_code, given_code_sentence
from mutiny.core.errors import MutinyError

CRASHED = 70
"""Exit code of a bug, which must not be mistaken for a missed bar."""
INTERRUPTED = 130
"""Exit code that typer gives a KeyboardInterrupt."""


def main() -> None:
    """Run the command.

    An expected error is one sentence and exit code 2, and so is a crash of the user's code, after its lines. An
    interrupt is exit code 3, a bug 70.
    """
    join_split_words(os.environ)
    try:
        app(prog_name="mutiny")
    except MutinyError as error:
        _say(" ".join(f"mutiny: {error}".split()))
        sys.exit(2)
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        _say("mutiny: interrupted; nothing else was written. Trained originals are kept.")
        sys.exit(3)
    except Exception as error:
        if frames := given_code(error):
            sys.stderr.writelines(traceback.format_list(frames))
            _say(f"mutiny: {given_code_sentence(error, frames)}")
            sys.exit(2)
        traceback.print_exc()
        _say("mutiny: this is a bug in mutiny; please report it with the lines above.")
        sys.exit(CRASHED)


def _say(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")
