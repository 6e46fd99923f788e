"""From the options of ``mutiny select`` to a finished command: load, run, show, write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from mutiny.checks import check_whole
from mutiny.cli.engaging import engaged, tell_where
from mutiny.data import Data, as_pool, mutate
from mutiny.data.labels import unknown
from mutiny.errors import BadInput
from mutiny.reports.curves import check_picture, draw_curves
from mutiny.reports.files import check_writable, replacing
from mutiny.reports.json import write_json
from mutiny.reports.selection_text import selection_text
from mutiny.selection.budget import as_count
from mutiny.selection.parsing import as_methods
from mutiny.selection.select import select
from mutiny.selection.selection import Selection
from mutiny.subjects import Subject, load_subject


def run_select(
    name: str,
    data: Path | None,
    *,
    method: str | None = None,
    compare: str | None = None,
    pool: str | None = None,
    indices: Path | None = None,
    plot: Path | None = None,
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
) -> Selection:
    """Runs ``select``, shows and writes the result."""
    outputs = {"--json": json, "--indices": indices, "--plot": plot}
    _check_outputs({option: path for option, path in outputs.items() if path is not None})
    if method is not None and compare is not None:
        raise BadInput("--method", method, "either --method or --compare", "Name it first in --compare.")
    check_whole("--threads", threads)
    as_count(settings["budget"], 10**12)  # nonsense is refused before anything is loaded or trained
    wanted = compare or method
    methods = None if wanted is None else as_methods(wanted)
    torch.set_num_threads(threads)
    console = console or Console()
    subject = load_subject(name, data)
    inputs = _pool(pool, subject, settings["seed"])
    labels = next(data for data in (inputs, subject.pool, subject.test) if data is not None).targets
    if plot is not None and unknown(labels, subject.task):
        raise BadInput("--plot", plot, "a pool whose labels are known", "Without labels nobody knows what is a fault.")
    with engaged(
        "select", command, store=store, engine=engine, workers=workers, address=address, threads=threads, quiet=quiet
    ) as how:  # fmt: skip
        result = select(subject, methods, pool=inputs, **how, **settings)
    if not quiet:
        console.print(selection_text(result, console.width))
        tell_where(console, store)
    if json is not None:
        write_json(json, result.to_json())
    if indices is not None:
        names = result.names
        lines = [str(index) if names is None else f"{index}\t{names[index]}" for index in result.chosen.tolist()]
        with replacing(indices) as part:
            part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if plot is not None:
        draw_curves(result, plot)
    return result


def _check_outputs(paths: dict[str, Path]) -> None:
    for option, path in paths.items():
        check_writable(path, option)
        if option == "--plot":
            check_picture(path)
        twins = [other for other, there in paths.items() if other != option and there.resolve() == path.resolve()]
        if twins:
            raise BadInput(option, path, f"another file than {twins[0]}")


def _pool(wanted: str | None, subject: Subject, seed: int) -> Data | None:
    if wanted is None:
        return None
    if wanted == "test":
        return subject.test
    if wanted == "mutated":
        return mutate(subject.test, seed)
    return as_pool(wanted)
