"""The command line: one command, one file, no logic."""

from __future__ import annotations

import sys

from mutiny.cli.app import app
from mutiny.errors import MutinyError


def main() -> None:
    """Runs the command; errors on purpose are one sentence and exit code 2, an interrupt is exit code 3."""
    try:
        app()
    except MutinyError as error:
        _say(f"mutiny: {error}")
        sys.exit(2)
    except KeyboardInterrupt:
        _say("mutiny: interrupted; nothing was written. Originals that were trained are kept for the next run.")
        sys.exit(3)


def _say(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")
