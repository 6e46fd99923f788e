"""``mutiny resume``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mutiny.cli.command import COMMANDS
from mutiny.cli.loading_message import loading
from mutiny.cli.options import Address, CampaignFile, Engine, Json, Quiet, Workers, option, with_limit
from mutiny.cli.paths import quoted_path, working_in
from mutiny.cli.stored_command import checked_command, from_stored
from mutiny.core.checks import check_path
from mutiny.core.errors import BadInput, called

if TYPE_CHECKING:
    from mutiny.campaigns.stores.base import Campaign, Store

ENGINE_OPTIONS = frozenset(["engine", "workers", "address"])
"""Options that determine where jobs run."""
MOST_NAMED = 12
"""Maximum number of lost results to name."""


@with_limit
@called("FILE", "store", "--store")
def resume(
    file: CampaignFile,
    salvage: Annotated[
        bool, option("Copy the intact part of a damaged file to a new one, and resume that.", None, "--salvage")
    ] = False,
    engine: Engine = None,
    workers: Workers = None,
    address: Address = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Resume the latest unfinished campaign in FILE."""
    with loading(quiet):
        from mutiny.campaigns.stores.sqlite import SqliteStore

    check_path("FILE", file)
    if not file.is_file():
        raise BadInput("FILE", file, "a campaign file that exists")
    if salvage:
        file = _salvaged(file)
    if not file.stat().st_size:
        raise BadInput("FILE", file, "a campaign file; it is empty")
    with SqliteStore(file) as store:  # upgrades files of older versions
        campaigns = store.campaigns()
        unfinished = [campaign for campaign in campaigns if _is_open(store, campaign)]
    open_ = [campaign for campaign in unfinished if not campaign.refused]
    if unfinished and not open_:
        fix = f"The latest one ended with: {unfinished[-1].refused}"
        raise BadInput("FILE", file, "an unfinished campaign that was not refused", fix)
    if not open_:
        fix = f"Show the latest with: mutiny report {quoted_path(file)}" if campaigns else "Start with mutiny assess."
        if salvage and campaigns:
            sys.stderr.write(f"mutiny: all campaigns in it are finished. {fix}\n")
            return
        raise BadInput("FILE", file, "an unfinished campaign" + "; all in it are finished" * bool(campaigns), fix)
    typed = [campaign for campaign in open_ if campaign.command is not None]
    changed = {
        "json": None if json is None else json.resolve(),
        "engine": engine,
        "workers": workers,
        "address": address,
    }
    changed = {name: value for name, value in changed.items() if value is not None}
    _run_again(file, (typed or open_)[-1], quiet, changed)


def _is_open(store: Store, campaign: Campaign) -> bool:
    """Whether there is work left: no result yet, or failed jobs that can be tried again."""
    tally = store.tally(campaign.id)
    return not tally.finished or bool(tally.failed)


def _salvaged(file: Path) -> Path:
    """A new file beside a damaged one, with the intact part of it."""
    from mutiny.campaigns.stores.salvage import salvage

    names = (f"{file.stem}-salvaged{again}{file.suffix}" for again in chain([""], (f"-{n}" for n in count(2))))
    into = next(path for path in map(file.with_name, names) if not path.exists())
    rescued = salvage(file, into)
    more = len(rescued.lost) - MOST_NAMED
    named = f"{', '.join(rescued.lost[:MOST_NAMED])}{f' and {more} more' if more > 0 else ''}"
    lost = f"; lost: {named}" if rescued.lost else ""
    sys.stderr.write(f"mutiny: {rescued.results} results are intact and now in {quoted_path(into)}{lost}\n")
    for note in rescued.notes:
        sys.stderr.write(f"mutiny: {note}\n")
    return into


def _run_again(file: Path, campaign: Campaign, quiet: bool, changed: Mapping[str, Any]) -> None:
    """Run the campaign's command again, with changed options that do not affect results."""
    command = campaign.command
    if command is None:
        raise BadInput(
            "FILE",
            file,
            "a campaign that was started on the command line",
            f"This one was started in Python: call mutiny.{campaign.verb}(..., store={str(file)!r}) again.",
        )
    stored = from_stored(checked_command(command, file) or {})
    if ENGINE_OPTIONS & set(changed):  # a new engine option may not fit the stored ones
        stored = {name: value for name, value in stored.items() if name not in ENGINE_OPTIONS}
    options = {**stored, **changed, "store": file.resolve(), "no_store": False, "quiet": quiet}
    folder = command.get("folder")
    try:
        with working_in(None if folder is None else Path(folder)):
            COMMANDS[command["verb"]].run(options)
    finally:
        _report_change(file, campaign)


def _report_change(file: Path, campaign: Campaign) -> None:
    """Print a message if the subject has changed, so that a new campaign was started instead."""
    from mutiny.campaigns.stores.sqlite import SqliteStore

    with SqliteStore(file, write=False) as store:
        last = store.campaigns()[-1]
    if last.id != campaign.id and last.verb == campaign.verb:
        sys.stderr.write(
            "mutiny: the subject has changed since this campaign was started (other networks, data, code or versions), "
            "so a new campaign was started; the old one is unchanged.\n"
        )
