"""The content of the HTML report, built from results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mutiny.core.results import Result
from mutiny.reports.formatting import count, percent
from mutiny.reports.notice_sentences import bias_sentence, decision, headline, useless
from mutiny.reports.page.advice import CommandParts, advice_section, minimize_command
from mutiny.reports.page.attack import attack_section
from mutiny.reports.page.blocks import Section, Text
from mutiny.reports.page.effective_tests import QUESTION as WHICH_TESTS
from mutiny.reports.page.effective_tests import effective_tests_section
from mutiny.reports.page.locate import locate_section
from mutiny.reports.page.method import method_section
from mutiny.reports.page.notice import notice_sections
from mutiny.reports.page.repair import repair_section
from mutiny.reports.page.score import QUESTION as HOW_GOOD
from mutiny.reports.page.score import interval_sentence, score_section, score_sentence, weakest_sentence
from mutiny.reports.page.select import select_section
from mutiny.reports.page.strengthen import strengthen_section
from mutiny.reports.page.survivors import QUESTION as WHAT_SLIPS
from mutiny.reports.page.survivors import survivors_section
from mutiny.verbs.assess.muff.result import MuffAssessment
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.strengthen.result import Strengthening

Results = Mapping[str, Result]
SECTIONS: Mapping[str, Callable[[Any], Section]] = {
    "strengthen": strengthen_section,
    "select": select_section,
    "locate": locate_section,
    "repair": repair_section,
    "attack": attack_section,
}
"""Sections of the verbs besides `assess`, in their order on the page."""


@dataclass(frozen=True)
class Page:
    """The content of a report.

    Attributes:
        subject: Name of the subject.
        about: A line about the subject.
        headline: The notice rate or the mutation score; empty if there is none.
        headline_name: Name of that number.
        summary: Sentences, the first of which answers the first question.
        sections: Questions with answers, in order.
        decision: Answer to "may this ship?"; empty if the page does not ask.
        starts_with_section: Whether the first section belongs on the first screen, before the list of sections.
    """

    subject: str
    about: str
    headline: str
    summary: tuple[str, ...]
    sections: tuple[Section, ...]
    headline_name: str = "mutation score"
    decision: str = ""
    starts_with_section: bool = False


def page_of(results: Results, parts: CommandParts, commands: Mapping[str, str], omitted: Sequence[str] = ()) -> Page:
    """The page of some results.

    Args:
        results: Results by verb, at least one.
        parts: Parts of commands for this subject.
        commands: Commands that repeat the results, by verb.
        omitted: Reasons why results were left out, a sentence each.
    """
    assessment = results.get("assess")
    others = [section(results[verb]) for verb, section in SECTIONS.items() if verb in results]
    others.append(method_section(results, commands, omitted))
    subject = next(result.subject.name for result in results.values())
    if isinstance(assessment, Assessment):
        rate = assessment.notice.rate
        return Page(
            subject=subject,
            about=_about(results, assessment),
            headline="" if rate is None or useless(assessment.notice.interval) else percent(rate),
            summary=tuple(filter(None, [headline(assessment), bias_sentence(assessment.notice)])),
            sections=(*notice_sections(assessment, parts, results), *others),
            headline_name="notice rate",
            decision=decision(assessment),
            starts_with_section=True,
        )
    muff = assessment if isinstance(assessment, MuffAssessment) else None
    score = None if muff is None else muff.score.value
    return Page(
        subject=subject,
        about=_about(results, muff),
        headline="" if score is None else percent(score),
        summary=_summary(muff, parts),
        sections=(*_questions(muff, parts, results), advice_section(muff, parts, results), *others),
    )


def _questions(assessment: MuffAssessment | None, parts: CommandParts, results: Results) -> list[Section]:
    """The sections of an assessment; without one, the same questions with the command that answers them."""
    if assessment is not None:
        done = results.get("strengthen")
        smaller = isinstance(done, Strengthening) and done.subset is not None
        tests = effective_tests_section(assessment, "" if smaller else minimize_command(parts))
        return [score_section(assessment), survivors_section(assessment), tests]
    missing = Text(f"The test set was not assessed. To assess it: {parts.again}", "missing")
    questions = (("score", HOW_GOOD), ("survivors", WHAT_SLIPS), ("tests", WHICH_TESTS))
    return [Section(name, question, (missing,)) for name, question in questions]


def _about(results: Results, assessment: Assessment | MuffAssessment | None) -> str:
    if assessment is None:
        return next(result.subject.model for result in results.values())
    subject = assessment.subject
    splits = ", ".join(f"{name} {split.inputs:,}" for name, split in subject.splits.items())
    day = f"; assessed {assessment.created[:10]}" if assessment.created else ""
    return f"{subject.model}, {count(subject.originals, 'original')}, {subject.task.kind}; inputs: {splits}{day}"


def _summary(assessment: MuffAssessment | None, parts: CommandParts) -> tuple[str, ...]:
    if assessment is None:
        return (f"The test set was not assessed. To assess it: {parts.again}",)
    sentences = [score_sentence(assessment), interval_sentence(assessment), weakest_sentence(assessment)]
    return tuple(filter(None, sentences))
