"""``mutiny resume``."""

from __future__ import annotations

import sys
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mutiny.cli.loading_message import loading
from mutiny.cli.options import WRITE, Address, CampaignFile, Engine, Quiet, Workers, option, with_limit
from mutiny.cli.paths import quoted_path, working_in
from mutiny.cli.streams import say
from mutiny.core.checks import check_path
from mutiny.core.errors import BadInput, StoreError, called
from mutiny.core.printable import printable

if TYPE_CHECKING:
    from mutiny.campaigns.stores.base import Campaign, Store
    from mutiny.cli.resume_plan import ResumePlan

MOST_NAMED = 12
"""Maximum number of lost results to name."""


def _output(name: str) -> Any:
    """An option for a file that the resumed command writes."""
    return option(f"File for --{name} of the campaign's command.", WRITE, f"--{name}")


@with_limit
@called("FILE", "store", "--store")
def resume(
    file: CampaignFile,
    trust: Annotated[
        bool, option("Run what FILE says, although you did not start the campaign.", None, "--trust")
    ] = False,
    salvage: Annotated[
        bool, option("Copy the intact part of a damaged file to a new one, and resume that.", None, "--salvage")
    ] = False,
    engine: Engine = None,
    workers: Workers = None,
    address: Address = None,
    json: Annotated[Path | None, _output("json")] = None,
    kills: Annotated[Path | None, _output("kills")] = None,
    junit: Annotated[Path | None, _output("junit")] = None,
    summary: Annotated[Path | None, _output("summary")] = None,
    indices: Annotated[Path | None, _output("indices")] = None,
    plot: Annotated[Path | None, _output("plot")] = None,
    tests: Annotated[Path | None, _output("tests")] = None,
    save: Annotated[Path | None, _output("save")] = None,
    grid: Annotated[Path | None, _output("grid")] = None,
    patch: Annotated[Path | None, _output("patch")] = None,
    quiet: Quiet = False,
) -> None:
    """Resume the latest unfinished campaign in FILE, if you started it."""
    files = {
        **{"json": json, "kills": kills, "junit": junit, "summary": summary, "indices": indices},
        **{"plot": plot, "tests": tests, "save": save, "grid": grid, "patch": patch},
    }
    where = {"engine": engine, "workers": workers, "address": address}
    absolute = {name: None if path is None else path.resolve() for name, path in files.items()}
    given = {name: value for name, value in {**absolute, **where}.items() if value is not None}
    with loading(quiet):
        from mutiny.campaigns.stores.lock import Lock
        from mutiny.cli.resume_plan import ResumePlan

    check_path("FILE", file)
    if not file.is_file():
        raise BadInput("FILE", file, "a campaign file that exists")
    if salvage:
        file = _salvaged(file)
    campaign = _latest_unfinished(file, salvage)
    if campaign is None:
        return
    plan = ResumePlan(file, campaign, given)
    plan.check()
    try:
        if not trust:
            plan.check_own()
    except BadInput:
        _describe(plan, "would run")
        raise
    plan.check_place()
    if not quiet:
        _describe(plan, "runs")
    elif plan.left_out:
        say(f"not written, unless given again: {', '.join(plan.left_out)}")
    Lock(file.resolve()).release()  # before anything is loaded: no other process writes the file
    options = {**plan.options, "quiet": quiet}  # with the path of the file from here
    try:
        with working_in(plan.folder):
            plan.verb.run(options)
    finally:
        _report_change(file, campaign)


def _latest_unfinished(file: Path, salvaged: bool) -> Campaign | None:
    """The campaign to resume, read without changing the file; ``None`` if a salvaged file has nothing left to do."""
    from mutiny.campaigns.stores.sqlite import SqliteStore

    again = "Give the command that made it again: it uses this file."
    if not file.stat().st_size:
        raise BadInput("FILE", file, "a campaign file; it is empty", again)
    with SqliteStore(file, write=False) as store:
        campaigns = store.campaigns()
        unfinished = [campaign for campaign in campaigns if _is_open(store, campaign)]
        incomplete = store.incomplete
    if incomplete:
        say(f"{incomplete} Jobs without a result are done again.")
    open_ = [campaign for campaign in unfinished if not campaign.refused]
    if unfinished and not open_:
        fix = f"The latest one ended with: {unfinished[-1].refused}"
        raise BadInput("FILE", file, "an unfinished campaign that was not refused", fix)
    if not open_:
        fix = f"Show the latest with: mutiny report {quoted_path(file)}" if campaigns else again
        if salvaged and campaigns:
            say(f"all campaigns in it are finished. {fix}")
            return None
        raise BadInput("FILE", file, "an unfinished campaign" + "; all in it are finished" * bool(campaigns), fix)
    typed = [campaign for campaign in open_ if campaign.command is not None]
    campaign = (typed or open_)[-1]
    if campaign.command is None:
        raise BadInput(
            "FILE",
            file,
            "a campaign that was started on the command line",
            f"This one was started in Python: call mutiny.{campaign.verb}(..., store={str(file)!r}) again.",
        )
    return campaign


def _describe(plan: ResumePlan, how: str) -> None:
    """Print what a campaign file would run, or runs."""
    lines = "\n".join(printable(line, breaks=False) for line in plan.lines())
    sys.stderr.write(f"mutiny: {quoted_path(plan.file)} {how}:\n{lines}\n")


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
    say(f"{rescued.results} results are intact and now in {quoted_path(into)}{lost}")
    for note in rescued.notes:
        say(note)
    return into


def _report_change(file: Path, campaign: Campaign) -> None:
    """Print a message if the subject has changed, so that a new campaign was started instead."""
    from mutiny.campaigns.ownership import PENDING
    from mutiny.campaigns.stores.sqlite import SqliteStore

    with suppress(StoreError), SqliteStore(file, write=False) as store:  # a file that was lost has been reported
        last = next(reversed(store.campaigns()), campaign)
        if last.id == campaign.id or campaign.id == PENDING or last.verb != campaign.verb:
            return
        say(
            "the subject has changed since this campaign was started (other networks, data, code or versions), "
            "so a new campaign was started; the old one is unchanged."
        )
