"""An assessment by MUFF on the page."""

from __future__ import annotations

from collections.abc import Mapping

from mutiny.core.results import Result
from mutiny.reports.page.advice import CommandParts, advice_section, minimize_command
from mutiny.reports.page.blocks import Section
from mutiny.reports.page.effective_tests import effective_tests_section
from mutiny.reports.page.score import interval_sentence, score_section, score_sentence, weakest_sentence
from mutiny.reports.page.survivors import survivors_section
from mutiny.verbs.assess.muff.result import MuffAssessment
from mutiny.verbs.strengthen.result import Strengthening


def muff_sections(
    result: MuffAssessment, parts: CommandParts, results: Mapping[str, Result] | None = None
) -> list[Section]:
    """The sections of an assessment by MUFF, the last of which says what to do next.

    Args:
        result: Assessment.
        parts: Parts of commands for this subject.
        results: All results by verb; a question that they answer needs no command.
    """
    done = (results or {}).get("strengthen")
    minimized = isinstance(done, Strengthening) and done.subset is not None
    return [
        score_section(result),
        survivors_section(result),
        effective_tests_section(result, "" if minimized else minimize_command(parts)),
        advice_section(result, parts, results),
    ]


def muff_summary(result: MuffAssessment) -> tuple[str, ...]:
    """Sentences about the mutation score, its interval and the weakest operator."""
    sentences = [score_sentence(result), interval_sentence(result), weakest_sentence(result)]
    return tuple(filter(None, sentences))
