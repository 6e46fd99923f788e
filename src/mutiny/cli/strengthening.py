"""From the options of ``mutiny strengthen`` to a finished command: load, run, show, write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from mutiny.checks import check_whole
from mutiny.cli.engaging import engaged, tell_where
from mutiny.errors import BadInput
from mutiny.operators.parsing import as_operators
from mutiny.reports.candidates import write_candidates
from mutiny.reports.files import check_distinct, check_writable, replacing
from mutiny.reports.json import write_json
from mutiny.reports.strengthening_text import strengthening_text
from mutiny.selection.parsing import as_methods
from mutiny.strengthening.result import Strengthening
from mutiny.strengthening.strengthen import strengthen
from mutiny.strengthening.wishes import budgets_of
from mutiny.subjects import load_subject


def run_strengthen(
    name: str,
    data: Path | None,
    *,
    indices: Path | None = None,
    tests: Path | None = None,
    save: Path | None = None,
    json: Path | None = None,
    quiet: bool = False,
    threads: int = 1,
    console: Console | None = None,
    command: Mapping[str, Any] | None = None,
    store: Path | None = None,
    engine: str | None = None,
    workers: int | None = None,
    address: str | None = None,
    **settings: Any,
) -> Strengthening:
    """Runs ``strengthen``, shows and writes the result."""
    _check_outputs({"--json": json, "--indices": indices, "--tests": tests, "--save": save}, settings)
    check_whole("--threads", threads)
    budgets_of(settings["budget"], 10**12)  # nonsense is refused before anything is loaded or trained
    if settings["operators"] is not None:
        settings["operators"] = as_operators(settings["operators"])
    for option in ("methods", "tie_break"):
        if settings[option] is not None:
            as_methods(settings[option])
    torch.set_num_threads(threads)
    console = console or Console()
    subject = load_subject(name, data)
    with engaged(
        "strengthen", command, store=store, engine=engine, workers=workers, address=address, threads=threads,
        quiet=quiet,
    ) as how:  # fmt: skip
        result = strengthen(subject, **how, **settings)
    if not quiet:
        console.print(strengthening_text(result))
        tell_where(console, store)
    if json is not None:
        write_json(json, result.to_json())
    if indices is not None:
        _write(indices, result.order.tolist(), result.names)
    if tests is not None and result.subset is not None:
        _write(tests, sorted(result.subset.indices.tolist()), subject.test.names)
    if save is not None and result.candidates is not None:
        write_candidates(result.candidates, save)
    elif save is not None and not quiet:
        console.print(f" Nothing was synthesised, so {save} was not written.", highlight=False)
    return result


def _write(path: Path, which: Sequence[int], names: tuple[str, ...] | None) -> None:
    lines = [str(index) if names is None else f"{index}\t{names[index]}" for index in which]
    with replacing(path) as part:
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _check_outputs(paths: dict[str, Path | None], settings: Mapping[str, Any]) -> None:
    for option, path in paths.items():
        if path is not None:
            check_writable(path, option)
    check_distinct(paths)
    if paths["--tests"] is not None and not settings["minimise"]:
        raise BadInput("--tests", paths["--tests"], "a smaller test set to write", "Add --minimise.")
    save = paths["--save"]
    if save is not None and save.suffix.lower() != ".npz":
        raise BadInput("--save", save, "a file name that ends in .npz")
    if save is not None and not settings["synthesize"]:
        raise BadInput("--save", save, "synthesised inputs", "Leave out --synthesize 0.")
