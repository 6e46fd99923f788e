"""An assessment, and the plan of one, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.core.records import OperatorRecord, SetSummary, Status, Verdict
from mutiny.reports import terminal
from mutiny.reports.dry_run_text import AFTER
from mutiny.reports.formatting import NONE, count, duration, number, percent
from mutiny.reports.terminal import escape
from mutiny.verbs.assess.muff.redundancy import TRIVIAL
from mutiny.verbs.assess.muff.result import MuffAssessment, MuffSettings
from mutiny.verbs.assess.planned_work import Planned

METHOD = {
    "glm": "GLM z-test between trainings",
    "welch": "Welch's t-test between trainings",
    "mann-whitney": "Mann-Whitney test between trainings",
    "wilcoxon": "Wilcoxon test over originals",
    "paired-t": "paired t-test over originals",
    "fisher": "Fisher's exact test on pooled correctness",
    "mcnemar": "paired exact test over inputs (McNemar)",
}
EFFECT = {"cohen-d": "Cohen's d", "a12": "A12", "cohen-g": "Cohen's g"}


def muff_text(result: MuffAssessment, width: int = 80) -> RenderableType:
    """The whole text; below 72 columns the counts of verdicts are left out."""
    parts: list[RenderableType] = [_head(result), _table(result, width)]
    parts.extend(terminal.legend(_legend(result)))
    parts.append(Padding(_answer(result), (1, 1), expand=False))
    parts.extend(terminal.notes(result.notes))
    return Group(*parts)


def _head(result: MuffAssessment) -> RenderableType:
    subject, rule = result.subject, MuffSettings.of(result).rule
    name, model = escape(subject.name), escape(subject.model)
    splits = ", ".join(f"{split} {info.inputs:,} ({info.metric_mean:.4g})" for split, info in subject.splits.items())
    lines = [
        f"[bold]{name}[/]  {model}, {count(subject.originals, 'original')}",
        f"inputs (mean {subject.task.metric}): {splits}",
        f"killed: {escape(METHOD.get(rule.test, rule.test))}, p < {rule.alpha:g} and "
        f"{escape(EFFECT.get(rule.effect, rule.effect))} >= {rule.beta:g}",
    ]
    return Padding(Text.from_markup("\n".join(lines)), (1, 1), expand=False)


WEAKEST = ("train\nfrom", "test\nfrom", "weak\nfrom")
COUNTS = ("\nkilled", "\nalive", "\nunst.", "\ninst.")
ANSWER = ("\nscore", "\nsens.")
NARROW = 72


def _table(result: MuffAssessment, width: int) -> Table:
    titles = (*WEAKEST, *(COUNTS if width >= NARROW else ()), *ANSWER)
    widest = max(16, width - 7 * len(titles) - 1)
    table = terminal.table(padding=0)
    table.add_column(" \n operator", no_wrap=True, min_width=9, max_width=widest, overflow="ellipsis")
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True, min_width=6)
    for record in result.operators:
        counts = _counts(record) if width >= NARROW else ()
        table.add_row(Text(f" {record.label}"), *_weakest(record), *counts, *_scores(record))
    return table


def _weakest(record: OperatorRecord) -> list[RenderableType]:
    if record.status in (Status.INVALID, Status.FAILED):
        style = "red" if record.status is Status.FAILED else "dim"
        return [Text(record.status.value, style=style), Text(""), Text("")]
    shown = [Text(weakest_text(record, record.sets.get(split))) for split in ("train", "test", "weak")]
    if record.status is Status.NOT_KILLABLE:
        shown[0] = Text("none", style="yellow")
    if record.status is Status.UNSTABLE:
        shown[1] = Text("unst.", style="yellow")
    return [*shown]


def _counts(record: OperatorRecord) -> list[RenderableType]:
    searched = [mutant for mutant in record.mutants if mutant.searched and mutant.verdict is not Verdict.INVALID]
    if not searched:
        return [Text("")] * len(COUNTS)
    verdicts = [mutant.verdict for mutant in searched]
    numbers = [verdicts.count(verdict) for verdict in (Verdict.KILLED, Verdict.SURVIVED, Verdict.UNSTABLE)]
    instances = sum(mutant.instances for mutant in searched) / len(searched)
    return [*(Text(str(each)) for each in numbers), Text(f"{instances:.0f}")]


def _scores(record: OperatorRecord) -> list[RenderableType]:
    sensitivity = "<0%" if (record.sensitivity or 0) < 0 else percent(record.sensitivity)
    return [Text(percent(record.score), style=_color(record.score)), Text(sensitivity)]


def weakest_text(record: OperatorRecord, summary: SetSummary | None) -> str:
    """The weakest mutant of an operator that a set of inputs kills, in a word or a number."""
    if summary is None:
        return NONE
    if record.strength is not None:
        return number(summary.weakest_killed)
    tried = summary.killed + summary.survived + summary.unstable
    if tried > 1:
        return f"{summary.killed}/{tried}"
    return "killed" if summary.killed else "alive" if summary.survived else "unst."


def _color(score: float | None) -> str:
    if score is None:
        return ""
    return "green" if score >= 0.8 else "yellow" if score >= 0.5 else "red"


def _legend(result: MuffAssessment) -> Iterator[str]:
    yield "from: the mildest strength that each set kills; milder is better."
    unsearched = [record for record in result.operators if record.strength is None]
    if any("/" in weakest_text(record, record.sets.get("test")) for record in unsearched):
        yield "2/4: kills two of four configurations."
    yield "killed, alive, unst(able): mutants tried on all sets; inst.: mean instances."
    yield "score: share of the strengths killed by train that test kills as well."
    yield "sens(itivity): share of the score that is lost if only easy tests remain."
    spent, screening = result.evaluation, result.settings["screening"]
    if spent["evaluated"] < spent["pairs"]:
        yield (
            f"screened: {spent['evaluated'] / spent['pairs']:.1%} of all answers were evaluated; verdicts are those of "
            f"all with {screening['confidence']:.1%} confidence (--exact evaluates all)."
        )
    if result.trainings:
        networks = count(result.trainings, "network was", "networks were")
        yield f"{networks} trained for faults before training."
    for record in result.operators:
        if record.status is not Status.SCORED:
            yield f"{record.label}: {record.reason}."
    judged = [m for record in result.operators for m in record.mutants if m.guiding_set == "test"]
    trivial = sum(1 for mutant in judged if (mutant.triviality or 0) >= TRIVIAL)
    if trivial:
        mutants = count(len(judged), "mutant")
        yield f"trivial: {trivial} of {mutants} judged on test; nearly every input kills these."


def _answer(result: MuffAssessment) -> Text:
    score = result.score
    if score.value is None:
        return Text(f"No score: {why_no_score(result)}.", style="bold yellow")
    text = f"[bold {_color(score.value)}]Mutation score {percent(score.value)}[/] "
    text += f"(mean of {score.operators} out of {count(score.tried, 'operator')})"
    if score.interval is not None:
        low, high = percent(score.interval.low), percent(score.interval.high)
        text += f"; 95% interval {low} to {high}, {score.interval.method}"
    operators = result.weakest_first()
    if not operators:
        return Text.from_markup(f"{text}.\nThe test set notices every fault that the training set does.")
    worst = operators[0]
    train, test = worst.sets["train"].weakest_killed, worst.sets["test"].weakest_killed
    text += f".\nThe test set is weakest against {escape(worst.label)} ({worst.title}): "
    if worst.strength is None:
        missed, noticed = worst.missed()
        misses = f"test misses {missed} of {noticed} configurations that train notices"
        return Text.from_markup(f"{text}{misses if noticed > 1 else 'train notices it, test does not'}.")
    noticed_on_test = f"only {worst.strength} {number(test)} and {worst.severer}"
    noticed_on_test = "no strength at all" if test is None else noticed_on_test
    return Text.from_markup(f"{text}train notices {worst.strength} {number(train)}, test {noticed_on_test}.")


def why_no_score(result: MuffAssessment) -> str:
    """Reason why no operator has a score."""
    if any(record.status is Status.UNSTABLE for record in result.operators):
        return "the test set has no stable verdict on any mutant that the training set kills"
    return "no operator has a stable mutant that the training set kills"


def plan_text(plan: Sequence[Planned], name: str, originals: int, trained: bool) -> RenderableType:
    """The text of ``--dry-run``: mutants, trainings and time of each operator, at most.

    Args:
        plan: Estimated work of each operator.
        name: Name of the subject.
        originals: Number of originals.
        trained: Whether the originals are trained already.
    """
    table = terminal.table()
    table.add_column(" operator", no_wrap=True)
    table.add_column("level")
    for title in ("mutants", "trainings", "time"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("")
    for step in plan:
        counts = ("", "", "") if step.reason else _planned_counts(step)
        table.add_row(Text(f" {step.label}"), step.level, *counts, Text(step.reason, style="dim"))
    total = sum(step.seconds or 0.0 for step in plan)
    trainings = sum(step.trainings for step in plan)
    limits = f"At most {count(trainings, 'training')} and about {duration(total)} in all"
    summary = f"{limits}{'' if trained else AFTER}."
    head = f"{escape(name)}, {count(originals, 'original')}: plan only, nothing was run"
    lines = (
        "mutants: at most, over all sets of inputs; trainings: each is kept, and shared by the sets.",
        "time: at most; searches end earlier, large sets are screened, epochs and patience share trainings.",
    )
    legend = terminal.legend(lines)
    return Group(Padding(head, (1, 1), expand=False), table, *legend, Padding(summary, (1, 1), expand=False))


def _planned_counts(step: Planned) -> tuple[str, str, str]:
    trainings = f"{step.trainings:,}" if step.trainings else NONE
    return f"{step.configurations:,}", trainings, NONE if step.seconds is None else duration(step.seconds)
