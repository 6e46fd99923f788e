"""``mutiny status``."""

from __future__ import annotations

from mutiny.cli.loading_message import loading
from mutiny.cli.options import CampaignFile


def status(file: CampaignFile) -> None:
    """Show the progress of campaigns, also while they run: jobs done and left, time per job, failures."""
    with loading():
        from rich.console import Console

        from mutiny.campaigns.stores.lock import holder
        from mutiny.campaigns.stores.sqlite import SqliteStore
        from mutiny.core.errors import BadInput
        from mutiny.reports.status_text import status_text

    if not file.is_file():
        raise BadInput("FILE", file, "a campaign file")
    with SqliteStore(file, write=False) as store:
        tallies = [(campaign, store.tally(campaign.id)) for campaign in store.campaigns()]
    Console().print(status_text(file, tallies, holder(file)))
