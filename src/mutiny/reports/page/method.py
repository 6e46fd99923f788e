"""The section about the method: settings, seed, versions, and the command that repeats each result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mutiny.core.json_values import to_plain
from mutiny.core.printable import quoted
from mutiny.core.results import Result
from mutiny.faults.evaluation import Screening
from mutiny.reports.formatting import count, number, percent
from mutiny.reports.muff_text import EFFECT, METHOD
from mutiny.reports.page.blocks import Block, Command, Facts, Fold, Notes, Section, Subsection, Text
from mutiny.reports.page.notice_method import notice_line, notice_method, texts
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.options import WeakSet
from mutiny.verbs.assess.muff.result import Evaluation, MuffAssessment, MuffSettings
from mutiny.verbs.assess.muff.search import Search
from mutiny.verbs.assess.result import Assessment

QUESTION = "How was this done?"
UNKNOWN = "FILE.py:NAME"
"""Placeholder for a subject whose file is not known."""
TITLES = {
    "assess": "How good the tests are",
    "compare": "Whether the change made the network worse",
    "strengthen": "What makes the tests stronger",
    "select": "What to label",
    "locate": "Which neurons are to blame",
    "repair": "Repair",
    "attack": "Robustness",
}


def method_section(results: Mapping[str, Result], commands: Mapping[str, str], omitted: Sequence[str] = ()) -> Section:
    """Method, command, seed, versions and settings of each result.

    Args:
        results: Results by verb.
        commands: Commands that repeat them, by verb.
        omitted: Reasons why results were left out, a sentence each.
    """
    parts = [part for verb in TITLES if verb in results for part in _part(verb, results[verb], commands.get(verb))]
    return Section("method", QUESTION, (*([Notes(tuple(omitted))] if omitted else []), *parts))


def _part(verb: str, result: Result, command: str | None) -> Iterator[Block]:
    blocks: list[Block] = []
    if isinstance(result, MuffAssessment):
        blocks += [Text(line) for line in _method(result)]
    elif isinstance(result, Assessment):
        blocks += [Text(line) for line in notice_method(result)]
    if command is not None:
        blocks.append(Command(command, "", "This command repeats the result:"))
    else:
        blocks.append(Text(f"The file does not name the command. Run mutiny {verb} with the settings below."))
    facts = [("seed", str(result.settings.get("seed", "unknown")))]
    facts += [(name, version) for name, version in result.versions.items()]
    facts += [("started", result.created)] if result.created else []
    facts += [("took", f"{result.seconds:,.1f} seconds")] if result.seconds else []
    blocks.append(Facts(tuple(facts)))
    blocks.append(Fold("All settings", (Facts(tuple(named_values(result.settings))),)))
    yield Subsection(TITLES[verb], tuple(blocks))


def _method(result: MuffAssessment) -> Iterator[str]:
    settings, subject, evaluation = MuffSettings.of(result), result.subject, Evaluation.of(result)
    rule = settings.rule
    yield (
        "Mutation testing after MUFF: each operator injects one kind of fault into the trained networks, and a binary "
        "search finds the mildest strength that a set of inputs notices. Faults that the training set does not notice "
        "do not count; the score is the share of the other strengths that the test set notices too."
    )
    yield (
        f"A mutant is killed by this rule: {METHOD.get(rule.test, rule.test)}, p < {rule.alpha:g} and "
        f"{EFFECT.get(rule.effect, rule.effect)} of at least {rule.beta:g}. It is stable if the relative standard "
        f"error of its {subject.task.metric} is at most {settings.search.rse:g} within {settings.search.k_max} "
        f"repetitions per original; a search stops at a width of {number(settings.search.precision)}."
    )
    share = evaluation.evaluated / evaluation.pairs if evaluation.pairs else 1.0
    bases = ", ".join(f"{verdicts:,} {basis}" for basis, verdicts in evaluation.verdicts.items() if verdicts)
    yield (
        f"{count(evaluation.evaluated, 'answer')} of mutant instances were evaluated ({percent(share, 1)} of all pairs "
        f"of instance and input). Basis of the verdicts: {bases or 'there are none'}."
    )


def assess_command(result: Assessment | MuffAssessment, subject: str = UNKNOWN) -> str:
    """The command that repeats an assessment, from its settings alone, without options at their defaults.

    Args:
        result: Assessment to repeat, of either method.
        subject: Subject as the user types it, quoted for a shell.
    """
    return assess_line(to_plain(result.settings), result.subject.originals, subject)


def assess_line(settings: Mapping[str, Any], originals: int, subject: str = UNKNOWN) -> str:
    """The same as `assess_command`, from plain settings, of which none is required."""
    if settings.get("method") == "notice":
        return notice_line(settings, originals, subject)
    line = ["mutiny", "assess", subject, "--method", "muff"]
    if operators := texts(settings, "operators"):
        line += ["--operators", quoted(",".join(operators))]
    line += ["--originals", quoted(originals), "--seed", quoted(settings.get("seed", 0))]
    groups: list[tuple[str, Mapping[str, Any]]] = [
        ("rule", to_plain(KillRule().resolve(originals))),
        ("search", to_plain(Search())),
        ("weak", {f"weak-{name}": value for name, value in to_plain(WeakSet()).items() if name == "share"}),
        ("screening", {"confidence": to_plain(Screening())["confidence"]}),
    ]
    for group, defaults in groups:
        given = settings.get(group)
        if not isinstance(given, dict):
            continue
        for name, default in defaults.items():
            value = given.get(name.removeprefix("weak-"), default)
            if value != default and value is not None:
                line += [f"--{name.replace('_', '-')}", quoted(value)]
    if settings.get("screening") is None:
        line.append("--exact")
    return " ".join(line)


def named_values(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as names and values; unset ones are left out.

    >>> named_values({"seed": 0, "rule": {"alpha": 0.05, "beta": None}, "operators": ["WI", "NI"]})
    [('seed', '0'), ('rule alpha', '0.05'), ('operators', 'WI, NI')]
    """
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        title = f"{prefix}{name.replace('_', ' ')}"
        if isinstance(value, Mapping):
            pairs += named_values(value, f"{title} ")
        elif isinstance(value, (list, tuple)):
            pairs.append((title, ", ".join(map(_value, value)) or "none"))
        elif value is not None:
            pairs.append((title, _value(value)))
    return pairs


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
