"""From the options of ``mutiny repair`` to a finished command: load, run, show, write, exit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import typer
from rich.console import Console

from mutiny.checks import check_whole
from mutiny.cli.engaging import engaged, tell_where
from mutiny.errors import BadInput
from mutiny.repairs.files import SUFFIX, save_patch, save_weights
from mutiny.repairs.methods import as_repair
from mutiny.repairs.repair import repair
from mutiny.repairs.result import Repair
from mutiny.reports.files import check_writable, replacing
from mutiny.reports.json import write_json
from mutiny.reports.repair_text import repair_text
from mutiny.subjects import load_subject


def run_repair(
    name: str,
    data: Path | None,
    *,
    inputs: str | None = None,
    json: Path | None = None,
    quiet: bool = False,
    threads: int = 1,
    save: Path | None = None,
    patch: Path | None = None,
    anyway: bool = False,
    console: Console | None = None,
    command: Mapping[str, Any] | None = None,
    store: Path | None = None,
    engine: str | None = None,
    workers: int | None = None,
    address: str | None = None,
    **settings: Any,
) -> Repair:
    """Runs ``repair``, shows and writes the result, and exits with 1 if there are failures but no repair."""
    _check_outputs({"--json": json, "--save": save, "--patch": patch})
    check_whole("--threads", threads)
    settings["method"] = as_repair(settings["method"])
    torch.set_num_threads(threads)
    console = console or Console()
    subject = load_subject(name, data)
    with engaged(
        "repair", command, store=store, engine=engine, workers=workers, address=address, threads=threads, quiet=quiet
    ) as how:  # fmt: skip
        result = repair(subject, data=inputs, **how, **settings)
    if not quiet:
        console.print(repair_text(result))
        tell_where(console, store)
    if json is not None:
        write_json(json, result.to_json())
    if result.repaired or (anyway and result.patch.edits):
        _write(result, save, patch)
    elif save is not None or patch is not None:
        typer.echo(f"mutiny: {_reason(result)}", err=True)
    if not result.repaired and result.target["failures"]:
        raise typer.Exit(1)
    return result


def _check_outputs(paths: dict[str, Path | None]) -> None:
    given = {option: path for option, path in paths.items() if path is not None}
    for option, path in given.items():
        check_writable(path, option)
        if option != "--json" and path.suffix != SUFFIX:
            raise BadInput(option, path, f"a file that ends in {SUFFIX}")
    if len({path.resolve() for path in given.values()}) < len(given):
        raise BadInput(", ".join(given), next(iter(given.values())), "a file for each")


def _reason(result: Repair) -> str:
    """Why no weights were written."""
    if not result.target["failures"]:
        return "nothing fails in this way, so no weights were written"
    if not result.patch.edits:
        return "no patch was found, so no weights were written"
    return "no repair, so no weights were written (--anyway writes them all the same)"


def _write(result: Repair, save: Path | None, patch: Path | None) -> None:
    if save is not None:
        with replacing(save) as part:
            save_weights(result.model(), part)
    if patch is not None and result.original is not None:
        with replacing(patch) as part:
            save_patch(result.patch, result.original, part)
