"""From findings to a page in a file, with the commands that a user would type."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from mutiny.cli.keeping import shown
from mutiny.cli.repeating import command_line, data_typed, subject_typed
from mutiny.errors import BadInput
from mutiny.mutation.assessment import Assessment
from mutiny.reports.files import check_writable
from mutiny.reports.page.advice import Typed
from mutiny.reports.page.method import UNKNOWN, assess_command
from mutiny.reports.page.page import Page, page_of
from mutiny.reports.page.render import write_html
from mutiny.reports.page.sources import Finding, finding_of
from mutiny.subjects.builtin import BUILTIN

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
    kept = [one for one in findings.values() if one.command is not None]
    plain = shlex.quote(name) if name in BUILTIN else UNKNOWN
    subject = plain
    if kept and kept[-1].command is not None:
        subject = subject_typed(kept[-1].command) + data_typed(kept[-1].command)
    repeats = {verb: command_line(one.command) for verb, one in findings.items() if one.command is not None}
    assessed = findings.get("assess")
    again = f"mutiny assess {subject}"
    if assessed is not None and isinstance(assessed.result, Assessment):
        again = repeats.get("assess", assess_command(assessed.result, subject))
    repeats = {"assess": again, **repeats, **(commands or {})}
    stores = [one.file for one in findings.values() if one.store and one.file is not None]
    store = shlex.quote(shown(stores[-1]).strip("'")) if stores else ""
    return page_of({verb: one.result for verb, one in findings.items()}, Typed(subject, again, store), repeats, left)


def _one_subject(findings: Mapping[str, Finding]) -> str:
    """The subject's name; an error if there are several, for a page answers questions about one."""
    names: dict[str, Finding] = {}
    for one in findings.values():
        name = one.result.subject["name"] if isinstance(one.result, Assessment) else one.result.subject.name
        names.setdefault(str(name), one)
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
