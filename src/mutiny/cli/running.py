"""From options to a finished command: load, run, show, write, exit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console

from mutiny.cli.calling import Call
from mutiny.core.errors import BadInput
from mutiny.faults.evaluation import Screening
from mutiny.faults.parsing import as_faults
from mutiny.faults.training.base import TrainingOperator
from mutiny.reports.files import replacing, write_text
from mutiny.reports.junit import junit as to_junit
from mutiny.reports.plan_text import plan_text
from mutiny.reports.summary import summary as to_summary
from mutiny.reports.text import assessment_text
from mutiny.subjects import Subject
from mutiny.verbs.assess.assess import assess
from mutiny.verbs.assess.dry_run import plan, rounded
from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.score import missed_bar
from mutiny.verbs.assess.search import Search
from mutiny.verbs.assess.weak_set import WeakSet


def run_assess(options: Mapping[str, Any], console: Console | None = None) -> Assessment | None:
    """Runs ``assess``, shows and writes the result, and exits with 1 below the bar; or shows the plan."""
    call = Call("assess", options, console)
    bar, dry_run, kills, junit, summary = call.take("fail_under", "dry_run", "kills", "junit", "summary")
    if bar is not None and not 0 <= bar <= 1:
        raise BadInput("--fail-under", bar, "a score between 0 and 1")
    call.check({"--kills": kills, "--junit": junit, "--summary": summary})
    settings = _settings(call)
    subject = call.subject()
    if dry_run:
        planned = plan(subject, **_planned(settings))
        call.console.print(plan_text(planned, str(subject.name), subject.count(settings["originals"])))
        return None
    if not call.quiet:
        _announce(subject, settings)
    with call.running() as how:
        result = assess(subject, **how, **settings)
    call.write(result)
    call.show(assessment_text(result, call.console.width))
    if kills is not None:
        write_kills(kills, result)
    if junit is not None:
        write_text(junit, to_junit(result, bar))
    if summary is not None:
        write_text(summary, to_summary(result, bar))
    if bar is not None:
        _hold(result, bar)
    return result


def _settings(call: Call) -> dict[str, Any]:
    """The verb's arguments from the command's options."""
    test, alpha, effect, beta = call.take("test", "alpha", "effect", "beta")
    limits = {one.name: call.take(one.name)[0] for one in fields(Search)}
    share, confidence = call.take("weak_share", "confidence")
    return {
        **call.own,
        "operators": as_faults(call.own["operators"]),
        "rule": KillRule(test, alpha, effect, beta),
        "search": Search(**limits),
        "weak": WeakSet(share),
        "screening": Screening(confidence),
    }


def _hold(result: Assessment, bar: float) -> None:
    """Exits with 1 if the score is below the bar, or if there is none."""
    if 0 < result.score.operators < result.score.tried:
        scored = f"{result.score.operators} of {result.score.tried} operators"
        typer.echo(f"mutiny: the bar is held against {scored}; the others have no score", err=True)
    missed = missed_bar(result.score.value, bar)
    if missed:
        typer.echo(f"mutiny: {missed}", err=True)
        raise typer.Exit(1)


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
        arrays[key] = bits.packed
        arrays.setdefault(f"inputs/{split}", np.array(bits.inputs))
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)
