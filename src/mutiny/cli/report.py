"""``mutiny report``."""

from __future__ import annotations

from mutiny.cli.options import Campaigns, Json


def report(file: Campaigns, json: Json = None) -> None:
    """Shows the result of the last finished campaign of a file again; nothing is computed."""
    from mutiny.cli.reporting import run_report

    run_report(file, json)
