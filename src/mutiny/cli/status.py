"""``mutiny status``."""

from __future__ import annotations

from mutiny.cli.options import Campaigns


def status(file: Campaigns) -> None:
    """How far the campaigns of a file are: done, left, time per task, failures. Also while they run."""
    from rich.console import Console

    from mutiny.campaigns.stores.lock import holder
    from mutiny.campaigns.stores.sqlite import SqliteStore
    from mutiny.core.errors import BadInput
    from mutiny.reports.status_text import status_text

    if not file.is_file():
        raise BadInput("file", file, "the file of a campaign")
    with SqliteStore(file, write=False) as store:
        told = [(campaign, store.tally(campaign.id)) for campaign in store.campaigns()]
    Console().print(status_text(file, told, holder(file)))
