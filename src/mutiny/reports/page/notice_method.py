"""How a notice rate was measured, and the command that repeats it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mutiny.core.printable import quoted
from mutiny.core.records import Basis
from mutiny.faults.parsing import as_faults, describe
from mutiny.reports.formatting import count, percent
from mutiny.reports.notice_sentences import cost_words, phrases
from mutiny.verbs.assess.cost_unit import TOLERATED
from mutiny.verbs.assess.judges.paired_test import PairedTest
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.verb import default_seeds


def notice_method(result: Assessment) -> Iterator[str]:
    """The method in sentences: faults, costs, the test, and what was evaluated."""
    notice, said = result.notice, phrases(result.notice)
    yield (
        "Each operator injects faults of one kind into the trained networks, at strengths that are placed by what "
        "they cost."
    )
    if notice.bins:
        bins = ", ".join(said.between(each.low, each.high) for each in notice.bins)
        yield (
            f"The notice rate is the mean share of noticed faults over bins of cost, in {said.heading}: {bins}. "
            f"Cheaper faults are harmless and do not count; costlier ones do not count, and each that is missed is "
            "named."
        )
    yield _reference(result)
    yield _test(result)
    evaluated, everything = (result.evaluation.get(name, 0) for name in ("evaluated", "everything"))
    sampled = sum(fault.basis is not Basis.EXACT for fault in result.faults)
    share = f" ({percent(evaluated / everything, 1)} of all)" if everything > 0 else ""
    yield (
        f"{count(evaluated, 'answer')} of faults were evaluated{share}; {sampled:,} of "
        f"{count(len(result.faults), 'fault')} are judged by samples."
    )


def _test(result: Assessment) -> str:
    task, significant = result.subject.task, f"p < {result.notice.alpha:g}, one-sided"
    if task.kind == "classification":
        test = "McNemar's exact test of its answers to the test inputs against those of its own original"
        return f"A fault is noticed if {test} has {significant}."
    return (
        f"A fault is noticed if a paired t-test over the test inputs shows that it raises the {task.metric} of its "
        f"original by more than {percent(TOLERATED)} ({significant})."
    )


def _reference(result: Assessment) -> str:
    reference = result.notice.reference
    if reference.kind == "none":
        return "Costs: the subject has no inputs besides the tests, so they were not measured."
    metric = ("expected " if reference.kind == "unlabeled" else "") + result.subject.task.metric
    sentence = (
        f"Costs are {cost_words(result.notice)}; the tests play no part in that. On the {reference.inputs:,} inputs "
        f"named first, the originals have a mean {metric} of {reference.metric_mean:.4g}."
    )
    if reference.memorized:
        sentence += (
            f" But {phrases(result.notice).worse_on_tests(reference.memorized)}: the same fault may cost more or less "
            "on new inputs."
        )
    return sentence


def texts(settings: Mapping[str, Any], name: str) -> list[str]:
    """A setting that is a list of texts; empty if it is missing, or of another type, as in a file by somebody else."""
    value = settings.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def notice_line(settings: Mapping[str, Any], originals: int, subject: str) -> str:
    """The command that repeats an assessment, from plain settings, without options at their defaults."""
    line = ["mutiny", "assess", subject]
    operators = texts(settings, "operators")
    if operators and operators != [describe(operator) for operator in as_faults(None)]:
        line += ["--operators", quoted(",".join(operators))]
    line += ["--originals", quoted(originals), "--seed", quoted(settings.get("seed", 0))]
    judges = [judge for judge in texts(settings, "judges") if judge != PairedTest().label]
    for judge in judges:
        line += ["--judge", quoted(judge)]
    defaults = {"seeds": default_seeds(originals), "alpha": settings.get("alpha") if judges else PairedTest().alpha}
    for name, default in defaults.items():
        value = settings.get(name)
        if value is not None and value != default:
            line += [f"--{name}", quoted(value)]
    return " ".join([*line, *(["--exact"] if settings.get("exact") else [])])
