"""A strengthening as text for a terminal: inputs to label, their effect, and a smaller test set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.reports import terminal
from mutiny.reports.formatting import count
from mutiny.reports.smaller_test_set_text import between, falls, held_out_sentence, kills_sentence
from mutiny.verbs.select.metrics import Repeated
from mutiny.verbs.strengthen.held_out_scores import LabelGain
from mutiny.verbs.strengthen.result import Strengthening

SHOWN, SHOWN_NAMES = 12, 5
"""Numbers of indices and of file names to print."""


def strengthen_text(result: Strengthening) -> RenderableType:
    """The whole text."""
    parts: list[RenderableType] = [_head(result)]
    if result.measured:
        parts.append(_table(result))
        parts.extend(terminal.legend(_legend(result)))
    texts = [text for text in (_answer(result), _synthesized(result), _subset(result)) if text is not None]
    parts.extend(Padding(text, (1, 1, 0, 1), expand=False) for text in texts)
    parts.extend(terminal.notes(result.notes, above=1))
    return Group(*parts, Text(""))


def _head(result: Strengthening) -> RenderableType:
    subject, pool = result.subject, result.subject.pool
    model = f"{escape(subject.model)}, {count(subject.originals, 'original')}"
    value = result.score.value
    score = "no score" if value is None else f"mutation score {value:.0%}"
    lines = [
        f"[bold]{escape(subject.name)}[/]  {model}",
        f"test: {subject.test:,} inputs, {score}" + ("" if pool is None else f"; pool: {pool.inputs:,} inputs"),
    ]
    if result.survivors:
        by_operator = Counter(label for label, _ in result.survivors)
        named = ", ".join(f"{label} {survivors}" for label, survivors in by_operator.items())
        survivors = count(len(result.survivors), "mutant")
        slip = "slips" if len(result.survivors) == 1 else "slip"
        lines.append(f"{survivors} that train kills {slip} through: {escape(named)}")
    return Padding(Text.from_markup("\n".join(lines)), (1, 1), expand=False)


def _table(result: Strengthening) -> Table:
    table = terminal.table()
    table.add_column(" labels", justify="right", no_wrap=True)
    table.add_column("chosen by", no_wrap=True, overflow="ellipsis")
    for title in ("score", "95%", "gain", "strengthen ahead by"):
        table.add_column(title, justify="right", no_wrap=True)
    if result.before is not None:
        table.add_row(*map(Text, ("0", "(before)", *_score(result.before), "", "")), style="dim")
    last = 0
    for gain in result.measured:
        budget = f"{gain.budget:,}" if gain.budget != last else ""
        is_strengthen = gain.ahead is None
        cells = (budget, gain.method, *_score(gain.score), *_gain(gain))
        table.add_row(*map(Text, cells), style="bold" if is_strengthen else "")
        last = gain.budget
    return table


def _score(value: Repeated) -> tuple[str, str]:
    return f"{value.mean:.1%}", between(value) or "-"


def _gain(gain: LabelGain) -> tuple[str, str]:
    if gain.ahead is None:
        return f"{100 * gain.gain.mean:+.1f}", ""
    interval = gain.ahead.interval
    ends = "" if interval is None else f" ({_points(interval.low)} to {_points(interval.high)})"
    return f"{100 * gain.gain.mean:+.1f}", f"{100 * gain.ahead.mean:+.1f}{ends}"


def _points(value: float) -> str:
    """A difference of scores in points, cut at 100, which an interval of Student's t may exceed."""
    return f"{100 * min(1.0, max(-1.0, value)):+.1f}"


def _legend(result: Strengthening) -> Iterator[str]:
    mutants, repeats = result.settings["mutants"], result.measured[0].score.n
    yield f"score: share killed of held-out mutants that train kills, {mutants} tried per operator."
    if repeats > 1:
        yield f"95%: interval over {repeats} repeats."
    yield "gain, ahead: points of the score, in the same repeats."


def _answer(result: Strengthening) -> Text | None:
    if not result.budgets:
        return None
    names = result.names
    most = SHOWN if names is None else SHOWN_NAMES
    first = result.order[:most].tolist()
    shown = ", ".join(str(index) if names is None else escape(names[index]) for index in first)
    more = f" and {len(result.order) - most:,} more" if len(result.order) > most else ""
    lines = [f"[bold]Label first[/]: {shown}{more}."]
    for budget, killed in result.predicted.items():
        tried, verb = count(len(result.tried), "survivor"), "is" if len(result.tried) == 1 else "are"
        lines.append(f"With {count(budget, 'label')}, {killed} of {tried} tried {verb} predicted to be killed.")
    return Text.from_markup("\n".join(lines))


def _synthesized(result: Strengthening) -> Text | None:
    candidates = result.candidates
    if candidates is None:
        return None
    distance = ""
    if candidates.distances:
        distance = f", on average {candidates.distances['linf'].mean():.3g} (Linf) from an input of the pool"
    return Text.from_markup(
        f"[bold]Synthesized[/] {count(len(candidates), 'input')} for survivors that the pool cannot kill{distance}. "
        "They are proposals: a person must label them, and they count in no score. --save FILE.npz writes them."
    )


def _subset(result: Strengthening) -> Text | None:
    subset, held_out = result.subset, result.smaller
    if subset is None:
        return None
    if not len(subset):
        return Text("The test set kills no mutant, so there is no score that a smaller one could keep.")
    size = f"{len(subset):,} of {subset.of:,} tests kill all that the whole set kills"
    scores = _scores(subset.score, subset.score_of_all)
    sentences = [f"[bold]Enough[/]: {size}{scores}."]
    if falls(held_out):
        sentences = [f"[bold]Fewer[/]: {size}{scores}, but fewer of other mutants."]
    sentences.append(kills_sentence(len(subset.kept), len(subset.more), subset.fresh))
    sentences += [] if held_out is None else [held_out_sentence(held_out)]
    return Text.from_markup(" ".join(sentences))


def _scores(part: float | None, whole: float | None) -> str:
    if part is None or whole is None:
        return ""
    return f" (score {part:.0%})" if round(part, 2) == round(whole, 2) else f" (score {part:.0%}, of all {whole:.0%})"
