"""The command line: one command, one file, no logic."""

from __future__ import annotations

import sys
import traceback

from mutiny.cli.app import app
from mutiny.cli.faults import given_code, sentence
from mutiny.core.errors import MutinyError

CRASHED = 70
"""So that a bug is never taken for a missed bar."""
INTERRUPTED = 130
"""What typer makes of a KeyboardInterrupt."""


def main() -> None:
    """Runs the command.

    Errors on purpose are one sentence and exit code 2, as are crashes of code that was given, after its lines. An
    interrupt is exit code 3, a bug 70.
    """
    try:
        app(prog_name="mutiny")
    except MutinyError as error:
        _say(" ".join(f"mutiny: {error}".split()))
        sys.exit(2)
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        _say("mutiny: interrupted; no further result was written. Originals that were trained are kept.")
        sys.exit(3)
    except Exception as error:
        if frames := given_code(error):
            sys.stderr.writelines(traceback.format_list(frames))
            _say(f"mutiny: {sentence(error, frames)}")
            sys.exit(2)
        traceback.print_exc()
        _say("mutiny: this is a bug in mutiny; please report it with the lines above.")
        sys.exit(CRASHED)


def _say(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")
