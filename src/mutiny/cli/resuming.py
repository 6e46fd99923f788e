"""From a campaign's file to the command that goes on with it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from typing import Any

from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.campaigns.stores.salvage import salvage
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.cli.keeping import arguments_of, shown, working_in
from mutiny.core.errors import BadInput

WHERE = frozenset(["engine", "workers", "address"])
"""Options that say where tasks run."""
NAMED = 12
"""So many lost results are named."""


def run_resume(file: Path, damaged: bool, quiet: bool, changed: Mapping[str, Any]) -> None:
    """Runs the command of the last unfinished campaign again, with other settings that do not matter for results."""
    if not file.is_file():
        raise BadInput("file", file, "the file of a campaign")
    if damaged:
        file = _salvaged(file)
    if not file.stat().st_size:
        raise BadInput("file", file, "the file of a campaign; it is empty")
    with SqliteStore(file) as store:  # older versions are brought up to date
        campaigns = store.campaigns()
        unfinished = [each for each in campaigns if _open(store, each)]
    if not unfinished:
        fix = f"Show the last one with: mutiny report {shown(file)}" if campaigns else "Begin one with mutiny assess."
        if damaged and campaigns:
            sys.stderr.write(f"mutiny: all campaigns in it are finished. {fix}\n")
            return
        raise BadInput("file", file, "an unfinished campaign" + "; all in it are finished" * bool(campaigns), fix)
    typed = [each for each in unfinished if each.command is not None]
    _again(file, (typed or unfinished)[-1], quiet, changed)


def _open(store: Store, campaign: Campaign) -> bool:
    """Whether there is something left to do: no result, or tasks that failed and can be tried again."""
    tally = store.tally(campaign.id)
    return not tally.finished or bool(tally.failed)


def _salvaged(file: Path) -> Path:
    names = (f"{file.stem}-salvaged{again}{file.suffix}" for again in chain([""], (f"-{n}" for n in count(2))))
    into = next(path for path in map(file.with_name, names) if not path.exists())
    found = salvage(file, into)
    more = len(found.lost) - NAMED
    lost = f"; lost: {', '.join(found.lost[:NAMED])}{f' and {more} more' if more > 0 else ''}" if found.lost else ""
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
    before = arguments_of(command)
    if WHERE & set(changed):  # one of them may not fit to those that were given then
        before = {name: value for name, value in before.items() if name not in WHERE}
    arguments = {**before, **changed, "store": file.resolve(), "no_store": False, "quiet": quiet}
    known = inspect.signature(verb).parameters  # of another version, perhaps
    folder = command.get("folder")
    try:
        with working_in(None if folder is None else Path(folder)):
            verb(**{name: value for name, value in arguments.items() if name in known})
    finally:
        _say_if_changed(file, campaign)


def _say_if_changed(file: Path, campaign: Campaign) -> None:
    """A command means another campaign once networks, data or code of the subject have changed."""
    with SqliteStore(file, write=False) as store:
        last = store.campaigns()[-1]
    if last.id != campaign.id and last.verb == campaign.verb:
        sys.stderr.write(
            "mutiny: the subject is not the one that this campaign was begun with (other networks, data, code or "
            "versions), so it was a new campaign; the old one stays as it was.\n"
        )
