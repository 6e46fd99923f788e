"""From a campaign's file to the command that goes on with it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mutiny.cli.keeping import arguments_of, shown
from mutiny.errors import BadInput
from mutiny.stores.base import Campaign
from mutiny.stores.salvage import salvage
from mutiny.stores.sqlite import SqliteStore


def run_resume(file: Path, damaged: bool, quiet: bool, changed: Mapping[str, Any]) -> None:
    """Runs the command of the last unfinished campaign again, with other settings that do not matter for results."""
    if not file.is_file():
        raise BadInput("file", file, "the file of a campaign")
    if damaged:
        file = _salvaged(file)
    with SqliteStore(file, write=False) as store:
        campaigns = store.campaigns()
        unfinished = [each for each in campaigns if not store.tally(each.id).finished]
    if not unfinished:
        fix = f"Show the last one with: mutiny report {shown(file)}" if campaigns else "Begin one with mutiny assess."
        raise BadInput("file", file, "an unfinished campaign" + "; all in it are finished" * bool(campaigns), fix)
    _again(file, unfinished[-1], quiet, changed)


def _salvaged(file: Path) -> Path:
    into = file.with_name(f"{file.stem}-salvaged{file.suffix}")
    found = salvage(file, into)
    lost = f"; lost: {', '.join(found.lost)}" if found.lost else ""
    sys.stderr.write(f"mutiny: {found.results} results are intact and now in {shown(into)}{lost}\n")
    for note in found.notes:
        sys.stderr.write(f"mutiny: {note}\n")
    return into


def _again(file: Path, campaign: Campaign, quiet: bool, changed: Mapping[str, Any]) -> None:
    command = campaign.command
    if command is None:
        raise BadInput(
            "file", file, "a campaign that was begun on the command line",
            f"This one was begun in Python: call mutiny.{campaign.verb}(..., store={str(file)!r}) again.",
        )  # fmt: skip
    from mutiny.cli.verbs import VERBS

    verb = VERBS[command["verb"]]
    arguments = {**arguments_of(command), **changed, "store": file, "no_store": False, "quiet": quiet}
    known = inspect.signature(verb).parameters  # of another version, perhaps
    verb(**{name: value for name, value in arguments.items() if name in known})
