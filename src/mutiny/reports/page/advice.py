"""The section of advice: commands that follow from the results, filled in for this subject."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mutiny.core.records import Basis, MutantRecord, OperatorRecord, Status
from mutiny.faults import OPERATORS
from mutiny.reports.formatting import count, percent, several
from mutiny.reports.page.blocks import Command, Section, Text
from mutiny.reports.page.mutants import on, slipped
from mutiny.reports.page.score import WIDE
from mutiny.verbs.assess.result import Assessment, AssessSettings
from mutiny.verbs.assess.score import FEWEST_ORIGINALS

QUESTION = "What should I do?"
ENOUGH = 10
"""Number of originals that is usually enough."""
POOL = "FILE"
STAND_INS = {
    "FILE.py:NAME": "your subject, whose file is not known here",
    POOL: "a file or folder with inputs to choose from",
}
"""Placeholders in commands, and what replaces them."""
CERTAIN = 0.999
"""From this score on, nothing is left to find with these operators."""


@dataclass(frozen=True)
class Typed:
    """What a user types for this subject.

    Attributes:
        subject: the subject with its options, such as ``mnist --data DIR``, quoted for a shell.
        again: the command that repeats the assessment.
        store: the campaign file, quoted; nothing if it is the usual one, or if there is none.
        seed: of the assessment.
    """

    subject: str
    again: str
    store: str = ""
    seed: int = 0

    @property
    def kept(self) -> str:
        """The option that names the campaign file, with a space before it; nothing if none is needed."""
        return f" --store {self.store}" if self.store else ""

    @property
    def options(self) -> str:
        """Options with which another verb uses the same networks and finds stored results."""
        return (f" --seed {self.seed}" if self.seed else "") + self.kept


def advice_section(result: Assessment | None, typed: Typed, done: Collection[str] = ()) -> Section:
    """What to do next, the most useful first.

    Args:
        result: what was assessed; ``None`` if nothing was.
        typed: names to fill in.
        done: verbs that were run already.
    """
    if result is None:
        line = f"{typed.again}{typed.kept}"
        steps = [Command(line, "Assess the test set", "No result here says how good the tests are.")]
    else:
        steps = [*_steps(result, typed, done)]
    words = {word for step in steps for word in shlex.split(step.line)}
    told = [f"{word} stands for {what}." for word, what in STAND_INS.items() if word in words]
    intro = Text(
        " ".join(["The most useful step comes first.", *(told or ["Each line can be copied into a shell as it is."])])
    )
    return Section("advice", QUESTION, (intro, *steps))


def _steps(result: Assessment, typed: Typed, done: Collection[str]) -> Iterator[Command]:
    missed = {record.label: found for record in result.operators if (found := slipped(record))}
    if missed:
        yield from _survivors(missed, result.subject.pool, typed, done)
    yield from _surer(result, typed)
    yield from _unjudged(result, typed)
    value = result.score.value
    if value is None or value >= CERTAIN:
        yield from _others(result, typed)
    if "locate" not in done:
        yield Command(
            f"mutiny locate {typed.subject}{typed.options}",
            "Find the neurons behind wrong answers",
            "Ranks neurons by how closely their activity follows wrong answers; mutiny repair can correct them.",
        )
    if value is not None:
        bar = math.floor(100 * value) / 100
        yield Command(
            f"{typed.again} --fail-under {bar:.2f}{typed.kept}",
            "Guard the score in CI",
            f"In a CI job this exits with 1 if the score falls below today's {percent(value, 1)}.",
        )


def minimize_command(typed: Typed) -> str:
    """The command that searches for a smaller test set."""
    return f"mutiny strengthen {typed.subject} --minimize{typed.options}"


def _survivors(
    missed: Mapping[str, Sequence[MutantRecord]], pool: int | None, typed: Typed, done: Collection[str]
) -> Iterator[Command]:
    total, choosing = sum(map(len, missed.values())), "strengthen" not in done
    if choosing:
        wanted = "" if pool else f" --pool {POOL}"
        yield Command(
            f"mutiny strengthen {typed.subject}{wanted} --budget 1%,2%,5%{typed.options}",
            "Add the inputs that are missing",
            f"{count(total, 'mutant')} of {several([*missed])} slip{'s' * (total == 1)} through. This proposes inputs "
            "of a pool that kill the most of them for each label, and says what each budget gains.",
        )
    if "select" not in done:
        yield Command(
            f"mutiny select {typed.subject} --budget 5%{typed.options}",
            f"{'Or label' if choosing else 'Label'} what the network probably gets wrong",
            "Ranks unlabeled inputs by how likely they are to be answered wrongly; mutants play no part.",
        )


def _surer(result: Assessment, typed: Typed) -> Iterator[Command]:
    subject, interval = result.subject, result.score.interval
    wide = interval is not None and interval.high - interval.low > WIDE and subject.originals < 2 * ENOUGH
    if subject.originals < FEWEST_ORIGINALS or wide:
        why = f"{count(subject.originals, 'original')} cannot separate faults from the randomness of training"
        if wide and interval is not None:
            why = f"The interval, {percent(interval.low)} to {percent(interval.high)}, is wide"
        more = ENOUGH if subject.originals < ENOUGH else 2 * ENOUGH
        if subject.more_originals:
            line = (
                f"mutiny assess {typed.subject} --operators {_codes(result.operators)} --originals {more}"
                f"{typed.options}"
            )
            yield Command(line, "Narrow the uncertainty", f"{why}. The subject's recipe trains more.")
        else:
            told = f"Give the subject {more} models trained with different seeds, or a recipe, and assess it again."
            yield Command(_all_originals(typed.again) + typed.kept, "Narrow the uncertainty", f"{why}. {told}")
    sampled = [m for r in result.operators for m in on(r, "test") if m.basis in (Basis.SAMPLED, Basis.EXTRAPOLATED)]
    if sampled:
        yield Command(
            f"{typed.again} --exact{typed.kept}",
            "Check the verdicts that are based on samples",
            f"{count(len(sampled), 'verdict')} on the test set came from samples of inputs. This uses every input.",
        )


def _all_originals(line: str) -> str:
    """A command without its number of originals.

    >>> _all_originals("mutiny assess 'my net.py:subject' --originals 3 --seed 0")
    "mutiny assess 'my net.py:subject' --seed 0"
    """
    return re.sub(r" --originals \d+(?= |$)", "", line)


def _unjudged(result: Assessment, typed: Typed) -> Iterator[Command]:
    """Operators without a score, by what would give them one."""
    unkillable = [record for record in result.operators if record.status is Status.NOT_KILLABLE]
    unstable = [record for record in unkillable if _unstable(record)]
    if unstable:
        rse = 2 * AssessSettings.of(result).search.rse
        yield Command(
            f"mutiny assess {typed.subject} --operators {_codes(unstable)} --rse {rse:g}{typed.options}",
            "Admit less stable mutants",
            f"{several([record.label for record in unstable])}: the effect differs so much between instances that no "
            "verdict was given. A larger --rse admits more, and says less.",
        )
    hidden = [record for record in unkillable if record.hidden]
    if hidden and AssessSettings.of(result).rule.test != "wilcoxon":
        yield Command(
            f"mutiny assess {typed.subject} --operators {_codes(hidden)} --test wilcoxon{typed.options}",
            "Compare each mutant with its own original",
            f"{several([record.label for record in hidden])}: survivors are consistently worse than their originals, "
            "which a comparison of means does not see.",
        )


def _unstable(record: OperatorRecord) -> bool:
    summary = record.sets.get("train")
    return summary is not None and summary.unstable > 0


def _codes(records: Sequence[OperatorRecord]) -> str:
    return shlex.quote(",".join(record.label for record in records))


def _others(result: Assessment, typed: Typed) -> Iterator[Command]:
    """Suggests operators that were not tried."""
    tried = {record.code for record in result.operators}
    left = [code for code in OPERATORS if code not in tried]
    wanted = ",".join(left) if left else "all"
    which = "operators that were not tried" if left else "faults before training, which need a recipe"
    yield Command(
        f"mutiny assess {typed.subject} --operators {wanted}{typed.options}",
        "Try other faults",
        f"{'No fault that was tried can be noticed' if result.score.value is None else 'Nothing is left to find'} with "
        f"these operators. Continue with {which}.",
    )
