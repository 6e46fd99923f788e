"""The HTML report of loaded results, with the commands that repeat them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType

from mutiny.campaigns.stores.base import file_for
from mutiny.cli.paths import quoted_path
from mutiny.cli.stored_command import command_line, data_typed, subject_typed
from mutiny.core.errors import BadInput
from mutiny.core.json_values import to_plain
from mutiny.core.printable import quoted
from mutiny.reports.loading import LoadedResult
from mutiny.reports.next_steps_text import next_steps_text
from mutiny.reports.page.advice import CommandParts
from mutiny.reports.page.method import UNKNOWN, assess_command, assess_line
from mutiny.reports.page.notice_advice import next_steps
from mutiny.reports.page.page import Page, page_of
from mutiny.subjects.builtin import BUILTIN
from mutiny.verbs.assess.muff.result import MuffAssessment
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.strengthen.result import Strengthening


def command_parts(command: Mapping[str, Any], store: Path | None) -> CommandParts:
    """Parts of commands for the subject of a command.

    Args:
        command: Command of an assessment, in plain values.
        store: Campaign file; ``None`` if there is none.
    """
    arguments = command["arguments"]
    usual = file_for(str(arguments["subject"])).resolve()
    kept = "" if store is None or store.resolve() == usual else quoted_path(store)
    subject = subject_typed(command) + data_typed(command)
    return CommandParts(subject, command_line(command), kept, arguments.get("seed", 0))


def parts_for(result: Any, command: Mapping[str, Any] | None, file: Path) -> CommandParts | None:
    """Parts of commands for the subject of a loaded assessment; ``None`` for another result.

    Args:
        result: Result of any verb.
        command: Command that computed it; ``None`` if it is not known.
        file: File from which it was read.
    """
    if not isinstance(result, Assessment):
        return None
    if command is not None and command["verb"] == "assess":
        return command_parts(command, file)
    subject = quoted(result.subject.name) if result.subject.name in BUILTIN else UNKNOWN
    return CommandParts(subject, assess_command(result, subject), seed=result.settings.get("seed", 0))


def with_steps(text: RenderableType, result: Any, parts: CommandParts | None, width: int) -> RenderableType:
    """The text of a result, and below the text of an assessment what to do next.

    Args:
        text: Text of the result.
        result: Result of any verb.
        parts: Parts of commands for its subject; ``None`` if nothing follows from it.
        width: Width of the terminal.
    """
    if parts is None or not isinstance(result, Assessment):
        return text
    return Group(text, next_steps_text(next_steps(result, parts), width))


def page_for(
    results: Mapping[str, LoadedResult], commands: Mapping[str, str] | None = None, omitted: Sequence[str] = ()
) -> Page:
    """The report of some results.

    Args:
        results: Results by verb, all of one subject.
        commands: Commands that repeat results, by verb, where they are known already.
        omitted: Reasons why results were left out, a sentence each.
    """
    name = _subject_name(results)
    known = {verb: loaded.command for verb, loaded in results.items()}
    stored = [command for command in known.values() if command is not None]
    subject = quoted(name) if name in BUILTIN else UNKNOWN
    default_store = file_for(name) if name in BUILTIN else None
    if stored:
        subject = subject_typed(stored[-1]) + data_typed(stored[-1])
        default_store = file_for(str(stored[-1]["arguments"]["subject"]))
    repeats = {verb: command_line(command) for verb, command in known.items() if command and command["verb"] == verb}
    assessment, seed = _assessment(results), 0
    again = f"mutiny assess {subject}"
    if assessment is not None:
        again, seed = repeats.get("assess", assess_command(assessment, subject)), assessment.settings.get("seed", 0)
    stronger = results.get("strengthen")
    if stronger is not None and isinstance(stronger.result, Strengthening) and "strengthen" in repeats:
        first = again if _starts_from(stronger.result, assessment) else _start_of(stronger.result, subject)
        repeats["strengthen"] = f"{first}\n{repeats['strengthen']}"
    repeats = {"assess": again, **repeats, **(commands or {})}
    stores = [loaded.file for loaded in results.values() if loaded.store and loaded.file is not None]
    is_default = bool(stores) and default_store is not None and stores[-1].resolve() == default_store.resolve()
    store = quoted_path(stores[-1]) if stores and not is_default else ""
    parts = CommandParts(subject, again, store, seed)
    return page_of({verb: loaded.result for verb, loaded in results.items()}, parts, repeats, omitted)


def _assessment(results: Mapping[str, LoadedResult]) -> Assessment | MuffAssessment | None:
    loaded = results.get("assess")
    return loaded.result if loaded is not None and isinstance(loaded.result, Assessment | MuffAssessment) else None


def _starts_from(result: Strengthening, assessment: Assessment | MuffAssessment | None) -> bool:
    """Whether a strengthening started from an assessment with the same settings."""
    if assessment is None or result.subject.originals != assessment.subject.originals:
        return False
    settings = to_plain(assessment.settings)
    return all(settings.get(name) == value for name, value in to_plain(result.settings["assessment"]).items())


def _start_of(result: Strengthening, subject: str) -> str:
    """The command that makes the assessment from which a strengthening starts, which is the latest in its store."""
    return assess_line(to_plain(result.settings["assessment"]), result.subject.originals, subject)


def _subject_name(results: Mapping[str, LoadedResult]) -> str:
    """The subject's name; `BadInput` if there are several, because a report is about one subject."""
    names: dict[str, LoadedResult] = {}
    for loaded in results.values():
        names.setdefault(loaded.result.subject.name, loaded)
    if len(names) > 1:
        (first, _), (other, source) = list(names.items())[:2]
        raise BadInput("FILE", source.file, f"results of one subject, here {first}; it has {other}")
    return next(iter(names))
