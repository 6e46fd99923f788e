"""Progress of campaigns as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from mutiny.campaigns.stores.base import Campaign, CampaignTally
from mutiny.core.printable import printable, quoted
from mutiny.reports import terminal
from mutiny.reports.formatting import NONE

SHOWN = 5
"""Number of jobs to name."""
ID_LENGTH = 12
"""Number of characters of a campaign's id to show, which is enough for `mutiny.load_result`."""


def status_text(file: Path, campaigns: Sequence[tuple[Campaign, CampaignTally]], writer: str | None) -> RenderableType:
    """One block per campaign, the newest last.

    Args:
        file: Campaign file.
        campaigns: Campaigns with their tallies, the oldest first.
        writer: Process that is writing to the file, if any.
    """
    if not campaigns:
        return Text(f" {file.name}: no campaign yet. Give the command that made it again: it uses this file.")
    parts: list[RenderableType] = []
    for place, (campaign, tally) in enumerate(campaigns):
        parts += _campaign(campaign, tally, writer if place == len(campaigns) - 1 else None, file)
    return Group(*parts)


def _campaign(campaign: Campaign, tally: CampaignTally, writer: str | None, file: Path) -> list[RenderableType]:
    started = printable(f"  started {campaign.created[:16].replace('T', ' ')}  ", breaks=False)
    state = _state(campaign, tally, writer)
    title = Text.assemble(
        "\n ", (printable(f"{campaign.verb} {campaign.subject}", breaks=False), "bold"), started, state
    )
    table = terminal.table()
    for name in (" jobs", "done", "waiting", "sec. each", "in all"):
        table.add_column(name, justify="left" if name == " jobs" else "right")
    for kind in dict.fromkeys([*tally.done, *tally.waiting]):
        done, seconds = tally.done.get(kind, 0), tally.seconds.get(kind, 0.0)
        each = f"{seconds / done:.2f}" if done else NONE
        table.add_row(
            Text(printable(f" {kind}", breaks=False)), str(done), str(tally.waiting.get(kind, 0)), each, _span(seconds)
        )
    lines = [f"campaign {campaign.id[:ID_LENGTH]}", *_lines(campaign, tally, writer, file)]
    return [title, Padding(table, (0, 0, 0, 0)), *map(_line, lines)]


def _line(line: str) -> Text:
    """A line of text; one with a command is never broken, so that it can be copied."""
    text = f" {printable(line, breaks=False)}"
    return Text(text, no_wrap=True, overflow="ignore") if "with: mutiny " in line else Text(text)


def _state(campaign: Campaign, tally: CampaignTally, writer: str | None) -> tuple[str, str]:
    if tally.finished:
        return (f"finished, {len(tally.failed)} failed", "yellow") if tally.failed else ("finished", "green")
    if writer:
        return f"running: {writer}", "cyan"
    return ("refused", "red") if campaign.refused else ("interrupted", "yellow")


def _lines(campaign: Campaign, tally: CampaignTally, writer: str | None, file: Path) -> list[str]:
    lines = []
    done = sum(tally.done.values())
    if tally.most and not tally.finished:
        lines.append(f"{done} of at most {tally.most} jobs are done.")
    lost = tally.attempts - done - len(tally.failed)
    if tally.begun:
        names = ", ".join(tally.begun[:SHOWN]) + (f" and {len(tally.begun) - SHOWN} more" * (len(tally.begun) > SHOWN))
        lines.append(f"{'running' if writer else 'started, to be done again'}: {names}")
    elif lost > 0:
        lines.append(f"{lost} started, lost and done again")
    lines += [f"failed: {failure.job}: {failure.reason}" for failure in tally.failed[:SHOWN]]
    if len(tally.failed) > SHOWN:
        lines.append(f"and {len(tally.failed) - SHOWN} more failed")
    if writer:
        return lines
    if not (tally.finished or tally.done or tally.waiting or tally.failed):
        lines.append("It ended before any job was planned.")
    if campaign.refused:
        lines.append(campaign.refused)
    elif tally.failed or not tally.finished:
        lines.append(f"{'Try again' if tally.finished else 'Continue'} with: mutiny resume {quoted(str(file))}")
    return lines


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else str(timedelta(seconds=round(seconds)))
