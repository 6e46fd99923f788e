"""From a campaign's file to its result on the screen."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from mutiny.cli.keeping import shown
from mutiny.errors import BadInput
from mutiny.mutation.assessment import Assessment
from mutiny.reports.files import check_writable
from mutiny.reports.json import write_json
from mutiny.reports.text import assessment_text
from mutiny.stores.sqlite import SqliteStore


def run_report(file: Path, json: Path | None, console: Console | None = None) -> None:
    """Prints the last result that the file has."""
    if not file.is_file():
        raise BadInput("file", file, "the file of a campaign")
    if json is not None:
        check_writable(json, "--json")
    with SqliteStore(file, write=False) as store:
        results = [found for each in store.campaigns() if (found := store.outcome(each.id)) is not None]
    if not results:
        raise BadInput("file", file, "a finished campaign", f"Finish it with: mutiny resume {shown(file)}")
    last: Assessment = results[-1]
    console = console or Console()
    console.print(assessment_text(last, console.width))
    if json is not None:
        write_json(json, last.to_json())
