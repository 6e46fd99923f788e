"""What to do after an assessment: at most three commands, the most useful first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import chain, islice

from mutiny.core.printable import quoted
from mutiny.core.results import Result
from mutiny.reports.formatting import count, percent, several
from mutiny.reports.notice_sentences import (
    FEWEST_ORIGINALS,
    OVERCONFIDENT,
    phrases,
    useless,
    weak_spots,
)
from mutiny.reports.page.advice import ENOUGH, POOL, CommandParts, all_originals, placeholders
from mutiny.reports.page.blocks import Block, Command, Text
from mutiny.reports.page.score import WIDE
from mutiny.reports.plan_sentences import middle_plan, unsure
from mutiny.verbs.assess.cost_phrases import CostPhrases
from mutiny.verbs.assess.gates.calibration_sentence import false_alarms
from mutiny.verbs.assess.judges.record import JudgeRecord
from mutiny.verbs.assess.notes import remedy, too_low
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.summary import ORIGINALS
from mutiny.verbs.strengthen.result import Strengthening

MOST = 3
"""Number of commands."""
VALIDATION = "Give the subject validation=(inputs, targets) that are not in the test set"


def next_steps(result: Assessment, parts: CommandParts, results: Mapping[str, Result] | None = None) -> list[Block]:
    """Commands to run next, and what placeholders in them stand for.

    Args:
        result: Assessment.
        parts: Parts of commands for this subject.
        results: All results by verb; a question that they answer needs no command.
    """
    steps = [*islice(_steps(result.by_headline_judge, parts, results or {}), MOST)]
    explained = placeholders(steps)
    return [*steps, *([Text(" ".join(explained), "aside")] if explained else [])]


def _steps(result: Assessment, parts: CommandParts, results: Mapping[str, Result]) -> Iterator[Command]:
    notice = result.notice
    failed = [label for label, rate in notice.operators.items() if rate.failed]
    if failed:
        why = f"Jobs of {several(failed)} failed. The same command tries them again."
        yield Command(f"{parts.again}{parts.kept}", "Finish the assessment", why)
    if notice.reference.kind == "none":
        why = f"Costs can only be measured on other inputs than the tests. {VALIDATION}, or its training set."
        yield Command(f"{parts.again}{parts.kept}", "Add a validation set", f"{why} Then run this again.")
    elif notice.rate is None:
        yield _more_choices(result, parts, "No fault that was tried costs an amount that counts.")
    elif notice.reference.memorized:
        why = (
            "The network has memorized its training inputs, on which costs were measured: "
            f"{phrases(notice).worse_on_tests(notice.reference.memorized)}. {VALIDATION}, and run this again."
        )
        yield Command(f"{parts.again}{parts.kept}", "Add a validation set", why)
    elif too_low(notice) is not None and notice.reference.kind == "unlabeled":
        why = f"The pool has no labels, so costs were {OVERCONFIDENT}. {VALIDATION}, and run this again."
        yield Command(f"{parts.again}{parts.kept}", "Measure costs with labels", why)
    elif too_low(notice) is not None:
        why = (
            f"Costs were measured on only {notice.reference.inputs:,} inputs. {VALIDATION}: {remedy(notice.reference)} "
            "are enough. Then run this again."
        )
        yield Command(f"{parts.again}{parts.kept}", "Measure costs on more inputs", why)
    own = result.headline_judge
    stronger = [*(_stronger(result, parts, results) if own is None else _tighter(own, parts))]
    order = [iter(stronger), _narrower(result, parts)]
    yield from chain(*(reversed(order) if useless(notice.interval) else order))
    if own is None:  # sizes are those of the paired test
        yield from _more_inputs(result, parts, "Or collect" if stronger else "Collect")
    yield from _guard(result, parts)


def _tighter(judge: JudgeRecord, parts: CommandParts) -> Iterator[Command]:
    """A bound for a gate that lets fewer faults pass, and still has few false alarms."""
    calibration = judge.calibration
    advice = None if calibration is None else calibration.advice
    if calibration is None or advice is None or advice.miss_rate is None or calibration.miss_rate is None:
        return
    if advice.miss_rate >= calibration.miss_rate:
        return
    why = (
        f"{advice.gate} would let {percent(advice.miss_rate)} of the faults pass instead of "
        f"{percent(calibration.miss_rate)}, with {false_alarms(advice.alarms)}. This compares both."
    )
    yield Command(f"{parts.again} --judge {quoted(advice.gate)}{parts.kept}", "Tighten the gate", why)


def _stronger(result: Assessment, parts: CommandParts, results: Mapping[str, Result]) -> Iterator[Command]:
    """Inputs for what is missed; if a strengthening has chosen them already, what to do with them."""
    done = results.get("strengthen")
    if isinstance(done, Strengthening) and len(done.order):
        why = f"Label {count(len(done.order), 'input')} that mutiny strengthen chose, add them to the test set, and run"
        yield Command(f"{parts.again}{parts.kept}", "Add the chosen inputs", f"{why} this again.")
        return
    notice, drastic = result.notice, len(result.missed_drastic())
    missed = notice.faults - notice.noticed + drastic
    if notice.rate is None or not missed:
        return
    where = f"{count(missed, 'fault')} of known cost {'is' if missed == 1 else 'are'} missed."
    for spot in weak_spots(notice, most=1):
        where = f"{spot.share}."
        if spot.kind == "class":
            where = f"{spot.share}: that class needs more tests."
    pool = "" if result.subject.pool else f" --pool {POOL}"
    yield Command(
        f"mutiny strengthen {parts.subject}{pool}{parts.options}",
        "Add tests",
        f"{where} This command chooses inputs from a pool.",
    )


def _narrower(result: Assessment, parts: CommandParts) -> Iterator[Command]:
    notice, subject = result.notice, result.subject
    if notice.rate is None or (notice.interval is not None and notice.interval.width <= WIDE):
        return
    why = "There is no interval."
    if notice.interval is not None:
        why = f"The interval, {percent(notice.interval.low)} to {percent(notice.interval.high)}, is wide."
    if useless(notice.interval):
        why = "The interval is too wide to tell what the rate is."
    few = useless(notice.interval) or subject.originals < FEWEST_ORIGINALS
    if few and notice.resampled == ORIGINALS and not subject.more_originals:
        more = max(FEWEST_ORIGINALS, subject.originals + 1)
        why += f" Give the subject at least {more} models, trained with different seeds, and run this again."
        yield Command(f"{all_originals(parts.again)}{parts.kept}", "Use more originals", why)
    elif subject.more_originals:
        more = ENOUGH if subject.originals < ENOUGH else 2 * subject.originals
        line = _with(parts.again, "originals", more)
        yield Command(f"{line}{parts.kept}", "Narrow the interval", f"{why} The recipe trains more originals.")
    else:
        yield _more_choices(result, parts, why)


def _more_choices(result: Assessment, parts: CommandParts, why: str) -> Command:
    seeds = result.settings.get("seeds")
    more = 2 * seeds if isinstance(seeds, int) and seeds > 0 else 2 * ENOUGH
    models = "" if result.notice.rate is None else " Models trained with other seeds would narrow it, too."
    line = _with(parts.again, "seeds", more)
    return Command(f"{line}{parts.kept}", "Try more faults", f"{why} This draws more random faults.{models}")


def _more_inputs(result: Assessment, parts: CommandParts, collect: str) -> Iterator[Command]:
    """The smallest cost that the planner knows and the test set is too small for."""
    test = result.subject.splits.get("test")
    wanted = middle_plan(result)
    if test is None or wanted is None or wanted.inputs is None or unsure(wanted, result):
        return
    if wanted.inputs <= test.inputs:
        return
    loss = CostPhrases(result.notice.unit).loss(wanted.cost)
    yield Command(
        f"{parts.again}{parts.kept}",
        f"{collect} {wanted.inputs - test.inputs:,} more tests",
        f"About {wanted.inputs:,} inputs like these notice {loss} four times in five. Then repeat:",
    )


def _guard(result: Assessment, parts: CommandParts) -> Iterator[Command]:
    notice = result.notice
    if notice.rate is None or notice.interval is None or useless(notice.interval):
        return
    bar = math.floor(100 * max(0.0, min(1.0, notice.interval.low))) / 100
    if not bar:
        return  # a bar that every test set passes
    yield Command(
        f"{parts.again} --fail-under {bar:.2f}{parts.kept}",
        "Guard the notice rate in CI",
        f"In a CI job, this exits with 1 if the rate is surely below {percent(bar)}.",
    )


def _with(line: str, option: str, value: int) -> str:
    """A command with another value of an option.

    >>> _with("mutiny assess digits --seeds 2 --seed 0", "seeds", 4), _with("mutiny assess digits", "seeds", 4)
    ('mutiny assess digits --seeds 4 --seed 0', 'mutiny assess digits --seeds 4')
    """
    given = f" --{option} {value}"
    changed, found = re.subn(rf" --{option} [0-9]+(?= |$)", given, line)
    return changed if found else line + given
