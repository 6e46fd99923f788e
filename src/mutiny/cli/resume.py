"""``mutiny resume``."""

from __future__ import annotations

from typing import Annotated

import typer

from mutiny.cli.options import Address, Campaigns, Engine, Json, Quiet, Workers


def resume(
    file: Campaigns,
    salvage: Annotated[
        bool, typer.Option("--salvage", help="The file is damaged: read what is intact into a new one, and go on.")
    ] = False,
    json: Json = None,
    quiet: Quiet = False,
    engine: Engine = None,
    workers: Workers = None,
    address: Address = None,
) -> None:
    """Goes on with the last campaign of a file that is not finished; what is done is not done again."""
    from mutiny.cli.resuming import run_resume

    where = {"engine": engine, "workers": workers, "address": address}
    changed = {"json": None if json is None else json.resolve(), **where}
    run_resume(file, salvage, quiet, {name: value for name, value in changed.items() if value is not None})
