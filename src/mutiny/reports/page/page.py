"""The content of the HTML report, built from results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mutiny.core.results import Result
from mutiny.reports.formatting import count, percent
from mutiny.reports.notice_sentences import bias_sentence, headline, useless
from mutiny.reports.page.advice import CommandParts
from mutiny.reports.page.attack import attack_section
from mutiny.reports.page.blocks import Section
from mutiny.reports.page.compare import compare_section
from mutiny.reports.page.decision import decision
from mutiny.reports.page.locate import locate_section
from mutiny.reports.page.method import method_section
from mutiny.reports.page.muff_sections import muff_sections, muff_summary
from mutiny.reports.page.notice import notice_sections, unassessed_section
from mutiny.reports.page.repair import repair_section
from mutiny.reports.page.select import select_section
from mutiny.reports.page.strengthen import strengthen_section
from mutiny.verbs.assess.muff.result import MuffAssessment
from mutiny.verbs.assess.result import Assessment

Results = Mapping[str, Result]
SECTIONS: Mapping[str, Callable[[Any], Section]] = {
    "compare": compare_section,
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
    headline_name: str = "notice rate"
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
        assessment = assessment.by_headline_judge
        rate = assessment.notice.rate
        return Page(
            subject=subject,
            about=_about(results, assessment),
            headline="" if rate is None or useless(assessment.notice.interval) else percent(rate),
            summary=tuple(filter(None, [headline(assessment), bias_sentence(assessment.notice)])),
            sections=(*notice_sections(assessment, parts, results), *others),
            decision=decision(assessment),
            starts_with_section=True,
        )
    if isinstance(assessment, MuffAssessment):
        score = assessment.score.value
        return Page(
            subject=subject,
            about=_about(results, assessment),
            headline="" if score is None else percent(score),
            summary=muff_summary(assessment),
            sections=(*muff_sections(assessment, parts, results), *others),
            headline_name="mutation score",
        )
    return Page(
        subject=subject,
        about=_about(results, None),
        headline="",
        summary=(f"The test set was not assessed. To assess it: {parts.again}",),
        sections=(unassessed_section(parts), *others),
    )


def _about(results: Results, assessment: Assessment | MuffAssessment | None) -> str:
    if assessment is None:
        return next(result.subject.model for result in results.values())
    subject = assessment.subject
    splits = ", ".join(f"{name} {split.inputs:,}" for name, split in subject.splits.items())
    day = f"; assessed {assessment.created[:10]}" if assessment.created else ""
    return f"{subject.model}, {count(subject.originals, 'original')}, {subject.task.kind}; inputs: {splits}{day}"
