"""An assessment as Markdown, for a pull request or the summary of a CI job."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.core.records import OperatorRecord, Status
from mutiny.reports.assess_text import percent, weakest_text
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.score import apart


def markdown_summary(result: Assessment, fail_under: float | None = None) -> str:
    """Score, table of operators, notes, data, seed and versions.

    Args:
        result: Result of `mutiny.assess`.
        fail_under: Lowest accepted score.
    """
    return "\n\n".join(_paragraphs(result, fail_under)) + "\n"


def _paragraphs(result: Assessment, fail_under: float | None) -> Iterator[str]:
    subject, score = result.subject, result.score
    value, bar = percent(score.value), percent(fail_under)
    if score.value is not None and fail_under is not None:
        value, bar = apart(score.value, fail_under)
    yield f"## Mutation score of {cell(subject.name)}: {value}"
    parts = [f"Mean of {score.operators} out of {score.tried} operators"]
    if score.interval is not None:
        parts.append(f"95% interval {percent(score.interval.low)} to {percent(score.interval.high)}")
    if fail_under is not None:
        met = score.value is not None and score.value >= fail_under
        parts.append(f"the bar of {bar} is {'met' if met else '**missed**'}")
    yield "; ".join(parts) + "."
    head = "| operator | train kills from | test kills from | score | sensitivity | |\n|---|---|---|---|---|---|"
    yield "\n".join([head, *map(_row, result.operators)])
    if result.notes:
        yield "\n".join(f"- {cell(note)}" for note in result.notes)
    inputs = ", ".join(f"{split} {info.inputs:,}" for split, info in subject.splits.items())
    yield (
        f"{cell(subject.model)}, {subject.originals} original(s), inputs: {inputs}. Seed {result.settings['seed']}, "
        + ", ".join(f"{name} {result.versions.get(name, '-')}" for name in ("mutiny", "torch"))
        + "."
    )


def _row(record: OperatorRecord) -> str:
    weakest = [weakest_text(record, record.sets.get(split)) for split in ("train", "test")]
    why = "" if record.status is Status.SCORED else f"{record.status.value}: {record.reason}"
    cells = [record.label, *weakest, percent(record.score), percent(record.sensitivity), why]
    return f"| {' | '.join(map(cell, cells))} |"


def cell(text: object) -> str:
    r"""Text on one line, with the markup of Markdown and HTML escaped.

    >>> cell("a|b <script>\n*c*")
    'a\\|b &lt;script&gt; \\*c\\*'
    """
    plain = " ".join(str(text).split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for mark in "\\`*_[]|":
        plain = plain.replace(mark, f"\\{mark}")
    return plain
