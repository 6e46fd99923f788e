"""The command line: one command, one file, no logic."""

from __future__ import annotations

import sys

from mutiny.cli.app import app
from mutiny.errors import MutinyError

INTERRUPTED = 130
"""What typer makes of a KeyboardInterrupt."""


def main() -> None:
    """Runs the command; errors on purpose are one sentence and exit code 2, an interrupt is exit code 3."""
    try:
        app(prog_name="mutiny")
    except MutinyError as error:
        _say(" ".join(f"mutiny: {error}".split()))
        sys.exit(2)
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        _say("mutiny: interrupted; nothing was written. Originals that were trained are kept for the next run.")
        sys.exit(3)


def _say(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")
