"""``mutiny assess``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mutiny.cli import completion
from mutiny.cli.command import verb
from mutiny.cli.options import JUDGE, WRITE, option
from mutiny.cli.settings import Settings

if TYPE_CHECKING:
    from mutiny.cli.invocation import Invocation
    from mutiny.subjects import Subject
    from mutiny.verbs.assess.result import Assessment

KILL_RULE = Settings(
    "mutiny.verbs.assess.kill_rule",
    "KillRule",
    JUDGE,
    complete={"test": completion.tests, "effect": completion.effects},
)
SEARCH = Settings("mutiny.verbs.assess.search", "Search", JUDGE)
WEAK_SET = Settings("mutiny.verbs.assess.options", "WeakSet", JUDGE, {"share": "weak_share"})
SCREENING = Settings("mutiny.faults.evaluation.screened", "Screening", JUDGE, {"confidence": "confidence"})


@verb(KILL_RULE, SEARCH, WEAK_SET, SCREENING)
def assess(
    invocation: Invocation,
    operators: Annotated[
        str | None,
        option(
            'Operators by code, with optional parameters: "WI,NI(ratio=0.1)"; those on trained models by default. '
            '"all" adds those before training.',
            complete=completion.operators,
        ),
    ] = None,
    originals: Annotated[int | None, option("Number of originals to use or train.")] = None,
    fail_under: Annotated[float | None, option("Lowest accepted score, from 0 to 1; exit code 1 below it.")] = None,
    dry_run: Annotated[bool, option("Show the plan and its estimated duration.", None, "--dry-run")] = False,
    exact: Annotated[bool, option("Evaluate every mutant on every input.", None, "--exact")] = False,
    kills: Annotated[Path | None, option("NPZ file for the table of inputs that kill each mutant.", WRITE)] = None,
    junit: Annotated[Path | None, option("JUnit XML file, for CI servers.", WRITE)] = None,
    summary: Annotated[Path | None, option("Markdown file for a summary.", WRITE)] = None,
) -> Assessment | None:
    """Measure which faults in the network your tests would notice (mutation testing)."""
    from mutiny.core.errors import BadInput
    from mutiny.faults.parsing import as_faults
    from mutiny.reports.assess_text import assess_text
    from mutiny.reports.files import write_text
    from mutiny.reports.junit import junit as to_junit
    from mutiny.reports.markdown import summary as to_summary
    from mutiny.reports.plan_text import plan_text
    from mutiny.verbs.assess.assess import assess
    from mutiny.verbs.assess.dry_run import plan

    if fail_under is not None and not 0 <= fail_under <= 1:
        raise BadInput("--fail-under", fail_under, "a score between 0 and 1")
    invocation.check({"--kills": kills, "--junit": junit, "--summary": summary})
    settings = {
        "operators": as_faults(operators),
        "originals": originals,
        "exact": exact,
        "rule": KILL_RULE.filled(invocation.options),
        "search": SEARCH.filled(invocation.options),
        "weak": WEAK_SET.filled(invocation.options),
        "screening": SCREENING.filled(invocation.options),
        **invocation.settings,
    }
    subject = invocation.subject()
    if dry_run:
        planned = plan(subject, **_planned(settings))
        invocation.console.print(plan_text(planned, str(subject.name), subject.count(originals)))
        return None
    if not invocation.quiet:
        _announce_trainings(subject, settings)
    with invocation.running() as runtime:
        result = assess(subject, **runtime, **settings)
    invocation.write(result)
    invocation.show(assess_text(result, invocation.console.width))
    if kills is not None:
        write_kills(kills, result)
    if junit is not None:
        write_text(junit, to_junit(result, fail_under))
    if summary is not None:
        write_text(summary, to_summary(result, fail_under))
    if fail_under is not None:
        _compare_with_bar(result, fail_under)
    return result


def _compare_with_bar(result: Assessment, bar: float) -> None:
    """Exit with code 1 if the score is below the bar, or if there is none."""
    from mutiny.verbs.assess.score import missed_bar

    if 0 < result.score.operators < result.score.tried:
        scored = f"{result.score.operators} of {result.score.tried} operators"
        typer.echo(f"mutiny: the bar applies to {scored}; the others have no score", err=True)
    missed = missed_bar(result.score.value, bar)
    if missed:
        typer.echo(f"mutiny: {missed}", err=True)
        raise typer.Exit(1)


def _planned(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: settings[key] for key in ("operators", "originals", "search", "seed")}


def _announce_trainings(subject: Subject, settings: Mapping[str, Any]) -> None:
    """Say how long operators before training will take, because that can be hours."""
    from mutiny.faults.training.base import TrainingOperator
    from mutiny.verbs.assess.dry_run import plan, rounded

    before_training = [operator for operator in settings["operators"] if isinstance(operator, TrainingOperator)]
    if not before_training or subject.recipe is None:
        return
    planned = plan(subject, **{**_planned(settings), "operators": before_training})
    trainings, seconds = sum(step.trainings for step in planned), sum(step.seconds or 0.0 for step in planned)
    typer.echo(
        f"mutiny: operators before training need at most {trainings:,} trainings, about {rounded(seconds)} with one "
        "worker; stored trainings are reused (--dry-run shows the plan)",
        err=True,
    )


def write_kills(path: Path, result: Assessment) -> None:
    """Write one packed array per mutant and set, named ``operator@strength/set``; unpack along the last axis."""
    import numpy as np

    from mutiny.reports.files import replacing

    arrays: dict[str, Any] = {}
    for (label, strength, split), bits in result.kills.items():
        key = f"{label}@{'-' if strength is None else repr(strength)}/{split}"
        arrays[key] = bits.packed
        arrays.setdefault(f"inputs/{split}", np.array(bits.inputs))
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)
