"""What a careful reader of a repair should know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mutiny.models import Patch
from mutiny.subjects.inference.passes import UNSTEADY
from mutiny.verbs.repair.verdict import PASSES, Change

FEW = 10
"""With fewer held-out failures than this, hardly any patch can be shown to help."""
NAMED = 3
"""So many classes are named; of more, the number is told."""


def notes(
    changes: Mapping[str, Change],
    patch: Patch,
    repeatable: bool,
    originals: int,
    unsound: int,
    unseen: Sequence[int],
) -> Iterator[str]:
    """Sentences, the most important first.

    Args:
        changes: by role.
        patch: that was chosen.
        repeatable: whether the model gives the same answer twice.
        originals: how many the subject has.
        unsound: inputs of which the loss is no number.
        unseen: classes that held-out inputs have none of.
    """
    if originals > 1:
        yield f"Of {originals} originals only the first is looked at."
    failures = {role: change.repaired.total for role, change in changes.items()}
    if not sum(failures.values()):
        yield "No input fails in this way, so there is nothing to mend."
        return
    yield from _about_the_verdict(changes["held-out"], patch, failures)
    if not any(change.before for change in changes.values()):
        yield "Every input fails, so nothing can be broken; see whether labels and model belong together."
    if unseen and patch.edits:
        yield f"No held-out input is of {_classes(unseen)}: what the patch does to such inputs is not known."
    if unsound:
        yield f"{_inputs(unsound)} NaN or infinite outputs; search and tune do not learn from such inputs."
    if not repeatable:
        yield f"{UNSTEADY}."


def _about_the_verdict(change: Change, patch: Patch, failures: Mapping[str, int]) -> Iterator[str]:
    if not failures["repair"]:
        yield "All failures are among validation and held-out inputs, so nothing could be learnt: give more inputs."
    elif not patch.edits:
        yield "No patch was better than none on validation inputs, so the model stays as it is."
    elif change.verdict == "not repaired":
        yield "On held-out inputs the gain may be none at all: this is no repair."
    elif change.verdict == "cannot tell":
        yield (
            f"Only {change.broken.total} of the held-out inputs passed before, too few to see what breaks (at least "
            f"{PASSES} are needed): give all data, not only failures."
        )
    if failures["held-out"] < FEW:
        count = failures["held-out"]
        yield f"Only {count} held-out failure{'s' * (count != 1)} to judge by: see how wide the intervals are."


def _classes(unseen: Sequence[int]) -> str:
    if len(unseen) > NAMED:
        return f"{len(unseen)} of the classes"
    return f"class {' or '.join(map(str, unseen))}"


def _inputs(count: int) -> str:
    return "1 input has" if count == 1 else f"{count:,} inputs have"
