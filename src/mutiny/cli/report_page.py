"""The HTML report of some results, with the commands that repeat them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from mutiny.campaigns.stores.base import file_for
from mutiny.cli.paths import quoted_path
from mutiny.cli.stored_command import command_line, data_typed, subject_typed
from mutiny.core.errors import BadInput
from mutiny.core.json_values import to_plain
from mutiny.reports.files import check_writable
from mutiny.reports.loading import LoadedResult
from mutiny.reports.page.advice import Typed
from mutiny.reports.page.method import UNKNOWN, assess_command, assess_line
from mutiny.reports.page.page import Page, page_of
from mutiny.subjects.builtin import BUILTIN
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.strengthen.result import Strengthening


def page_for(
    findings: Mapping[str, LoadedResult], commands: Mapping[str, str] | None = None, left: Sequence[str] = ()
) -> Page:
    """The report of some results.

    Args:
        findings: Results by verb, all of one subject.
        commands: Commands that repeat results, by verb, where they are known already.
        left: Reasons why results were left out, a sentence each.
    """
    name = _one_subject(findings)
    kept = [finding.command for finding in findings.values() if finding.command is not None]
    subject = shlex.quote(name) if name in BUILTIN else UNKNOWN
    usual = file_for(name) if name in BUILTIN else None
    if kept:
        subject = subject_typed(kept[-1]) + data_typed(kept[-1])
        usual = file_for(str(kept[-1]["arguments"]["subject"]))
    repeats = {
        verb: command_line(finding.command)
        for verb, finding in findings.items()
        if finding.command and finding.command["verb"] == verb
    }
    assessed, seed = _assessed(findings), 0
    again = f"mutiny assess {subject}"
    if assessed is not None:
        again, seed = repeats.get("assess", assess_command(assessed, subject)), assessed.settings.get("seed", 0)
    stronger = findings.get("strengthen")
    if stronger is not None and isinstance(stronger.result, Strengthening) and "strengthen" in repeats:
        first = again if _starts_from(stronger.result, assessed) else _start_of(stronger.result, subject)
        repeats["strengthen"] = f"{first}\n{repeats['strengthen']}"
    repeats = {"assess": again, **repeats, **(commands or {})}
    stores = [finding.file for finding in findings.values() if finding.store and finding.file is not None]
    store = quoted_path(stores[-1]) if stores and (usual is None or stores[-1].resolve() != usual.resolve()) else ""
    typed = Typed(subject, again, store, seed)
    return page_of({verb: finding.result for verb, finding in findings.items()}, typed, repeats, left)


def _assessed(findings: Mapping[str, LoadedResult]) -> Assessment | None:
    finding = findings.get("assess")
    return finding.result if finding is not None and isinstance(finding.result, Assessment) else None


def _starts_from(result: Strengthening, assessed: Assessment | None) -> bool:
    """Whether a strengthening started from the survivors of an assessment with the same settings."""
    if assessed is None or result.subject.originals != assessed.subject.originals:
        return False
    settings = to_plain(assessed.settings)
    return all(settings.get(name) == value for name, value in to_plain(result.settings["assessment"]).items())


def _start_of(result: Strengthening, subject: str) -> str:
    """The command that makes the assessment from which a strengthening starts, which is the latest in its store."""
    return assess_line(to_plain(result.settings["assessment"]), result.subject.originals, subject)


def _one_subject(findings: Mapping[str, LoadedResult]) -> str:
    """The subject's name; an error if there are several, because a report is about one subject."""
    names: dict[str, LoadedResult] = {}
    for finding in findings.values():
        names.setdefault(finding.result.subject.name, finding)
    if len(names) > 1:
        (first, _), (other, where) = list(names.items())[:2]
        raise BadInput("FILE", where.file, f"results of one subject, here {first}; it has {other}")
    return next(iter(names))


def check_out(out: Path, sources: list[Path]) -> None:
    """Raise `BadInput` if the report could not be written later, or would replace a file that it is made from."""
    check_writable(out, "--out")
    if out.resolve() in [path.resolve() for path in sources]:
        raise BadInput("--out", out, "another file than those it is made from")
