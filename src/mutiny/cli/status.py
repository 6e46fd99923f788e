"""``mutiny status``."""

from __future__ import annotations

from mutiny.cli.loading_message import loading
from mutiny.cli.options import CampaignFile, with_limit
from mutiny.cli.streams import say
from mutiny.core.checks import check_path
from mutiny.core.errors import BadInput, called


@with_limit
@called("FILE", "store")
def status(file: CampaignFile) -> None:
    """Show the progress of running and finished campaigns: jobs done and left, time per job, failures."""
    with loading():
        from mutiny.campaigns.stores.lock import holder
        from mutiny.campaigns.stores.sqlite import SqliteStore
        from mutiny.reports.status_text import status_text
        from mutiny.reports.terminal import Output

    check_path("FILE", file)
    if not file.is_file():
        raise BadInput("FILE", file, "a campaign file that exists")
    with SqliteStore(file, write=False) as store:
        tallies = [(campaign, store.tally(campaign.id)) for campaign in store.campaigns()]
        incomplete = store.incomplete
    if incomplete:
        say(incomplete)
    Output().print(status_text(file, tallies, holder(file)))
