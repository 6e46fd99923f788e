"""A comparison as JUnit XML and as Markdown, for CI servers and pull requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mutiny.core.stats.comparison import ComparisonVerdict
from mutiny.reports.compare_text import changed_groups, difference_text, how, input_text, mean_text
from mutiny.reports.files import write_text
from mutiny.reports.formatting import p_value
from mutiny.reports.junit import add_outcome, named_case, suites_xml, with_output
from mutiny.reports.markdown import cell, markdown_table
from mutiny.verbs.compare.groups import GroupChange
from mutiny.verbs.compare.result import Comparison

INPUTS, GROUPS = 10, 20
"""Number of changed inputs and groups that are listed."""
CASE = "B is not worse than A"


def write_comparison_reports(result: Comparison, junit: Path | None, summary: Path | None, strict: bool) -> None:
    """Write a comparison as JUnit XML and as a Markdown summary, each if a path is given.

    Args:
        result: The comparison.
        junit: File for JUnit XML.
        summary: File for Markdown.
        strict: Whether it fails if it cannot be told whether B is worse.
    """
    if junit is not None:
        write_text(junit, comparison_junit(result, strict))
    if summary is not None:
        write_text(summary, comparison_markdown(result, strict))


def comparison_junit(result: Comparison, strict: bool = False) -> str:
    """One test case, which fails if B is worse or, if ``strict``, if that cannot be told.

    Args:
        result: The comparison.
        strict: Whether it fails if it cannot be told whether B is worse.
    """
    case = named_case(result, CASE)
    lines = [result.sentence, how(result), *result.notes]
    lines += [f"{group.column} {group.group}: {difference_text(group.difference, result)}" for group in _sure(result)]
    lines += [f"changed: {input_text(each)}" for each in result.changed[:INPUTS]]
    if result.fails(strict):
        add_outcome(case, "failure", result.sentence, "Comparison", how(result))
    elif result.verdict is ComparisonVerdict.CANNOT_TELL:
        lines.insert(0, "Warning: it cannot be told whether B is worse.")
    return suites_xml(result, [with_output(case, lines)])


def comparison_markdown(result: Comparison, strict: bool = False) -> str:
    """The decision, both sides, changed classes and slices, changed inputs, and how it was done.

    Args:
        result: The comparison.
        strict: Whether it fails if it cannot be told whether B is worse.
    """
    return "\n\n".join(_paragraphs(result, strict)) + "\n"


def _paragraphs(result: Comparison, strict: bool) -> Iterator[str]:
    yield f"**{cell(result.sentence)}**"
    if result.verdict is ComparisonVerdict.CANNOT_TELL:
        yield "This **fails** with `--strict`." if strict else "This passes without `--strict`."
    subject, metric = result.subject, result.subject.task.metric
    rows = [
        ("A", subject.name, subject.model, mean_text(result.means["a"], result)),
        ("B", subject.other_name, subject.other_model, mean_text(result.means["b"], result)),
    ]
    yield markdown_table(["", "name", "model", metric], rows)
    if changed := changed_groups(result)[:GROUPS]:
        cells = [
            (
                f"{each.column} {each.group}",
                each.inputs,
                difference_text(each.difference, result),
                each.broken,
                each.repaired,
                p_value(each.p_adjusted),
            )
            for each in changed
        ]
        yield markdown_table(["group", "inputs", f"change in {result.unit}", "broken", "repaired", "p adjusted"], cells)
    if result.changed:
        listed = "; ".join(cell(input_text(each)) for each in result.changed[:INPUTS])
        yield f"Inputs that changed most: {listed}."
    if result.notes:
        yield "\n".join(f"- {cell(note)}" for note in result.notes)
    versions = ", ".join(f"{name} {result.versions.get(name, '-')}" for name in ("mutiny", "torch"))
    yield cell(f"{subject.inputs:,} inputs; {how(result)}; {versions}.")


def _sure(result: Comparison) -> list[GroupChange]:
    """Groups that changed surely."""
    return [each for each in changed_groups(result) if each.p_adjusted is not None and each.p_adjusted < result.alpha]
