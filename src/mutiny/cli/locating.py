"""From the options of ``mutiny locate`` to a finished command: load, run, show, write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from mutiny.errors import BadInput
from mutiny.localization.activity import as_activity
from mutiny.localization.locate import locate
from mutiny.localization.location import Location
from mutiny.localization.measures import as_measure
from mutiny.reports.files import check_writable
from mutiny.reports.json import write_json
from mutiny.reports.location_text import location_text
from mutiny.reports.progress import TerminalProgress
from mutiny.subjects import load_subject


def run_locate(
    name: str,
    data: Path | None,
    *,
    inputs: str | None = None,
    json: Path | None = None,
    quiet: bool = False,
    threads: int = 1,
    console: Console | None = None,
    **settings: Any,
) -> Location:
    """Runs ``locate``, shows and writes the result."""
    if json is not None:
        check_writable(json, "--json")
    if threads < 1:
        raise BadInput("--threads", threads, "a whole number of at least 1")
    settings["measure"], settings["active"] = as_measure(settings["measure"]), as_activity(settings["active"])
    torch.set_num_threads(threads)
    console = console or Console()
    subject = load_subject(name, data)
    if quiet:
        result = locate(subject, data=inputs, **settings)
    else:
        with TerminalProgress(Console(stderr=True)) as progress:
            result = locate(subject, data=inputs, progress=progress, **settings)
        console.print(location_text(result))
    if json is not None:
        write_json(json, result.to_json())
    return result
