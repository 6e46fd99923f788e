"""What a careful reader of suspects should know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mutiny.subjects.inference.passes import UNSTEADY
from mutiny.verbs.locate.model_under_test import ModelUnderTest
from mutiny.verbs.locate.spectrum import Spectrum
from mutiny.verbs.locate.suspects import Suspect

NOISE = 0.05
"""Suspects whose q-value is above this may as well be innocent."""
NAMED = 5
"""Layers that a note names."""


def notes_on_suspects(
    spectrum: Spectrum, found: Sequence[Suspect], k: int, label: int | None, silent: bool
) -> Iterator[str]:
    """What the counts tell."""
    failing, passing = spectrum.failing(label), spectrum.passing(label)
    where = "" if label is None else f" of class {label}"
    if not failing:
        yield f"No input{where} fails, so nobody is suspicious. Give harder inputs; `mutiny select` helps to find them."
        return
    if not passing:
        yield f"Every input{where} fails, so nothing tells the guilty from the innocent: scores only say who is active."
    elif failing < 10:
        yield f"Only {failing} input{'s fail' if failing > 1 else ' fails'}{where}: see how wide the intervals are."
    neurons = sum(spectrum.sizes)
    if len(found) < min(k, neurons):
        yield (
            f"Something is held against {len(found)} of {neurons} neurons only, so there are fewer suspects than the "
            f"{k} asked for: the others are never {'silent' if silent else 'active'} on a failure, or score no better."
        )
    clear = sum(one.q_value <= NOISE for one in found)
    if passing and clear < len(found):
        yield (
            f"{clear} of the {len(found)} suspects stand out from what chance does among {neurons} neurons "
            f"(q of at most {NOISE:g})."
        )
    if found and all(one.nf + one.np == 0 for one in found):
        yield (
            "All suspects are always active, so they say nothing about failures: read activity in another way, such as "
            "quantile(share=0.5), with --active on the command line or active= in Python."
        )


def notes_on_model(case: ModelUnderTest, originals: int, unreadable: Sequence[str]) -> Iterator[str]:
    """What was not looked at, and what makes answers doubtful."""
    if originals > 1:
        yield f"The subject has {originals} originals; only the first was looked at."
    if unreadable:
        more = f" and {len(unreadable) - NAMED} more" if len(unreadable) > NAMED else ""
        yield (
            f"Hidden layers whose neurons cannot be read are left out: {', '.join(unreadable[:NAMED])}{more}. They "
            "stay inside their module, or have no row for each input."
        )
    if not case.repeatable:
        yield f"{UNSTEADY}."
