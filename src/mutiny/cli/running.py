"""From options to a finished command: load, run, show, write, exit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer
from rich.console import Console

from mutiny.checks import check_whole
from mutiny.cli.keeping import command_of, keeping, shown
from mutiny.engines.choosing import as_engine
from mutiny.errors import BadInput
from mutiny.mutation.assess import assess
from mutiny.mutation.assessment import Assessment
from mutiny.mutation.plan import plan, rounded
from mutiny.operators.parsing import as_faults
from mutiny.operators.training.base import TrainingOperator
from mutiny.reports.files import check_distinct, check_writable, replacing, write_text
from mutiny.reports.json import write_json
from mutiny.reports.junit import junit as to_junit
from mutiny.reports.plan_text import plan_text
from mutiny.reports.progress import TerminalProgress
from mutiny.reports.summary import summary as to_summary
from mutiny.reports.text import assessment_text
from mutiny.subjects import Subject, load_subject


def run_assess(
    name: str,
    data: Path | None,
    *,
    json: Path | None = None,
    kills: Path | None = None,
    junit: Path | None = None,
    summary: Path | None = None,
    quiet: bool = False,
    fail_under: float | None = None,
    threads: int = 1,
    dry_run: bool = False,
    console: Console | None = None,
    command: Mapping[str, Any] | None = None,
    store: Path | None = None,
    engine: str | None = None,
    workers: int | None = None,
    address: str | None = None,
    **settings: Any,
) -> Assessment | None:
    """Runs ``assess``, shows and writes the result, and exits with 1 below the bar; or shows the plan."""
    if fail_under is not None and not 0 <= fail_under <= 1:
        raise BadInput("--fail-under", fail_under, "a score between 0 and 1")
    files = {"--json": json, "--kills": kills, "--junit": junit, "--summary": summary}
    for option, path in files.items():
        if path is not None:
            check_writable(path, option)
    check_distinct(files)
    check_whole("--threads", threads)
    torch.set_num_threads(threads)
    settings["operators"] = as_faults(settings.get("operators"))
    console = console or Console()
    subject = load_subject(name, data)
    if dry_run:
        planned = plan(subject, **_planned(settings))
        console.print(plan_text(planned, str(subject.name), subject.count(settings.get("originals"))))
        return None
    settings["engine"] = as_engine(engine, workers, address, threads)
    if not quiet:
        _announce(subject, settings)
    with keeping(store, None if command is None else command_of("assess", command)) as kept:
        if quiet:
            result = assess(subject, store=kept, **settings)
        else:
            with TerminalProgress(Console(stderr=True)) as progress:
                result = assess(subject, store=kept, progress=progress, **settings)
    if not quiet:
        console.print(assessment_text(result, console.width))
        if store is not None:
            console.print(f" Kept in {shown(store)}; the same command, or mutiny report, shows it again.", style="dim")
    if json is not None:
        write_json(json, result.to_json())
    if kills is not None:
        write_kills(kills, result)
    if junit is not None:
        write_text(junit, to_junit(result, fail_under))
    if summary is not None:
        write_text(summary, to_summary(result, fail_under))
    if fail_under is not None and 0 < result.score.operators < result.score.tried:
        scored = f"{result.score.operators} of {result.score.tried} operators"
        typer.echo(f"mutiny: the bar is held against {scored}; the others have no score", err=True)
    if fail_under is not None and (result.score.value is None or result.score.value < fail_under):
        got = "no score" if result.score.value is None else f"{result.score.value:.4f}"
        typer.echo(f"mutiny: the score is below the bar: {got} < {fail_under:g}", err=True)
        raise typer.Exit(1)
    return result


def _planned(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: settings[key] for key in ("operators", "originals", "search", "seed") if key in settings}


def _announce(subject: Subject, settings: Mapping[str, Any]) -> None:
    """Says what faults before training will take, for that can be hours."""
    faults = [one for one in settings["operators"] if isinstance(one, TrainingOperator)]
    if not faults or subject.recipe is None:
        return
    planned = plan(subject, **{**_planned(settings), "operators": faults})
    trainings, seconds = sum(one.trainings for one in planned), sum(one.seconds or 0.0 for one in planned)
    typer.echo(
        f"mutiny: faults before training: at most {trainings:,} trainings, about {rounded(seconds)} with one worker; "
        "what is known is not trained again (--dry-run shows the plan)", err=True,
    )  # fmt: skip


def write_kills(path: Path, result: Assessment) -> None:
    """One packed array per mutant and set, named ``operator@strength/set``; unpack along the last axis."""
    arrays: dict[str, Any] = {}
    for (label, strength, split), bits in result.kills.items():
        key = f"{label}@{'-' if strength is None else repr(strength)}/{split}"
        arrays[key] = bits.originals[None] & ~bits.mutants
        arrays.setdefault(f"inputs/{split}", np.array(bits.inputs))
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)
