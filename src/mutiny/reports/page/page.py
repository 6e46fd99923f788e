"""The content of a page, made from results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mutiny.core.results import Result, versions
from mutiny.reports.formatting import count, percent
from mutiny.reports.page.advice import Typed, advice_section, minimize_command
from mutiny.reports.page.attack import attack_section
from mutiny.reports.page.blocks import Section, Text
from mutiny.reports.page.effective_tests import QUESTION as WHICH_TESTS
from mutiny.reports.page.effective_tests import effective_tests_section
from mutiny.reports.page.locate import locate_section
from mutiny.reports.page.method import method_section
from mutiny.reports.page.repair import repair_section
from mutiny.reports.page.score import QUESTION as HOW_GOOD
from mutiny.reports.page.score import likely, score_section, sentence, weakest
from mutiny.reports.page.select import select_section
from mutiny.reports.page.smaller_test_set import subset_of
from mutiny.reports.page.strengthen import strengthen_section
from mutiny.reports.page.survivors import QUESTION as WHAT_SLIPS
from mutiny.reports.page.survivors import survivors_section
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.attack.result import Robustness
from mutiny.verbs.locate.result import Location
from mutiny.verbs.repair.result import Repair
from mutiny.verbs.select.result import Selection
from mutiny.verbs.strengthen.result import Strengthening

Results = Mapping[str, Result]
OTHERS = ("strengthen", "select", "locate", "repair", "attack")
"""Verbs besides `assess`, in the order of their sections."""


@dataclass(frozen=True)
class Page:
    """What is drawn.

    Attributes:
        subject: name of what was tested.
        about: a line about it.
        headline: the number that answers the first question; nothing if there is none.
        summary: sentences, the first of which answers the first question.
        sections: questions with answers, in order.
        version: of mutiny.
    """

    subject: str
    about: str
    headline: str
    summary: tuple[str, ...]
    sections: tuple[Section, ...]
    version: str


def page_of(results: Results, typed: Typed, commands: Mapping[str, str], left: Sequence[str] = ()) -> Page:
    """The page of some results.

    Args:
        results: by verb, at least one.
        typed: what a user types for this subject.
        commands: that repeat the results, by verb.
        left: why results were left out, a sentence each.
    """
    found = results.get("assess")
    assessment = found if isinstance(found, Assessment) else None
    sections = [*_questions(assessment, typed, results), advice_section(assessment, typed, _done(results))]
    others = [results[verb] for verb in OTHERS if verb in results]
    sections += [section for result in others if (section := _section(result)) is not None]
    sections.append(method_section(results, commands, left))
    score = None if assessment is None else assessment.score.value
    return Page(
        subject=_name(results),
        about=_about(results, assessment),
        headline="" if score is None else percent(score),
        summary=_summary(assessment, typed),
        sections=tuple(sections),
        version=versions()["mutiny"],
    )


def _questions(result: Assessment | None, typed: Typed, results: Results) -> list[Section]:
    if result is not None:
        work = effective_tests_section(result, subset_of(results), minimize_command(typed))
        return [score_section(result), survivors_section(result), work]
    told = Text(f"The test set was not assessed. To assess it: {typed.again}", "missing")
    asked = (("score", HOW_GOOD), ("survivors", WHAT_SLIPS), ("tests", WHICH_TESTS))
    return [Section(name, question, (told,)) for name, question in asked]


def _done(results: Results) -> set[str]:
    """Verbs whose question was answered: a strengthening that only looked for fewer tests chose none to add."""
    return {verb for verb, one in results.items() if not isinstance(one, Strengthening) or len(one.order)}


def _section(result: Result) -> Section | None:
    match result:
        case Strengthening():
            return strengthen_section(result)
        case Selection():
            return select_section(result)
        case Location():
            return locate_section(result)
        case Repair():
            return repair_section(result)
        case Robustness():
            return attack_section(result)
    return None


def _name(results: Results) -> str:
    return next(result.subject.name for result in results.values())


def _about(results: Results, assessment: Assessment | None) -> str:
    if assessment is None:
        return next(result.subject.model for result in results.values())
    subject = assessment.subject
    splits = ", ".join(f"{name} {split.inputs:,}" for name, split in subject.splits.items())
    day = f"; assessed {assessment.created[:10]}" if assessment.created else ""
    return f"{subject.model}, {count(subject.originals, 'original')}, {subject.task.kind}; inputs: {splits}{day}"


def _summary(result: Assessment | None, typed: Typed) -> tuple[str, ...]:
    if result is None:
        return (f"The test set was not assessed. To assess it: {typed.again}",)
    return tuple(filter(None, [sentence(result), likely(result), weakest(result)]))
