"""An assessment for a terminal: what was tested, a table, the answer, what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.mutation.assessment import Assessment
from mutiny.mutation.redundancy import TRIVIAL
from mutiny.records import OperatorRecord, SetSummary, Status, Verdict

METHOD = {
    "glm": "GLM z-test between trainings (eq. 2)",
    "mcnemar": "paired exact test over inputs (McNemar)",
    "fisher": "Fisher's exact test on pooled correctness",
}


def percent(value: float | None) -> str:
    """A share for people.

    >>> percent(0.914), percent(None), percent(1.0)
    ('91%', '-', '100%')
    """
    return "-" if value is None else f"{value:.0%}"


def number(value: float | None) -> str:
    """A strength for people.

    >>> number(0.0625), number(None)
    ('0.0625', '-')
    """
    return "-" if value is None else f"{value:.3g}"


def assessment_text(result: Assessment) -> RenderableType:
    """Everything that a terminal shows, in 80 columns."""
    parts: list[RenderableType] = [_head(result), _table(result)]
    parts.extend(Padding(Text(line, style="dim"), (0, 0, 0, 1)) for line in _legend(result))
    parts.append(Padding(_answer(result), (1, 1)))
    parts.extend(Padding(Text.from_markup(f"[yellow]note[/] {escape(note)}"), (0, 1)) for note in result.notes)
    return Group(*parts)


def _head(result: Assessment) -> RenderableType:
    subject, rule = result.subject, result.settings["rule"]
    splits = ", ".join(
        f"{name} {info['inputs']:,} ({subject['task']['metric']} {info['metric_mean']:.4g})"
        for name, info in subject["splits"].items()
    )
    count = subject["originals"]
    lines = [
        f"[bold]{escape(str(subject['name']))}[/]: {escape(subject['model'])}, {count} original{'s' * (count != 1)}",
        splits,
        f"killed by: {METHOD.get(rule['test'], rule['test'])}, p < {rule['alpha']:g} and "
        f"{rule['effect']} >= {rule['beta']:g}",
    ]
    return Padding(Text.from_markup("\n".join(lines)), (1, 1, 1, 1))


def _table(result: Assessment) -> Table:
    table = Table(show_edge=False, pad_edge=False, header_style="bold", padding=(0, 1), expand=False)
    table.add_column("operator", no_wrap=True)
    table.add_column("weakest killed\ntrain   test    weak", no_wrap=True)
    table.add_column("kill surv unst\n(probes, all sets)", justify="left", no_wrap=True)
    table.add_column("inst.", justify="right")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("sensi-\ntivity", justify="right")
    for record in result.operators:
        table.add_row(*_row(record))
    return table


def _row(record: OperatorRecord) -> tuple[RenderableType, ...]:
    counts = [
        [m.verdict for m in record.mutants].count(v) for v in (Verdict.KILLED, Verdict.SURVIVED, Verdict.UNSTABLE)
    ]
    shown = Text.from_markup(f"[green]{counts[0]:>4}[/] {counts[1]:>4} [yellow]{counts[2]:>4}[/]")
    name = escape(record.label if len(record.label) <= 22 else f"{record.label[:21]}…")
    if record.status is Status.INVALID:
        return (Text(name), Text("invalid", style="dim"), Text(""), Text(""), Text("-"), Text("-"))
    if record.status is Status.NOT_KILLABLE:
        return (Text(name), Text("not killable", style="yellow"), shown, _instances(record), Text("-"), Text("-"))
    weakest = "".join(f"{_weakest(record, record.sets.get(s)):<8}" for s in ("train", "test", "weak"))
    return (
        Text(name),
        Text(weakest.rstrip()),
        shown,
        _instances(record),
        Text(percent(record.score), style=_colour(record.score)),
        Text(percent(record.sensitivity)),
    )


def _weakest(record: OperatorRecord, summary: SetSummary | None) -> str:
    if summary is None:
        return "-"
    if record.strength is None:
        return "killed" if summary.killed else "alive"
    return number(summary.weakest_killed)


def _instances(record: OperatorRecord) -> Text:
    searched = [m.instances for m in record.mutants if m.searched]
    return Text(f"{sum(searched) / len(searched):.0f}" if searched else "")


def _colour(score: float | None) -> str:
    if score is None:
        return ""
    return "green" if score >= 0.8 else "yellow" if score >= 0.5 else "red"


def _legend(result: Assessment) -> Iterator[str]:
    yield "weakest killed: smallest strength noticed (smaller = sharper set). inst.: mean instances per"
    yield "mutant. score: share of train-killable strengths that test kills. sensitivity: loss with the weak set."
    for record in result.operators:
        if record.status is not Status.SCORED:
            yield f"{record.label}: {record.reason}."
    trivial = sum(
        1 for r in result.operators for m in r.mutants if m.guiding_set == "test" and (m.triviality or 0) >= TRIVIAL
    )
    if trivial:
        yield f"{trivial} mutants are trivial: nearly every input kills them."


def _answer(result: Assessment) -> Text:
    score = result.score
    if score.value is None:
        return Text("No score: no operator has a stable mutant that the training set kills.", style="bold yellow")
    text = f"[bold {_colour(score.value)}]Mutation score {score.value:.0%}[/]"
    if score.interval is not None:
        text += f"  95% interval {score.interval.low:.0%} to {score.interval.high:.0%} ({score.interval.method})"
    text += f", mean over {score.operators} operator{'s' * (score.operators != 1)}"
    missed = sorted((r for r in result.operators if r.score is not None and r.score < 1), key=lambda r: r.score or 0.0)
    if missed:
        worst = missed[0]
        text += f"\nThe test set is weakest against {escape(worst.label)} ({worst.title}): {percent(worst.score)}."
    else:
        text += "\nThe test set notices every fault that the training set does."
    return Text.from_markup(text)
