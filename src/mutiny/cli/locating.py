"""From the options of ``mutiny locate`` to a finished command: load, run, show, write."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from mutiny.checks import check_whole
from mutiny.cli.engaging import engaged, tell_where
from mutiny.errors import BadInput
from mutiny.localization.activity import as_activity
from mutiny.localization.locate import locate
from mutiny.localization.location import Location
from mutiny.localization.measures import as_measure
from mutiny.localization.synthesis import Synthesis
from mutiny.localization.synthesize import synthesize
from mutiny.models.ascent import Scale
from mutiny.progress import Progress
from mutiny.reports.curves import check_picture
from mutiny.reports.files import check_distinct, check_writable
from mutiny.reports.grid import images
from mutiny.reports.json import write_json
from mutiny.reports.location_text import location_text, synthesis_text
from mutiny.reports.progress import TerminalProgress
from mutiny.reports.synthesis import draw_grid, write_synthesis
from mutiny.subjects import load_subject
from mutiny.subjects.given import as_given


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
    command: Mapping[str, Any] | None = None,
    store: Path | None = None,
    engine: str | None = None,
    workers: int | None = None,
    address: str | None = None,
    **settings: Any,
) -> Location:
    """Runs ``locate``, shows and writes the result."""
    check_whole("--synthesize", synthesized, 0)
    check_whole("--threads", threads)
    _check_outputs({"--json": json, "--save": save, "--grid": grid}, synthesized, rms)
    settings["measure"], settings["active"] = as_measure(settings["measure"]), as_activity(settings["active"])
    torch.set_num_threads(threads)
    console = console or Console()
    subject = load_subject(name, data)
    if grid is not None:
        images(as_given(subject, inputs, None, None, None, "inputs", pool=False).data.first(1))
    with engaged(
        "locate", command, store=store, engine=engine, workers=workers, address=address, threads=threads, quiet=quiet
    ) as how:  # fmt: skip
        result = locate(subject, data=inputs, **how, **settings)
    if not quiet:
        console.print(location_text(result))
        tell_where(console, store)
    new = None
    if synthesized and (result.suspects or save or grid):  # without suspects there is a sentence, and no file
        same = {name: settings[name] for name in ("at", "seed", "device", "batch_size")}
        way: Scale = "rms" if rms else "none"
        try:
            with _progress(quiet) as progress:
                new = synthesize(subject, result, synthesized, ascent=way, data=inputs, progress=progress, **same)
        except Exception:
            _write(json, result, None)  # what was located is not lost
            raise
    _write(json, result, new)
    if new is None:
        if synthesized and not quiet:
            console.print(" Nothing was synthesised, for nobody is suspicious.\n")
        return result
    if not quiet:
        console.print(synthesis_text(new))
    if save is not None:
        write_synthesis(new, save)
    if grid is not None:
        draw_grid(new, grid, f"{result.subject['name']}: inputs that exercise the suspects ({result.measure})")
    return result


def _progress(quiet: bool) -> AbstractContextManager[Progress | None]:
    return nullcontext() if quiet else TerminalProgress(Console(stderr=True))


def _write(path: Path | None, result: Location, new: Synthesis | None) -> None:
    if path is not None:
        write_json(path, {**result.to_json(), "synthesis": None if new is None else new.to_json()})


def _check_outputs(paths: dict[str, Path | None], synthesized: int, rms: bool) -> None:
    for option, path in paths.items():
        if path is None:
            continue
        check_writable(path, option)
        if option != "--json" and not synthesized:
            raise BadInput(option, path, "synthesised inputs", "Add --synthesize 100.")
        if option == "--grid":
            check_picture(path, option)
        if option == "--save" and path.suffix.lower() != ".npz":
            raise BadInput(option, path, "a file name that ends in .npz")
    check_distinct(paths)
    if rms and not synthesized:
        raise BadInput("--rms", "given", "inputs to synthesise", "Add --synthesize 100.")
