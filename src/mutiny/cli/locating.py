"""From the options of ``mutiny locate`` to a finished command: load, run, show, write."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from mutiny.checks import check_whole
from mutiny.errors import BadInput
from mutiny.localization.activity import as_activity
from mutiny.localization.locate import locate
from mutiny.localization.location import Location
from mutiny.localization.measures import as_measure
from mutiny.localization.synthesize import synthesize
from mutiny.reports.curves import check_picture
from mutiny.reports.files import check_writable
from mutiny.reports.json import write_json
from mutiny.reports.location_text import location_text, synthesis_text
from mutiny.reports.progress import TerminalProgress
from mutiny.reports.synthesis import draw_grid, write_synthesis
from mutiny.subjects import load_subject


def run_locate(
    name: str,
    data: Path | None,
    *,
    inputs: str | None = None,
    json: Path | None = None,
    quiet: bool = False,
    threads: int = 1,
    synthesized: int = 0,
    rms: bool = False,
    save: Path | None = None,
    grid: Path | None = None,
    console: Console | None = None,
    **settings: Any,
) -> Location:
    """Runs ``locate``, shows and writes the result."""
    _check_outputs({"--json": json, "--save": save, "--grid": grid}, synthesized)
    check_whole("--threads", threads)
    settings["measure"], settings["active"] = as_measure(settings["measure"]), as_activity(settings["active"])
    torch.set_num_threads(threads)
    console = console or Console()
    subject = load_subject(name, data)
    with nullcontext() if quiet else TerminalProgress(Console(stderr=True)) as progress:
        result = locate(subject, data=inputs, progress=progress, **settings)
        new = None
        if synthesized and result.suspects:
            same = {name: settings[name] for name in ("seed", "device", "batch_size")}
            new = synthesize(
                subject, result, synthesized, ascent="rms" if rms else "none", data=inputs, progress=progress, **same
            )
    if not quiet:
        console.print(location_text(result))
        if new is not None:
            console.print(synthesis_text(new))
    if json is not None:
        write_json(json, result.to_json())
    if new is not None and save is not None:
        write_synthesis(new, save)
    if new is not None and grid is not None:
        draw_grid(new, grid, f"{result.subject['name']}: inputs that exercise the suspects ({result.measure})")
    return result


def _check_outputs(paths: dict[str, Path | None], synthesized: int) -> None:
    for option, path in paths.items():
        if path is None:
            continue
        check_writable(path, option)
        if option != "--json" and not synthesized:
            raise BadInput(option, path, "synthesised inputs", "Add --synthesize 100.")
        if option == "--grid":
            check_picture(path, option)
