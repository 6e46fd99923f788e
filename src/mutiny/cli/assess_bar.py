"""What ``mutiny assess`` does for pull requests: a comparison with an earlier test set, and a bar for the rate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mutiny.cli.streams import say
from mutiny.core.errors import BadInput

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mutiny.faults.parsing import Fault
    from mutiny.verbs.assess.against import TestSetComparison
    from mutiny.verbs.assess.muff.result import MuffAssessment
    from mutiny.verbs.assess.result import Assessment


def earlier_assessment(path: Path, operators: Sequence[Fault], seed: int) -> Assessment:
    """An earlier assessment: the latest notice rate in a JSON or campaign file.

    Args:
        path: The file.
        operators: Operators of the new assessment.
        seed: Its seed.

    Raises:
        BadInput: The file has no notice rate, or none with such faults.
    """
    from mutiny.faults.parsing import describe
    from mutiny.reports.loading import read_results
    from mutiny.verbs.assess.result import Assessment

    try:
        results = [loaded.result for loaded in read_results([path])]
    except BadInput as error:
        raise BadInput("--against", path, error.expected, error.fix) from None
    rates = [result for result in results if isinstance(result, Assessment)]
    if not rates:
        verbs = ", ".join(dict.fromkeys(result.verb for result in results))
        why = "Its assessment is of the method muff." if "assess" in verbs else f"It has results of {verbs}."
        raise BadInput("--against", path, "an assessment with a notice rate", why)
    earlier = rates[-1]
    drawn = earlier.settings.get("seed")
    if drawn != seed:
        raise BadInput(
            "--against", path, f"an assessment with --seed {seed}", f"It has seed {drawn}, and other faults."
        )
    if not {fault.operator for fault in earlier.faults} & {*map(describe, operators)}:
        tried = ", ".join(earlier.notice.operators) or "none"
        raise BadInput("--against", path, "an assessment with the same operators", f"It has {tried}.")
    return earlier


def comparison_with(path: Path, earlier: Assessment, result: Assessment | MuffAssessment) -> TestSetComparison | None:
    """The comparison of the earlier test set with that of a result; ``None``, and a sentence, if there can be none.

    A pull request may change the networks, too, so that no fault is the same: this is no error, and the bar applies.
    """
    from mutiny.verbs.assess.against import compare_test_sets, why_incomparable
    from mutiny.verbs.assess.result import Assessment

    assert isinstance(result, Assessment)
    try:
        return compare_test_sets(earlier.faults, result)
    except BadInput:
        why = "this assessment has no notice rate; its notes say why."
        if result.notice.rate is not None:
            why = f"{path} is not an assessment of the same networks with the same seed and operators"
            differs = why_incomparable(earlier, result)
            why += f"; {differs}." if differs else "."
        say(f"--against: not compared: {why}")
        return None


def with_comparison(text: RenderableType, compared: TestSetComparison | None) -> RenderableType:
    """The text of a result, and below it the comparison with an earlier test set."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    return text if compared is None else Group(text, Padding(Text(compared.sentence, style="bold"), (1, 1, 0, 1)))


def exit_below_bar(result: Assessment | MuffAssessment, bar: float, strict: bool) -> None:
    """Exit with code 1 if a bar is missed, with a sentence.

    A notice rate misses it if it is surely below the bar, see `compare_with_bar`, or if ``strict`` and it may be; a
    mutation score if it is below the bar, or if there is none.
    """
    from mutiny.verbs.assess.bar import BarOutcome, compare_with_bar
    from mutiny.verbs.assess.muff.result import MuffAssessment
    from mutiny.verbs.assess.muff.score import missed_bar

    if isinstance(result, MuffAssessment):
        if 0 < result.score.operators < result.score.tried:
            scored = f"{result.score.operators} of {result.score.tried} operators"
            say(f"the bar applies to {scored}; the others have no score")
        sentence = missed_bar(result.score.value, bar)
        fails = bool(sentence)
    else:
        compared = compare_with_bar(result.headline_notice, bar)
        fails = compared.fails(strict)
        lenient = compared.outcome is BarOutcome.UNDECIDED and not fails
        sentence = compared.sentence + " (this passes without --strict)" * lenient
        sentence *= compared.outcome is not BarOutcome.PASSED
    if sentence:
        say(sentence)
    if fails:
        raise typer.Exit(1)
