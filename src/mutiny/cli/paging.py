"""From findings to a page in a file, with the commands that a user would type."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from mutiny.campaigns.stores.naming import file_for
from mutiny.cli.keeping import shown
from mutiny.cli.repeating import command_line, data_typed, subject_typed
from mutiny.core.errors import BadInput
from mutiny.core.records import to_plain
from mutiny.reports.files import check_writable
from mutiny.reports.page.advice import Typed
from mutiny.reports.page.facts import settings_of
from mutiny.reports.page.method import UNKNOWN, assess_command, assess_line
from mutiny.reports.page.page import Page, page_of
from mutiny.reports.page.render import write_html
from mutiny.reports.page.sources import Finding, finding_of
from mutiny.reports.page.strengthened import Strengthened
from mutiny.subjects.builtin import BUILTIN
from mutiny.verbs.assess.result import Assessment

DEMO = Path("mutiny-report.html")


def page_for(
    findings: Mapping[str, Finding], commands: Mapping[str, str] | None = None, left: Sequence[str] = ()
) -> Page:
    """The page of some findings.

    Args:
        findings: by verb, all of one subject.
        commands: that repeat them, where they are known already.
        left: why results were left out, a sentence each.
    """
    name = _one_subject(findings)
    kept = [one.command for one in findings.values() if one.command is not None]
    subject = shlex.quote(name) if name in BUILTIN else UNKNOWN
    usual = file_for(name) if name in BUILTIN else None
    if kept:
        subject = subject_typed(kept[-1]) + data_typed(kept[-1])
        usual = file_for(str(kept[-1]["arguments"]["subject"]))
    known = {verb: one.command for verb, one in findings.items() if one.command and one.command["verb"] == verb}
    repeats = {verb: command_line(command) for verb, command in known.items()}
    assessed, seed = _assessed(findings), 0
    again = f"mutiny assess {subject}"
    if assessed is not None:
        again, seed = repeats.get("assess", assess_command(assessed, subject)), settings_of(assessed).seed
    stronger = findings.get("strengthen")
    if stronger is not None and isinstance(stronger.result, Strengthened) and "strengthen" in repeats:
        first = again if _starts_from(stronger.result, assessed) else _start_of(stronger.result, subject)
        repeats["strengthen"] = f"{first}\n{repeats['strengthen']}"
    repeats = {"assess": again, **repeats, **(commands or {})}
    stores = [one.file for one in findings.values() if one.store and one.file is not None]
    store = shown(stores[-1]) if stores and (usual is None or stores[-1].resolve() != usual.resolve()) else ""
    typed = Typed(subject, again, store, seed)
    return page_of({verb: one.result for verb, one in findings.items()}, typed, repeats, left)


def _assessed(findings: Mapping[str, Finding]) -> Assessment | None:
    found = findings.get("assess")
    return found.result if found is not None and isinstance(found.result, Assessment) else None


def _starts_from(result: Strengthened, assessed: Assessment | None) -> bool:
    """Whether a strengthening took its survivors from an assessment like this one."""
    if assessed is None or result.subject.originals != assessed.subject.originals:
        return False
    settings = to_plain(assessed.settings)
    return all(settings.get(name) == value for name, value in result.settings["assessment"].items())


def _start_of(result: Strengthened, subject: str) -> str:
    """The command that makes the assessment from which a strengthening starts: it takes the last one in its store."""
    return assess_line(result.settings["assessment"], result.subject.originals, subject)


def _one_subject(findings: Mapping[str, Finding]) -> str:
    """The subject's name; an error if there are several, for a page answers questions about one."""
    names: dict[str, Finding] = {}
    for one in findings.values():
        name = one.result.subject.name
        names.setdefault(name, one)
    if len(names) > 1:
        (first, _), (other, where) = list(names.items())[:2]
        raise BadInput("file", where.file, f"results of one subject, here {first}; it has {other}")
    return next(iter(names))


def check_out(out: Path, sources: list[Path]) -> None:
    """Raises `BadInput` now if the page could not be written later, or would replace what it is made from."""
    check_writable(out, "--out")
    if out.resolve() in [path.resolve() for path in sources]:
        raise BadInput("--out", out, "another file than those it is made from")


def demo_page(result: Assessment | None, command: str) -> str:
    """Writes the page of the demo into the working folder, and says so; or that it cannot be written there."""
    if result is None:
        return "There is no report, for nothing was assessed."
    try:
        write_html(DEMO, page_for({"assess": finding_of(result)}, {"assess": command}))
    except BadInput as error:
        return f"There is no report: {error}"
    return f"The same as a page, with pictures: {DEMO}"
