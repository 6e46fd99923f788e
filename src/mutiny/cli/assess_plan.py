"""What ``mutiny assess`` says before it starts: the plan of ``--dry-run``, and how long trainings take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mutiny.cli.streams import say

if TYPE_CHECKING:
    from mutiny.cli.invocation import Invocation
    from mutiny.subjects import Subject


def show_plan(invocation: Invocation, subject: Subject, settings: Mapping[str, Any]) -> None:
    """Print the plan of an assessment, unless the command is quiet.

    Args:
        invocation: Running command.
        subject: Subject to test.
        settings: Arguments of `assess`.
    """
    from mutiny.campaigns.originals import all_stored
    from mutiny.core.checks import check_whole
    from mutiny.reports.dry_run_text import dry_run_text
    from mutiny.reports.muff_text import plan_text
    from mutiny.verbs.assess.dry_run import plan as plan_notice
    from mutiny.verbs.assess.muff.dry_run import plan
    from mutiny.verbs.assess.reference import with_folds

    common, muff = _common(invocation, settings), settings["method"] == "muff"
    name, originals = str(subject.name), subject.count(settings["originals"])
    device = invocation.settings["device"]
    check_whole("seed", common["seed"], 0)
    trained = all_stored(subject if muff else with_folds(subject), originals, seed=common["seed"], device=device)
    if muff:
        text = plan_text(plan(subject, **common, search=settings["search"]), name, originals, trained)
    else:
        text = dry_run_text(plan_notice(subject, **common, seeds=settings["seeds"]), name, originals, trained)
    if not invocation.quiet:
        invocation.console.print(text)


def announce_trainings(invocation: Invocation, subject: Subject, settings: Mapping[str, Any]) -> None:
    """Print how long operators before training will take, because that can be hours.

    Args:
        invocation: Running command.
        subject: Subject to test.
        settings: Arguments of `assess`.
    """
    from mutiny.faults.training.base import TrainingOperator
    from mutiny.reports.formatting import duration
    from mutiny.verbs.assess.muff.dry_run import plan

    before_training = [operator for operator in settings["operators"] if isinstance(operator, TrainingOperator)]
    if not before_training or subject.recipe is None or settings["method"] != "muff":
        return
    common = {**_common(invocation, settings), "operators": before_training}
    steps = plan(subject, **common, search=settings["search"])
    trainings, seconds = sum(step.trainings for step in steps), sum(step.seconds or 0.0 for step in steps)
    say(
        f"operators before training need at most {trainings:,} trainings, about {duration(seconds)} with one "
        "worker; stored trainings are reused (--dry-run shows the plan)"
    )


def _common(invocation: Invocation, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the plans of both methods."""
    return {name: settings[name] for name in ("operators", "originals")} | {"seed": invocation.settings["seed"]}
