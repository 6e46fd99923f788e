"""``mutiny assess``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mutiny.cli import completion
from mutiny.cli.assess_bar import comparison_with, earlier_assessment, exit_below_bar, with_comparison
from mutiny.cli.assess_plan import announce_trainings, show_plan
from mutiny.cli.command import verb
from mutiny.cli.judges import judges_typed
from mutiny.cli.options import JUDGE, MUFF, WRITE, option
from mutiny.cli.settings import Settings

if TYPE_CHECKING:
    from mutiny.cli.invocation import Invocation
    from mutiny.verbs.assess.muff.result import MuffAssessment
    from mutiny.verbs.assess.result import Assessment

KILL_RULE = Settings(
    "mutiny.verbs.assess.muff.kill_rule",
    "KillRule",
    MUFF,
    {"test": "test", "effect": "effect", "beta": "beta"},
    complete={"test": completion.tests, "effect": completion.effects},
)
SEARCH = Settings("mutiny.verbs.assess.muff.search", "Search", MUFF)
WEAK_SET = Settings("mutiny.verbs.assess.muff.options", "WeakSet", MUFF, {"share": "weak_share"})
SCREENING = Settings("mutiny.faults.evaluation.screened", "Screening", MUFF, {"confidence": "confidence"})
PAIRED_TEST = Settings("mutiny.verbs.assess.judges.paired_test", "PairedTest", JUDGE, {"alpha": "alpha"})
MUFF_SETTINGS = {"rule": KILL_RULE, "search": SEARCH, "weak": WEAK_SET, "screening": SCREENING}
NOTICE_OPTIONS = {
    "--seeds": "The number of random choices",
    "--judge": "A judge",
    "--false-alarms": "The rate of false alarms of gates",
    "--against": "A comparison on the same faults",
    "--strict": "An exit code for an undecided bar",
}
"""Options that only the notice rate has, and what they are."""


@verb(PAIRED_TEST, KILL_RULE, SEARCH, WEAK_SET, SCREENING)
def assess(
    invocation: Invocation,
    operators: Annotated[
        str | None,
        option(
            'Operators by code, with optional parameters: "WI,NI(ratio=0.1)"; by default all operators on trained '
            "models.",
            complete=completion.operators,
        ),
    ] = None,
    originals: Annotated[int | None, option("Number of originals to use or train.")] = None,
    fail_under: Annotated[
        float | None, option("Lowest accepted notice rate, from 0 to 1; exit code 1 if the rate is surely lower.")
    ] = None,
    against: Annotated[
        Path | None, option("JSON or campaign file of an earlier assessment; compare test sets on the same faults.")
    ] = None,
    dry_run: Annotated[bool, option("Show the plan and its estimated duration.", None, "--dry-run")] = False,
    method: Annotated[
        str,
        option(
            "notice: share of the faults of known cost that the tests notice; muff: mutation score of the paper.",
            JUDGE,
            complete=completion.assess_methods,
        ),
    ] = "notice",
    judge: Annotated[
        list[str] | None,
        option(
            'What decides whether a fault is noticed: a gate such as "accuracy >= 0.97" or "drop <= 0.5pt", '
            "FILE.py:NAME of a function, paired, or kill-rule. Repeat it to compare several; the first one decides the "
            "headline and --fail-under.",
            JUDGE,
        ),
    ] = None,
    false_alarms: Annotated[
        float | None,
        option("Rate of false alarms that the advised bound of a gate may have, from 0 to 1; 0.01 by default.", JUDGE),
    ] = None,
    strict: Annotated[
        bool, option("With --fail-under, exit with code 1 also if the bar is undecided.", JUDGE, "--strict")
    ] = False,
    seeds: Annotated[
        int | None,
        option(
            "Number of random choices for each operator and original; by default ten, divided among the originals.",
            JUDGE,
        ),
    ] = None,
    exact: Annotated[bool, option("Evaluate every fault on every input.", JUDGE, "--exact")] = False,
    kills: Annotated[Path | None, option("NPZ file for the test answers that each fault changes.", WRITE)] = None,
    junit: Annotated[Path | None, option("JUnit XML file, for CI servers.", WRITE)] = None,
    summary: Annotated[Path | None, option("Markdown file for a summary.", WRITE)] = None,
) -> Assessment | MuffAssessment | None:
    """Measure which faults in the network your tests would notice (mutation testing)."""
    from mutiny.cli.report_page import command_parts, with_steps
    from mutiny.cli.stored_command import to_stored
    from mutiny.core.json_values import to_plain
    from mutiny.faults.parsing import as_faults, operators_by_label
    from mutiny.reports.result_files import write_ci_reports, write_kills
    from mutiny.reports.result_text import result_text
    from mutiny.verbs.assess.assess import assess
    from mutiny.verbs.assess.bar import check_bar

    if fail_under is not None:
        check_bar(fail_under, "--fail-under")
    of_notice: dict[str, Any] = {"--seeds": seeds, "--judge": ", ".join(judge or []) or None, "--against": against}
    of_notice |= {"--strict": strict or None, "--false-alarms": false_alarms}
    _check_method(method, of_notice, fail_under)
    if dry_run:
        files = {"--json": invocation.options["json"], "--kills": kills, "--junit": junit, "--summary": summary}
        _check_plan({"--fail-under": fail_under, "--against": against, **files})
    invocation.check({"--kills": kills, "--junit": junit, "--summary": summary}, {"--kills": ".npz"})
    if method == "notice" and not dry_run:
        operators_by_label(operators)
    settings: dict[str, Any] = {"operators": as_faults(operators), "originals": originals, "method": method}
    settings |= {"exact": exact, **_settings_of(method, seeds, judge or [], invocation.options)}
    if false_alarms is not None:
        settings["false_alarms"] = false_alarms
    seed = invocation.settings["seed"]
    earlier = None if against is None else earlier_assessment(against, settings["operators"], seed)
    subject = invocation.subject()
    if dry_run:
        show_plan(invocation, subject, settings)
        return None
    if not invocation.quiet:
        announce_trainings(invocation, subject, settings)
    with invocation.running() as runtime:
        result: Assessment | MuffAssessment = assess(subject, **runtime, **settings)
    compared = None if against is None or earlier is None else comparison_with(against, earlier, result)
    invocation.write(result, **({} if earlier is None else {"against": to_plain(compared)}))
    parts, width = (
        command_parts(to_stored(invocation.verb, invocation.options), invocation.store),
        invocation.console.width,
    )
    invocation.show(with_steps(with_comparison(result_text(result, width), compared), result, parts, width))
    if kills is not None:
        write_kills(kills, result)
    write_ci_reports(
        result,
        junit,
        summary,
        fail_under=fail_under,
        strict=strict,
        against=compared,
        parts=parts,
    )
    if fail_under is not None:
        exit_below_bar(result, fail_under, strict)
    return result


def _check_method(method: str, of_notice: Mapping[str, Any], fail_under: float | None) -> None:
    """An error for an unknown method, for an option of the notice rate with the other method, or without its bar."""
    from mutiny.core.checks import check_whole
    from mutiny.core.errors import BadInput
    from mutiny.verbs.assess.assess import METHODS, other_method

    if method not in METHODS:
        raise BadInput("--method", repr(method), f"one of {', '.join(METHODS)}")
    for flag, value in of_notice.items():
        if method == "muff" and value is not None:
            raise other_method(flag, value, NOTICE_OPTIONS[flag], "notice", "--method notice")
    if of_notice["--seeds"] is not None:
        check_whole("--seeds", of_notice["--seeds"])
    if of_notice["--strict"] and fail_under is None:
        raise BadInput("--strict", True, "--fail-under as well", "Add --fail-under, or leave out --strict.")


def _check_plan(of_result: Mapping[str, Any]) -> None:
    """An error for an option about the result, which a plan does not have."""
    from mutiny.core.errors import BadInput

    for flag, value in of_result.items():
        if value is not None:
            expected = f"{flag} only without --dry-run, which measures nothing"
            raise BadInput(flag, value, expected, "Leave out one of them.")


def _settings_of(method: str, seeds: int | None, judges: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a method; an error for an option of the other method."""
    from dataclasses import replace

    from mutiny.verbs.assess.assess import BELONGS, other_method

    if method == "muff":
        given = {name: settings.filled(options) for name, settings in MUFF_SETTINGS.items()}
        return {**given, "rule": replace(given["rule"], alpha=options["alpha"])}
    for name, settings in MUFF_SETTINGS.items():
        for parameter in settings.parameters():
            if options[parameter.name] != parameter.default:
                flag, value = f"--{parameter.name.replace('_', '-')}", options[parameter.name]
                raise other_method(flag, value, BELONGS["muff"][name], "muff", "--method muff")
    return {"seeds": seeds, "judge": judges_typed(judges, PAIRED_TEST.filled(options))}
