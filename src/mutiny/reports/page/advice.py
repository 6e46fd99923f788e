"""The section of advice after an assessment by MUFF: commands for this subject that follow from the results."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mutiny.core.printable import quoted
from mutiny.core.records import Basis, MutantRecord, OperatorRecord, Status
from mutiny.core.results import Result
from mutiny.faults import OPERATORS
from mutiny.reports.formatting import count, percent, several
from mutiny.reports.page.blocks import Command, Section, Text
from mutiny.reports.page.mutants import on, survivors_of
from mutiny.reports.page.score import WIDE
from mutiny.verbs.assess.muff.result import MuffAssessment, MuffSettings
from mutiny.verbs.assess.muff.score import FEWEST_ORIGINALS
from mutiny.verbs.strengthen.result import Strengthening

QUESTION = "What should I do?"
ENOUGH = 10
"""Number of originals that is usually enough."""
POOL = "FILE"
PLACEHOLDERS = {
    "FILE.py:NAME": "your subject, whose file is not known here",
    POOL: "a file or folder with inputs to choose from",
}
"""Placeholders in commands, and what they stand for."""
CERTAIN = 0.999
"""At this score or above, these operators have nothing left to find."""


@dataclass(frozen=True)
class CommandParts:
    """Parts of commands for one subject.

    Attributes:
        subject: Subject with its options, such as ``mnist --data DIR``, quoted for a shell.
        again: Command that repeats the assessment.
        store: Campaign file, quoted; empty if it is the default file, or if there is none.
        seed: Seed of the assessment.
    """

    subject: str
    again: str
    store: str = ""
    seed: int = 0

    @property
    def kept(self) -> str:
        """The option that names the campaign file, with a space before it; empty for the default file."""
        return f" --store {self.store}" if self.store else ""

    @property
    def options(self) -> str:
        """Options that make another verb use the same networks and find stored results."""
        return (f" --seed {quoted(self.seed)}" if self.seed else "") + self.kept


def advice_section(
    assessment: MuffAssessment, parts: CommandParts, results: Mapping[str, Result] | None = None
) -> Section:
    """Commands to run next, the most useful first.

    Args:
        assessment: Assessment.
        parts: Parts of commands for this subject.
        results: All results by verb; a question that they answer needs no command.
    """
    steps = [*_steps(assessment, parts, _answered(results or {}))]
    notes = placeholders(steps) or ["Each line can be copied into a shell as it is."]
    intro = Text(" ".join(["The most useful step comes first.", *notes]))
    return Section("advice", QUESTION, (intro, *steps))


def placeholders(steps: Sequence[Command]) -> list[str]:
    """What the placeholders in some commands stand for, a sentence each."""
    words = {word for step in steps for word in shlex.split(step.line)}
    return [f"{word} stands for {meaning}." for word, meaning in PLACEHOLDERS.items() if word in words]


def _answered(results: Mapping[str, Result]) -> set[str]:
    """Verbs whose question is answered; a strengthening that only searched for fewer tests chose no inputs to add."""
    return {verb for verb, result in results.items() if not isinstance(result, Strengthening) or len(result.order)}


def _steps(result: MuffAssessment, parts: CommandParts, answered: Collection[str]) -> Iterator[Command]:
    survivors = {record.label: survived for record in result.operators if (survived := survivors_of(record))}
    if survivors:
        yield from _more_tests(survivors, result.subject.pool, parts, answered)
    yield from _less_uncertainty(result, parts)
    yield from _missing_scores(result, parts)
    value = result.score.value
    if value is None or value >= CERTAIN:
        yield from _other_operators(result, parts)
    if "locate" not in answered:
        yield Command(
            f"mutiny locate {parts.subject}{parts.options}",
            "Find the neurons behind wrong answers",
            "Ranks neurons by how closely their activity follows wrong answers; mutiny repair can correct them.",
        )
    if value is not None:
        bar = math.floor(100 * value) / 100
        yield Command(
            f"{parts.again} --fail-under {bar:.2f}{parts.kept}",
            "Guard the score in CI",
            f"In a CI job this exits with 1 if the score falls below today's {percent(value, 1)}.",
        )


def minimize_command(parts: CommandParts) -> str:
    """The command that searches for a smaller test set."""
    return f"mutiny strengthen {parts.subject} --minimize{parts.options}"


def _more_tests(
    survivors: Mapping[str, Sequence[MutantRecord]], pool: int | None, parts: CommandParts, answered: Collection[str]
) -> Iterator[Command]:
    total, strengthen = sum(map(len, survivors.values())), "strengthen" not in answered
    if strengthen:
        pool_option = "" if pool else f" --pool {POOL}"
        yield Command(
            f"mutiny strengthen {parts.subject}{pool_option} --budget 1%,2%,5%{parts.options}",
            "Add the inputs that are missing",
            f"{count(total, 'mutant')} of {several([*survivors])} {'is' if total == 1 else 'are'} missed. This "
            "assesses by the notice rate and proposes inputs for the faults that are missed.",
        )
    if "select" not in answered:
        yield Command(
            f"mutiny select {parts.subject} --budget 5%{parts.options}",
            f"{'Or label' if strengthen else 'Label'} what the network probably gets wrong",
            "Ranks unlabeled inputs by how likely the network is to get them wrong, without regard to mutants.",
        )


def _less_uncertainty(result: MuffAssessment, parts: CommandParts) -> Iterator[Command]:
    subject, interval = result.subject, result.score.interval
    wide = interval is not None and interval.high - interval.low > WIDE and subject.originals < 2 * ENOUGH
    if subject.originals < FEWEST_ORIGINALS or wide:
        why = f"{count(subject.originals, 'original')} cannot separate faults from the randomness of training"
        if wide and interval is not None:
            why = f"The interval, {percent(interval.low)} to {percent(interval.high)}, is wide"
        more = ENOUGH if subject.originals < ENOUGH else 2 * ENOUGH
        if subject.more_originals:
            line = (
                f"mutiny assess {parts.subject} --method muff --operators {_codes(result.operators)} --originals {more}"
                f"{parts.options}"
            )
            yield Command(line, "Narrow the uncertainty", f"{why}. The subject's recipe trains more.")
        else:
            fix = f"Give the subject {more} models trained with different seeds, or a recipe, and assess it again."
            yield Command(all_originals(parts.again) + parts.kept, "Narrow the uncertainty", f"{why}. {fix}")
    sampled = [m for r in result.operators for m in on(r, "test") if m.basis in (Basis.SAMPLED, Basis.EXTRAPOLATED)]
    if sampled:
        yield Command(
            f"{parts.again} --exact{parts.kept}",
            "Check the verdicts that are based on samples",
            f"{count(len(sampled), 'verdict')} on the test set came from samples of inputs. This uses every input.",
        )


def all_originals(line: str) -> str:
    """A command without its number of originals.

    >>> all_originals("mutiny assess 'my net.py:subject' --originals 3 --seed 0")
    "mutiny assess 'my net.py:subject' --seed 0"
    """
    return re.sub(r" --originals \d+(?= |$)", "", line)


def _missing_scores(result: MuffAssessment, parts: CommandParts) -> Iterator[Command]:
    """Commands that may give a score to operators that have none."""
    unkillable = [record for record in result.operators if record.status is Status.NOT_KILLABLE]
    unstable = [r for r in result.operators if r.status is Status.UNSTABLE or (r in unkillable and _unstable(r))]
    if unstable:
        rse = 2 * MuffSettings.of(result).search.rse
        yield Command(
            f"mutiny assess {parts.subject} --method muff --operators {_codes(unstable)} --rse {rse:g}{parts.options}",
            "Admit less stable mutants",
            f"{several([record.label for record in unstable])}: the effect differs so much between instances that no "
            "verdict was given. A larger --rse gives more verdicts, which are less certain.",
        )
    hidden = [record for record in unkillable if record.hidden]
    if hidden and MuffSettings.of(result).rule.test != "wilcoxon":
        yield Command(
            f"mutiny assess {parts.subject} --method muff --operators {_codes(hidden)} --test wilcoxon{parts.options}",
            "Compare each mutant with its own original",
            f"{several([record.label for record in hidden])}: survivors are consistently worse than their originals, "
            "which a comparison of means does not see.",
        )


def _unstable(record: OperatorRecord) -> bool:
    summary = record.sets.get("train")
    return summary is not None and summary.unstable > 0


def _codes(records: Sequence[OperatorRecord]) -> str:
    return quoted(",".join(record.label for record in records))


def _other_operators(result: MuffAssessment, parts: CommandParts) -> Iterator[Command]:
    """The operators of mutiny that were not tried; those of installed packages may not fit this subject."""
    tried = {record.code for record in result.operators}
    untried = [code for code in OPERATORS.builtin if code not in tried]
    codes = ",".join(untried) if untried else "all"
    others = "operators that were not tried" if untried else "faults before training, which need a recipe"
    yield Command(
        f"mutiny assess {parts.subject} --method muff --operators {codes}{parts.options}",
        "Try other faults",
        f"{'No fault that was tried can be noticed' if result.score.value is None else 'Nothing is left to find'} with "
        f"these operators. Continue with {others}.",
    )
