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
    from mutiny.reports.assess_text import assess_text, plan_text
    from mutiny.reports.result_files import write_ci_reports, write_kills
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
    }
    planned = {
        "operators": settings["operators"],
        "originals": originals,
        "search": settings["search"],
        "seed": invocation.settings["seed"],
    }
    subject = invocation.subject()
    if dry_run:
        steps = plan(subject, **planned)
        invocation.console.print(plan_text(steps, str(subject.name), subject.count(originals)))
        return None
    if not invocation.quiet:
        _announce_trainings(subject, planned)
    with invocation.running() as runtime:
        result = assess(subject, **runtime, **settings)
    invocation.write_and_show(result, assess_text(result, invocation.console.width))
    if kills is not None:
        write_kills(kills, result)
    write_ci_reports(result, fail_under, junit, summary)
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


def _announce_trainings(subject: Subject, planned: Mapping[str, Any]) -> None:
    """Print how long operators before training will take, because that can be hours.

    Args:
        subject: Subject to test.
        planned: Arguments of `plan`.
    """
    from mutiny.faults.training.base import TrainingOperator
    from mutiny.verbs.assess.dry_run import plan, rounded

    before_training = [operator for operator in planned["operators"] if isinstance(operator, TrainingOperator)]
    if not before_training or subject.recipe is None:
        return
    steps = plan(subject, **{**planned, "operators": before_training})
    trainings, seconds = sum(step.trainings for step in steps), sum(step.seconds or 0.0 for step in steps)
    typer.echo(
        f"mutiny: operators before training need at most {trainings:,} trainings, about {rounded(seconds)} with one "
        "worker; stored trainings are reused (--dry-run shows the plan)",
        err=True,
    )
